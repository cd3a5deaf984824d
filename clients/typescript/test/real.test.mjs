// Every call against a real server, which `make test-typescript` starts: WENYUAN_URL, and keys as JSON in WENYUAN_KEYS.
import assert from "node:assert/strict";
import test from "node:test";

import { AgentClient, Client, InvalidRequest, NotPermitted, RetrievalFailed } from "../dist/index.js";

const url = process.env.WENYUAN_URL;
const keys = JSON.parse(process.env.WENYUAN_KEYS ?? "{}");
const client = new Client(url ?? "http://127.0.0.1", { key: keys.all });
const QUESTION = "How soon are complaints answered?";
const asked = { skip: url === undefined && "no server: make test-typescript" };

test("fragments, restricted and not, and what may not be seen", asked, async () => {
  const found = await client.retrieveFragments(QUESTION, { maxResults: 8 });
  assert.ok(found.length > 0 && found.length <= 8);
  assert.ok(found.some((one) => /24 hours/.test(one.content)));
  assert.ok(found[0].metadata.audit_id);
  const narrow = await client.retrieveFragments(QUESTION, { domain: "desk", minTrust: 2, filter: { source_id: ["desk", "box"] } });
  assert.ok(narrow.every((one) => one.metadata.source_id === "desk"));
  await assert.rejects(client.retrieveFragments(QUESTION, { domain: "nowhere" }), (error) => {
    assert.ok(error instanceof InvalidRequest && error.requestId);
    return error.code === "unknown_domain";
  });
  await assert.rejects(client.retrieveFragments(""), (error) => error instanceof InvalidRequest && error.faults[0].path === "query");
  await assert.rejects(new Client(url, { key: "wrong" }).retrieveFragments(QUESTION), NotPermitted);
  await assert.rejects(new Client(url, { key: keys.retrieve }).documents(), NotPermitted);
});

test("passages, context and an agent's context", asked, async () => {
  const found = await client.search(QUESTION, { limit: 4, minTrust: 2, knowledgeScope: [{ domain: "policy", top_k: 2 }] });
  assert.ok(found.passages.length > 0 && found.passages.every((one) => one.domain === "policy"));
  assert.deepEqual(found.degraded, []);
  await assert.rejects(client.search(QUESTION, { topK: 3 }), InvalidRequest);
  const knowledge = await client.getContext(QUESTION, { tokenBudget: 500 });
  assert.ok(knowledge.tokens > 0 && knowledge.contextData.knowledge_snippets.length > 0);
  const own = await new AgentClient(client, "support").getContext(QUESTION);
  assert.ok(own.snippets.every((one) => one.source.startsWith("policy#")));
});

test("an answer, whole and told as it comes about, and its verification", asked, async () => {
  const answered = await client.answer(QUESTION, { timeout: 60_000 });
  assert.match(answered.answer, /within 24 hours/);
  const names = [];
  let last;
  for await (const told of client.answerEvents(QUESTION, { timeout: 60_000 })) {
    names.push(told.event);
    last = told.data;
  }
  assert.deepEqual([names[0], names.at(-1), names.includes("claim")], ["stage", "answer", true]);
  assert.equal(last.answer, answered.answer);
  const verified = await client.verify(answered.answer, { citations: { 1: answered.claims[0].citations[0].ref } });
  assert.ok(verified.claims.every((one) => one.verdict === "verbatim"), JSON.stringify(verified.counts));
  const apart = await client.verify(null, { claims: [{ text: "Complaints must be answered within 48 hours." }] });
  assert.notEqual(apart.claims[0].verdict, "verbatim");
  await assert.rejects(client.answerEvents("", {}).next(), InvalidRequest);
});

test("feedback", asked, async () => {
  const [first] = await client.retrieveFragments(QUESTION, { maxResults: 1 });
  const ref = first.metadata.passage_id;
  assert.deepEqual(await client.feedback(first.metadata.audit_id, { good: [ref] }), { [ref]: true });
  await assert.rejects(client.feedback("a-none", { good: [ref] }), RetrievalFailed);
});

test("rules", asked, async () => {
  const imported = await client.importRules({ pack: "construction", timeout: 60_000 });
  assert.equal(imported.complete, true);
  const found = await client.inferRules({ processes: "深基坑开挖", parameters: { depth_m: 6 } });
  assert.ok(found.items.length > 0 && found.auditId);
  const none = await client.inferRules({ processes: [] });
  assert.ok(none.items.length === 0 && none.reason);
  const united = await client.retrieve("深基坑开挖的要求", { parameters: { depth_m: 6 }, limit: 2 });
  assert.ok(united.regulations.every((one) => one.source === "kg_rule") && united.regulations.length > 0);
  assert.ok((await client.rules()).packs);
  assert.ok((await client.rules({ text: "基坑", limit: 1 })).nodes.length === 1);
  assert.ok(Array.isArray((await client.proposedRules({ limit: 5 })).statements));
  await assert.rejects(client.reviewRules([999_999], "approve"), (error) => error instanceof InvalidRequest || error instanceof RetrievalFailed);
  await assert.rejects(client.proposeRules("nowhere", { dryRun: true }), (error) => error instanceof InvalidRequest || error instanceof RetrievalFailed);
});

test("a document's whole life", asked, async () => {
  const name = '说明 "1".md';
  const { files } = await client.upload("inbox", { [name]: "# Pumps\n\nA pump is checked every 30 days.\n" }, { timeout: 60_000 });
  assert.equal(files[0].state, "added");
  const [number] = files[0].documents;
  assert.match(new TextDecoder().decode(await client.original(number)), /every 30 days/);
  assert.equal((await client.document(number)).source_id, "inbox");
  assert.equal((await client.documents({ source: "inbox", limit: 5 })).documents.length, 1);
  const { passages } = await client.documentPassages(number);
  const made = await client.correct("text", { ref: passages[0].ref, text: "A pump is checked every 31 days.", reason: "a slip" });
  assert.equal((await client.corrections({ documentId: number })).corrections.length, 1);
  await client.undoCorrection(made.correction_id);
  const changed = await client.replaceDocument(number, "x.md", new TextEncoder().encode("# Pumps\n\nEvery 40 days.\n"), { timeout: 60_000 });
  await assert.rejects(client.pagePicture(changed.files[0].documents[0], 1, { width: 200 }), RetrievalFailed);
  assert.equal((await client.deleteDocument(changed.files[0].documents[0])).documents, 1);
});
