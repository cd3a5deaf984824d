/** The bodies of answers of success, as the client gives them; an Error where one breaks the contract. */

import { isObject, type JsonObject } from "./json.js";
import { checkSuccess, isShare, objectIn, objectsIn, textsIn } from "./replies.js";
import { Fragments, type Answer, type Fragment, type Item, type Knowledge, type Passage, type Passages, type Rules, type Snippet, type United, type Verification } from "./types.js";

export function readFragments(body: JsonObject, most: number): Fragments {
  checkSuccess(body);
  const members = objectsIn(body, "fragments");
  if (members.length > most) throw new Error(`${members.length} fragments where ${most} were asked for`);
  const found = new Fragments();
  members.forEach((member, at) => found.push(fragment(member, `fragments[${at}]`)));
  if (found.some((one, at) => at > 0 && one.retrieval_score > (found[at - 1] as Fragment).retrieval_score)) {
    throw new Error("fragments are not sorted by falling score");
  }
  if (body["nearest"] !== undefined && body["nearest"] !== null) {
    found.nearest = fragment(objectIn(body, "nearest"), "nearest");
    if (found.length > 0) throw new Error("nearest stands beside fragments");
  }
  if (typeof body["reason"] === "string") found.reason = body["reason"];
  return found;
}

function fragment(member: JsonObject, where: string): Fragment {
  const { source, content, retrieval_score, metadata } = member;
  if (typeof source !== "string" || source === "") throw new Error(`${where}.source is no string`);
  if (typeof content !== "string") throw new Error(`${where}.content is no string`);
  if (!isShare(retrieval_score)) throw new Error(`${where}.retrieval_score is no number in 0..1`);
  if (metadata !== undefined && metadata !== null && !isObject(metadata)) throw new Error(`${where}.metadata is no object`);
  return { source, content, retrieval_score, metadata: { ...(metadata ?? {}) } };
}

export function readPassages(body: JsonObject): Passages {
  checkSuccess(body);
  return {
    passages: entries<Passage>(body, "passages"),
    degraded: textsIn(objectIn(body, "coverage"), "degraded"),
    reasons: objectIn(body, "reasons"),
    metadata: objectIn(body, "metadata"),
    staleBy: staleBy(body),
    confidence: confidence(body),
    nearest: "nearest" in body ? entries<Passage>(body, "nearest") : [],
  };
}

export function readContext(body: JsonObject): Knowledge {
  checkSuccess(body);
  if (!Number.isInteger(body["tokens"])) throw new Error("tokens is no integer");
  const snippets = entries<Snippet>(objectIn(body, "CONTEXT_DATA"), "knowledge_snippets");
  return {
    snippets,
    withheld: objectIn(body, "withheld"),
    tokens: body["tokens"] as number,
    degraded: textsIn(objectIn(body, "coverage"), "degraded"),
    staleBy: staleBy(body),
    confidence: confidence(body),
    contextData: { knowledge_snippets: snippets },
  };
}

export function readVerification(body: JsonObject): Verification {
  checkSuccess(body);
  if (objectsIn(body, "claims").some((one) => typeof one["verdict"] !== "string")) throw new Error("a claim has no verdict");
  return body as unknown as Verification;
}

export function readAnswered(body: JsonObject): Answer {
  checkSuccess(body);
  const claims = objectsIn(body, "claims");
  const answer = body["answer"] ?? null;
  if ((answer !== null && typeof answer !== "string") || (answer === null) !== (claims.length === 0)) {
    throw new Error("answer is no text of its claims");
  }
  if (claims.some((one) => !Array.isArray(one["citations"]) || one["citations"].length === 0)) {
    throw new Error("a claim has no citation");
  }
  return body as unknown as Answer;
}

export function readKept(body: JsonObject): Record<string, boolean> {
  const kept = objectIn(body, "kept");
  if (!Object.values(kept).every((one) => typeof one === "boolean")) {
    throw new Error("kept says something else than true or false");
  }
  return kept as Record<string, boolean>;
}

export function readUnited(body: JsonObject): United {
  checkSuccess(body);
  const all = items(body, "items");
  const falls = all.every((one, at) => {
    const before = all[at - 1];
    return before === undefined || before.priority < one.priority || (before.priority === one.priority && before.score >= one.score);
  });
  if (!falls) throw new Error("items do not stand by priority and falling score");
  const queryContext = objectIn(body, "query_context");
  return {
    items: all,
    regulations: items(body, "regulations"),
    cases: items(body, "cases"),
    queryContext,
    degraded: "degraded" in queryContext ? textsIn(queryContext, "degraded") : [],
  };
}

export function readRules(body: JsonObject): Rules {
  checkSuccess(body);
  const { reason = "", audit_id = "" } = body;
  if (typeof reason !== "string" || typeof audit_id !== "string") throw new Error("reason or audit_id is no string");
  return {
    items: items(body, "items"),
    recognised: objectsIn(body, "recognised"),
    unmatchedProcesses: textsIn(body, "unmatched_processes"),
    truncated: textsIn(body, "truncated"),
    notes: textsIn(body, "notes"),
    reason,
    auditId: audit_id,
  };
}

export function readProposed<T>(body: JsonObject): T {
  checkSuccess(body);
  return body as T;
}

export function readChanged(body: JsonObject): number {
  const changed = body["changed"];
  if (typeof changed !== "number" || !Number.isInteger(changed) || changed < 0) throw new Error("changed is no count");
  return changed;
}

export function readWhole<T>(body: JsonObject): T {
  return body as T;
}

export function readOfSource<T>(body: JsonObject): T {
  if (typeof body["source_id"] !== "string") throw new Error("source_id is no string");
  return body as T;
}

export function readListed<T>(name: string): (body: JsonObject) => T {
  return (body) => {
    objectsIn(body, name);
    return body as T;
  };
}

function entries<T>(body: JsonObject, name: string): readonly T[] {
  const found = objectsIn(body, name);
  found.forEach((entry, at) => {
    if (typeof entry["source"] !== "string" || entry["source"] === "" || typeof entry["content"] !== "string") {
      throw new Error(`${name}[${at}] has no source or no content`);
    }
    const trust = entry["trust"];
    if (typeof trust !== "number" || !Number.isInteger(trust) || trust < 1 || trust > 5) {
      throw new Error(`${name}[${at}].trust is no integer from 1 to 5`);
    }
  });
  return found as unknown as readonly T[];
}

function items(body: JsonObject, name: string): readonly Item[] {
  const found = objectsIn(body, name);
  found.forEach((entry, at) => {
    const { content, source, priority, score, metadata } = entry;
    const fits =
      typeof content === "string" && content.trim() !== "" && (source === "kg_rule" || source === "vector" || source === "template") &&
      typeof priority === "number" && Number.isInteger(priority) && priority >= 1 && priority <= 4 && isShare(score) && isObject(metadata);
    if (!fits) throw new Error(`${name}[${at}] is no item of the contract`);
  });
  return found as unknown as readonly Item[];
}

function confidence(body: JsonObject): JsonObject {
  const coverage = objectIn(body, "coverage");
  return "confidence" in coverage ? objectIn(coverage, "confidence") : {};
}

function staleBy(body: JsonObject): number {
  const seconds = objectIn(body, "coverage")["stale_by"] ?? 0;
  if (typeof seconds !== "number" || seconds < 0) throw new Error("coverage.stale_by is no number of seconds");
  return seconds;
}
