/** The client of the service: calls give what was found or throw; an empty answer never stands for a failure. */

import { ConfigError, InvalidRequest, RetrievalFailed } from "./errors.js";
import { serverEvents } from "./events.js";
import { Transport, type Call, type CallOptions, type Reply, type TransportOptions } from "./http.js";
import { readObject, type JsonObject } from "./json.js";
import {
  readAnswered, readChanged, readContext, readFragments, readKept, readListed, readOfSource, readPassages, readProposed,
  readRules, readUnited, readVerification, readWhole,
} from "./reading.js";
import { checkStatus, failureOf, readAnswer } from "./replies.js";
import { inContext, restrictionsApplied, type Restrictions } from "./restrictions.js";
import type {
  Answer, AnswerEvent, AnswerOptions, ContextOptions, CorrectAction, Correction, Corrections, CorrectionsOptions, CorrectOptions,
  Deleted, Document, DocumentPassages, Documents, DocumentsOptions, Fragments, ImportOptions, ImportReport, InferOptions, Moved,
  Knowledge, Passages, PassagesOptions, ProposalReport, ProposedRules, ProposeOptions, RetrieveOptions, Rules, RulesOverview,
  SearchOptions, United, Uploaded, Verification, VerifyOptions,
} from "./types.js";

export interface ClientOptions extends TransportOptions {
  /** Sent as `Authorization: Bearer`. It is written nowhere, and is not sent to where a redirect points. */
  readonly key?: string | undefined;
  /** Milliseconds that a call may take with its retries; 30,000 by default. */
  readonly timeout?: number | undefined;
  /**
   * How often to ask again after a broken connection, 429 or 503; 2 by default. Never after FAILED, another status or a time
   * limit; what writes is not sent again once it may have arrived.
   */
  readonly retries?: number | undefined;
  /** Whom is asked for, see `actingFor`. */
  readonly onBehalfOf?: string | readonly string[] | undefined;
  /** What carries the requests instead of the runtime's own `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

export interface FragmentOptions extends CallOptions, Restrictions {
  /** 1 to 100; 10 by default. */
  readonly maxResults?: number | undefined;
  /** Background of the question, in the contract's names. */
  readonly context?: { readonly [name: string]: unknown } | undefined;
}

export interface Files {
  /** Name → content. */
  readonly [name: string]: Uint8Array | Blob | string;
}

export interface UploadOptions extends CallOptions {
  /** Who may read them, `user:li` or `group:hr`. */
  readonly readers?: readonly string[] | undefined;
  /** Who may not. */
  readonly deny?: readonly string[] | undefined;
}

/** Calls a service over HTTP. It keeps no state between calls, and any number of them may be under way. */
export class Client {
  readonly #http: Transport;
  readonly #represented: Record<string, string>;

  /** @param url Of the service, with or without the path of the contract. */
  constructor(url: string | URL, options: ClientOptions = {}, http?: Transport) {
    only(options, ["key", "timeout", "retries", "onBehalfOf", "fetch"], "option", ConfigError);
    this.#http = http ?? new Transport(url, options);
    this.#represented = options.onBehalfOf === undefined ? {} : represented(options.onBehalfOf);
  }

  /**
   * This client, asking on behalf of somebody: the answers hold what both the key and they may read.
   *
   * @param onBehalfOf `user:li`, or a list of that and of the groups that they are in, `group:hr`. The key needs the right
   *   `on_behalf_of`.
   */
  actingFor(onBehalfOf: string | readonly string[]): Client {
    return new Client("http://unused", { onBehalfOf }, this.#http);
  }

  /**
   * The most relevant fragments, best first; empty only when the service found nothing.
   *
   * @throws {InvalidRequest} the request is malformed.
   * @throws {NotPermitted} the service refuses this caller.
   * @throws {RetrievalFailed} there is no answer, or the service does not say that it applied a restriction.
   */
  async retrieveFragments(query: string, options: FragmentOptions = {}): Promise<Fragments> {
    only(options, ["maxResults", "context", "domain", "filter", "minTrust", "signal", "timeout"]);
    const { maxResults = 10, context, domain, filter, minTrust } = options;
    const { sent, names } = inContext(context, { domain, filter, minTrust });
    const body = { query, max_results: maxResults, ...(sent === undefined ? {} : { context: sent }) };
    return this.#call("POST", "/v1/retrieve_fragments", options, body, (told) => {
      const found = readFragments(told, maxResults);
      const missing = restrictionsApplied(found.nearest === null ? found : [found.nearest], names);
      if (missing.length > 0) {
        const said = `the service does not say that it applied ${missing.join(", ")}: what it gave is not to be used`;
        throw this.#http.failed(said);
      }
      return found;
    });
  }

  /** Passages within a knowledge scope, best first. */
  async search(query: string, options: SearchOptions & CallOptions = {}): Promise<Passages> {
    return this.#call("POST", "/v1/search", options, { query, ...wire(options) }, readPassages);
  }

  /** Snippets that are allowed in a prompt; on a failure nothing is to be injected. */
  async getContext(retrievalQuery: string, options: ContextOptions & CallOptions = {}): Promise<Knowledge> {
    return this.#call("POST", "/v1/context", options, { retrieval_query: retrievalQuery, ...wire(options) }, readContext);
  }

  /** A verdict on every claim of an answer; pass null and `claims` where they are known apart. */
  async verify(answer: string | null, options: VerifyOptions & CallOptions = {}): Promise<Verification> {
    const body = { ...(answer === null ? {} : { answer }), ...wire(options) };
    return this.#call("POST", "/v1/verify", options, body, readVerification);
  }

  /** An answer by the service's language model, every claim quoted and checked. A model takes longer than a search: give it `timeout`. */
  async answer(query: string, options: AnswerOptions & CallOptions = {}): Promise<Answer> {
    return this.#call("POST", "/v1/answer", options, { query, ...wire(options) }, readAnswered);
  }

  /**
   * The same, told as it comes about; the last event is the whole answer. A stream that ends without it, and one whose answer
   * says FAILED, throws RetrievalFailed. Leaving the loop ends the request.
   */
  async *answerEvents(query: string, options: AnswerOptions & CallOptions = {}): AsyncGenerator<AnswerEvent, void, void> {
    const body = JSON.stringify({ query, ...wire(options), stream: true });
    const call: Call = { method: "POST", path: "/v1/answer", body, options: within(options) };
    const { opened, end } = await this.#http.open(call, { ...this.#represented, Accept: "text/event-stream" });
    const { response, parts } = opened;
    const requestId = response.headers.get("X-Request-Id") ?? undefined;
    const details = { status: response.status, requestId };
    try {
      const type = response.headers.get("Content-Type") ?? "";
      if (response.status !== 200 || !/^text\/event-stream(;|$)/i.test(type)) {
        const reply = await this.#http.whole(response, parts);
        const whole = readAnswer(reply, this.#http.component, readAnswered); // throws what it says, unless it is an answer
        yield { event: "answer", data: whole };
        return;
      }
      for await (const told of serverEvents(parts)) {
        const data = this.#eventData(told.data, details);
        if (told.event === "answer") {
          yield { event: "answer", data: this.#finalAnswer(data, details) };
          return;
        }
        if (told.event === "stage" || told.event === "claim" || told.event === "dropped") {
          yield { event: told.event, data } as unknown as AnswerEvent;
        }
      }
      throw this.#http.failed("the stream ended before its answer", details);
    } catch (error) {
      // Bytes that are no UTF-8 are told by the decoder in an error of its own.
      throw error instanceof TypeError ? this.#http.failed("the answer breaks the contract: the stream is no UTF-8", details) : error;
    } finally {
      end();
    }
  }

  #eventData(text: string, details: { status: number; requestId: string | undefined }): JsonObject {
    try {
      return readObject(text);
    } catch (error) {
      throw this.#http.failed(`the answer breaks the contract: ${(error as Error).message}`, details);
    }
  }

  #finalAnswer(data: JsonObject, details: { status: number; requestId: string | undefined }): Answer {
    if (data["status"] === "FAILED") {
      const failure = failureOf(data);
      throw new RetrievalFailed(failure.component ?? this.#http.component, failure.reason, details);
    }
    try {
      return readAnswered(data);
    } catch (error) {
      throw this.#http.failed(`the answer breaks the contract: ${(error as Error).message}`, details);
    }
  }

  /**
   * Rate parts of an answer as right or wrong.
   *
   * @param auditId `metadata.audit_id` of its fragments.
   * @param rated Refs (`metadata.passage_id`) or addresses of fragments.
   * @returns What was kept: by ref, whether it is right.
   */
  async feedback(
    auditId: string,
    rated: { readonly good?: readonly string[]; readonly bad?: readonly string[] } & CallOptions,
  ): Promise<Record<string, boolean>> {
    only(rated, ["good", "bad", "signal", "timeout"]);
    const body = { audit_id: auditId, good: rated.good ?? [], bad: rated.bad ?? [] };
    return this.#call("POST", "/v1/feedback", rated, body, readKept, true);
  }

  // -- rules -----------------------------------------------------------------------------------------------------

  /** Rules where the chapter requires them, then similar cases, then templates. */
  async retrieve(query: string, options: RetrieveOptions & CallOptions = {}): Promise<United> {
    return this.#call("POST", "/v1/retrieve", options, { query, ...wire(options), ...named(options.processes) }, readUnited);
  }

  /** The rules that apply to processes, given or recognised in `context`. */
  async inferRules(options: InferOptions & CallOptions = {}): Promise<Rules> {
    return this.#call("POST", "/v1/infer_rules", options, { ...wire(options), ...named(options.processes) }, readRules);
  }

  /** Counts, packs and schema of the graph; with any option, its nodes, and `next`, the value for `after`. */
  async rules(
    options: { readonly text?: string; readonly kind?: string; readonly limit?: number; readonly after?: number } & CallOptions = {},
  ): Promise<RulesOverview> {
    only(options, ["text", "kind", "limit", "after", "signal", "timeout"]);
    const { text, kind, limit, after } = options;
    return this.#call("GET", withQuery("/v1/rules", { q: text, kind, limit, after }), options, undefined, readWhole<RulesOverview>);
  }

  /** Statements that wait for a review, and `next`, the value for `after`. */
  async proposedRules(options: { readonly limit?: number; readonly after?: number } & CallOptions = {}): Promise<ProposedRules> {
    only(options, ["limit", "after", "signal", "timeout"]);
    const path = withQuery("/v1/rules/review", { limit: options.limit, after: options.after });
    return this.#call("GET", path, options, undefined, readWhole<ProposedRules>);
  }

  /** Have the service's language model read a part of a source for rules; what passes the checks waits for a review. */
  async proposeRules(source: string, options: ProposeOptions & CallOptions = {}): Promise<ProposalReport> {
    return this.#call("POST", "/v1/rules/propose", options, { source, ...wire(options) }, readProposed<ProposalReport>, true);
  }

  /** Review statements, all or none; gives how many changed. Numbers, or a text such as `1-50` or `all` for what waits. */
  async reviewRules(
    statementIds: readonly number[] | string,
    action: "approve" | "reject" | "retire",
    options: { readonly reason?: string } & CallOptions = {},
  ): Promise<number> {
    only(options, ["reason", "signal", "timeout"]);
    const body = { statement_ids: statementIds, action, reason: options.reason ?? "" };
    return this.#call("POST", "/v1/rules/review", options, body, readChanged, true);
  }

  /** Import a file or folder on the server, or a pack shipped with it; `complete` is false where anything was refused. */
  async importRules(options: ImportOptions & CallOptions): Promise<ImportReport> {
    return this.#call("POST", "/v1/rules/import", options, wire(options), readWhole<ImportReport>, true);
  }

  // -- documents -------------------------------------------------------------------------------------------------

  /** Upload files to a source without a path. It returns when all is read: give it a `timeout` that is long enough. */
  async upload(sourceId: string, files: Files, options: UploadOptions = {}): Promise<Uploaded> {
    only(options, ["readers", "deny", "signal", "timeout"]);
    const path = `/v1/sources/${encodeURIComponent(sourceId)}/documents`;
    return this.#call("POST", path, options, form(files, options), readOfSource<Uploaded>, true);
  }

  /** Upload a new version of an uploaded document. */
  async replaceDocument(documentId: number, name: string, content: Uint8Array | Blob | string, options: CallOptions = {}): Promise<Uploaded> {
    return this.#call("PUT", `/v1/documents/${id(documentId)}`, options, form({ [name]: content }, {}), readOfSource<Uploaded>, true);
  }

  /** Delete an uploaded file and all documents read from it. */
  async deleteDocument(documentId: number, options: CallOptions = {}): Promise<Deleted> {
    return this.#call("DELETE", `/v1/documents/${id(documentId)}`, options, undefined, readOfSource<Deleted>, true);
  }

  /** Move an uploaded document to another source of uploads; `documents` are its numbers there. */
  async moveDocument(documentId: number, to: string, options: CallOptions = {}): Promise<Moved> {
    return this.#call("POST", `/v1/documents/${id(documentId)}/move`, options, { to }, readOfSource<Moved>, true);
  }

  /** The file that a document was read from, if access is allowed and it is unchanged. */
  async original(documentId: number, options: CallOptions = {}): Promise<Uint8Array> {
    return this.#file(`/v1/documents/${id(documentId)}/original`, options);
  }

  /** A page of the original as PNG, about `width` pixels wide. */
  async pagePicture(documentId: number, page: number, options: { readonly width?: number } & CallOptions = {}): Promise<Uint8Array> {
    return this.#file(withQuery(`/v1/documents/${id(documentId)}/pages/${id(page)}`, { width: options.width }), options);
  }

  /** Documents by source and address, failures included; `next` is the value for `after`, null on the last page. */
  async documents(options: DocumentsOptions & CallOptions = {}): Promise<Documents> {
    return this.#call("GET", withQuery("/v1/documents", wire(options)), options, undefined, readListed<Documents>("documents"));
  }

  /** One document with its notes. */
  async document(documentId: number, options: CallOptions = {}): Promise<Document> {
    return this.#call("GET", `/v1/documents/${id(documentId)}`, options, undefined, readOfSource<Document>);
  }

  /** The passages of a document in order, and `next`, the value for `after`. */
  async documentPassages(documentId: number, options: PassagesOptions & CallOptions = {}): Promise<DocumentPassages> {
    const path = withQuery(`/v1/documents/${id(documentId)}/passages`, wire(options));
    return this.#call("GET", path, options, undefined, readListed<DocumentPassages>("passages"));
  }

  /** Correct a passage, or exclude a document; gives the correction. */
  async correct(action: CorrectAction, options: CorrectOptions & CallOptions = {}): Promise<Correction> {
    const { joinedWith, ...others } = options;
    const body = { action, ...wire(others), ...(joinedWith === undefined ? {} : { with: joinedWith }) };
    return this.#call("POST", "/v1/corrections", options, body, readOfSource<Correction>, true);
  }

  /** Corrections, newest first, undone ones included; `next` is the value for `before`, null on the last page. */
  async corrections(options: CorrectionsOptions & CallOptions = {}): Promise<Corrections> {
    return this.#call("GET", withQuery("/v1/corrections", wire(options)), options, undefined, readListed<Corrections>("corrections"));
  }

  /** Undo a correction and restore what was served before. */
  async undoCorrection(correctionId: number, options: CallOptions = {}): Promise<Correction> {
    return this.#call("DELETE", `/v1/corrections/${id(correctionId)}`, options, undefined, readOfSource<Correction>, true);
  }

  async #call<T>(
    method: Call["method"], path: string, options: CallOptions, body: object | undefined, read: (body: JsonObject) => T, writes = false,
  ): Promise<T> {
    const reply = await this.#reply(method, path, options, body, writes);
    return readAnswer(reply, this.#http.component, read);
  }

  async #file(path: string, options: CallOptions): Promise<Uint8Array> {
    const reply = await this.#reply("GET", path, options, undefined, false);
    checkStatus(reply, this.#http.component);
    return reply.bytes;
  }

  async #reply(method: Call["method"], path: string, options: CallOptions, body: object | undefined, writes: boolean): Promise<Reply> {
    const sent = body === undefined ? {} : { body: body instanceof FormData ? body : json(body) };
    return this.#http.reply({ method, path, writes, options: within(options), ...sent }, this.#represented);
  }
}

/** A client for one agent. */
export class AgentClient {
  readonly #client: Pick<Client, "getContext">;

  constructor(urlOrClient: string | URL | Pick<Client, "getContext">, readonly agentId: string, options: ClientOptions = {}) {
    const made = typeof urlOrClient === "string" || urlOrClient instanceof URL;
    if (!made && Object.keys(options).length > 0) throw new ConfigError("options are for a service that is given by its URL");
    this.#client = made ? new Client(urlOrClient, options) : urlOrClient;
  }

  /** Snippets for the agent's prompt. */
  async getContext(retrievalQuery: string, options: Omit<ContextOptions, "agentId"> & CallOptions = {}): Promise<Knowledge> {
    return this.#client.getContext(retrievalQuery, { ...options, agentId: this.agentId });
  }
}

type Refusal = new (message: string) => Error;

/** Refuse what nothing would apply: a misspelt restriction must not give the unrestricted answer. */
function only(options: object, names: readonly string[], what = "option", refusal: Refusal = InvalidRequest): void {
  const other = Object.keys(options).find((name) => !names.includes(name));
  if (other !== undefined) throw new refusal(`${other} is no ${what} of this call; there are ${names.join(", ")}`);
}

function within({ signal, timeout }: CallOptions): CallOptions {
  return { signal, timeout };
}

/** Options as members of a request; a name that the service does not know is refused there. */
function wire(options: object): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options)) {
    if (name === "signal" || name === "timeout" || value === undefined || value === null) continue;
    sent[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = value;
  }
  return sent;
}

function named(processes: string | readonly string[] | undefined): { processes?: readonly string[] } {
  if (processes === undefined || processes === null) return {};
  return { processes: typeof processes === "string" ? [processes] : processes };
}

function withQuery(path: string, parameters: Record<string, unknown>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null);
  const query = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return query === "" ? path : `${path}?${query}`;
}

function id(number: number): string {
  if (!Number.isSafeInteger(number)) throw new InvalidRequest("an id is a whole number");
  return String(number);
}

function json(body: object): string {
  try {
    return JSON.stringify(body, (name: string, value: unknown) => {
      if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`${name} is no number that JSON can hold`);
      return value;
    });
  } catch (error) {
    throw new InvalidRequest(`the request cannot be written as JSON: ${(error as Error).message}`);
  }
}

function form(files: Files, { readers, deny }: UploadOptions): FormData {
  const made = new FormData();
  for (const [field, names] of [["readers", readers], ["deny", deny]] as const) {
    if (names !== undefined && names.length > 0) made.append(field, names.join(","));
  }
  for (const [name, content] of Object.entries(files)) {
    made.append("file", content instanceof Blob ? content : new Blob([content as BlobPart]), name);
  }
  return made;
}

/** The header that says whom is asked for. */
function represented(onBehalfOf: string | readonly string[]): Record<string, string> {
  const names = typeof onBehalfOf === "string" ? onBehalfOf.split(",") : onBehalfOf;
  const plain = names.map((name) => name.trim().normalize("NFKC").toLowerCase());
  if (!plain.every((name) => /^(user|group):[^\s,;"']{1,128}$/.test(name)) || plain.filter((name) => name.startsWith("user:")).length !== 1) {
    throw new InvalidRequest('on_behalf_of must name one person, "user:li", and may name groups of theirs, "group:hr"');
  }
  const written = plain.sort().map((name) => encodeURIComponent(name).replaceAll("%3A", ":").replaceAll("%40", "@"));
  return { "X-Wenyuan-On-Behalf-Of": written.join(",") };
}
