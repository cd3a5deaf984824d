/** What an answer means: its body, or which error. The status is looked at first, and nothing is taken on trust. */

import { InvalidRequest, NotPermitted, RetrievalFailed, type Fault } from "./errors.js";
import type { Reply } from "./http.js";
import { isObject, readObject, type JsonObject } from "./json.js";

const REFUSED = new Set([400, 413, 415, 422]);
const SHOWN = 500;
const LONGEST_REASON = 4_000;

interface Failure {
  readonly component: string | undefined;
  readonly reason: string;
}

/** What a body that says FAILED says, whatever the HTTP status is; undefined where it says something else. */
export function saysFailed(reply: Reply): Failure | undefined {
  const body = problemOf(reply);
  return body["status"] === "FAILED" ? failureOf(body) : undefined;
}

export function failureOf(body: JsonObject): Failure {
  const said = body["error_message"];
  if (typeof said !== "string" || said.trim() === "") {
    return { component: undefined, reason: "the service failed and gave no reason" };
  }
  const values = isObject(body["translatable"]) ? body["translatable"]["values"] : undefined;
  const component = isObject(values) && typeof values["component"] === "string" ? values["component"] : "";
  const text = oneLine(said);
  const parted = component !== "" && text.startsWith(`${component}: `) && text.length > component.length + 2;
  return {
    component: parted ? component : undefined,
    reason: cut(parted ? text.slice(component.length + 2) : text, LONGEST_REASON),
  };
}

/** The body of an answer of success, as `read` understands it; `read` throws an Error where it breaks the contract. */
export function readAnswer<T>(reply: Reply, service: string, read: (body: JsonObject) => T): T {
  checkStatus(reply, service);
  let body: JsonObject;
  try {
    body = readObject(reply.text);
  } catch (error) {
    throw broken(error instanceof TypeError ? "the body is no UTF-8" : (error as Error).message, reply, service);
  }
  if (body["status"] === "FAILED") throw failed(failureOf(body), reply, service);
  try {
    return read(body);
  } catch (error) {
    throw error instanceof RetrievalFailed ? error : broken((error as Error).message, reply, service);
  }
}

function broken(reason: string, reply: Reply, service: string): RetrievalFailed {
  const { status, requestId } = reply;
  return new RetrievalFailed(service, `the answer breaks the contract: ${reason}`, { status, requestId });
}

export function checkStatus(reply: Reply, service: string): void {
  const { status, requestId } = reply;
  if (status === 200) return;
  const problem = problemOf(reply);
  const code = typeof problem["code"] === "string" ? problem["code"] : undefined;
  if (REFUSED.has(status)) {
    throw new InvalidRequest(why(problem, `refused with HTTP ${status}`), faultsOf(problem), { status, code, requestId });
  }
  if (status === 401 || status === 403) {
    throw new NotPermitted(why(problem, `refused with HTTP ${status}`), { status, code, requestId });
  }
  const failure = saysFailed(reply);
  if (failure !== undefined) throw failed(failure, reply, service);
  throw new RetrievalFailed(service, why(problem, `the service answered with HTTP ${status}`), { status, code, requestId });
}

function failed(failure: Failure, reply: Reply, service: string): RetrievalFailed {
  const { status, requestId } = reply;
  return new RetrievalFailed(failure.component ?? service, failure.reason, { status, requestId });
}

function problemOf(reply: Reply): JsonObject {
  try {
    return readObject(reply.text);
  } catch {
    return {};
  }
}

function why(problem: JsonObject, otherwise: string): string {
  for (const name of ["detail", "title", "message"]) {
    const text = problem[name];
    if (typeof text === "string" && text.trim() !== "") return `${otherwise}: ${cut(oneLine(text), SHOWN)}`;
  }
  return otherwise;
}

function faultsOf(problem: JsonObject): Fault[] {
  const errors = Array.isArray(problem["errors"]) ? problem["errors"] : [];
  return errors
    .filter((one): one is JsonObject => isObject(one) && typeof one["message"] === "string")
    .map((one) => ({
      path: cut(oneLine(typeof one["path"] === "string" ? one["path"] : ""), SHOWN),
      message: cut(oneLine(one["message"] as string), SHOWN),
    }));
}

/** A text on one line, without what a terminal or a log would obey. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

// -- the members of an answer ------------------------------------------------------------------------------------

/** Refuse what does not say, in this word, that it is a success. */
export function checkSuccess(body: JsonObject): void {
  if (body["status"] !== "SUCCESS") throw new Error("status is neither SUCCESS nor FAILED");
  if (body["error_message"] !== undefined && body["error_message"] !== null) {
    throw new Error("SUCCESS beside an error_message");
  }
}

export function objectIn(body: JsonObject, name: string): JsonObject {
  const value = body[name];
  if (!isObject(value)) throw new Error(`${name} is no object`);
  return value;
}

export function objectsIn(body: JsonObject, name: string): JsonObject[] {
  const value = body[name];
  if (!Array.isArray(value) || !value.every(isObject)) throw new Error(`${name} is no array of objects`);
  return value;
}

export function textsIn(body: JsonObject, name: string): string[] {
  const value = body[name];
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) {
    throw new Error(`${name} is no array of strings`);
  }
  return value;
}

export function isShare(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 1;
}
