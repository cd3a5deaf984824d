// A service that is none, that breaks off, that lies: the outcome is fragments that were said to be all, or an error of ours.
import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import test from "node:test";
import { inspect } from "node:util";

import { Client, ConfigError, InvalidRequest, NotPermitted, RetrievalFailed } from "../dist/index.js";

const FRAGMENT = { source: "kb#1", content: "报销须在三十日内提交", retrieval_score: 0.9, metadata: { restrictions: [] } };
const SUCCESS = { status: "SUCCESS", fragments: [FRAGMENT] };
const FAILED = {
  status: "FAILED", fragments: [], error_message: "engine keyword: connection refused",
  translatable: { template: "{component}: {message}", values: { component: "engine keyword", message: "connection refused" } },
};
const SECRET = "wy_00000000_secret";

/** A server that answers in turn, the last for all that follow. */
async function serving(t, ...answers) {
  const seen = [];
  const server = http.createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      seen.push({ method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(parts).toString() });
      const answer = answers[Math.min(seen.length, answers.length) - 1];
      if (typeof answer === "function") answer(response, request);
      else {
        const [status, body, headers = {}] = answer;
        const content = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
        response.writeHead(status, { "Content-Type": "application/json", "X-Request-Id": "r-7", ...headers }).end(content);
      }
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => (server.closeAllConnections(), new Promise((resolve) => server.close(resolve))));
  return { url: `http://127.0.0.1:${server.address().port}`, seen };
}

const failed = (pattern, more = {}) => (error) => {
  assert.ok(error instanceof RetrievalFailed, inspect(error));
  assert.match(error.message, pattern);
  for (const [name, value] of Object.entries(more)) assert.deepEqual(error[name], value, name);
  return true;
};

test("what is asked is the contract's request, and what is found has all members", async (t) => {
  const { url, seen } = await serving(t, [200, SUCCESS]);
  const client = new Client(url, { key: SECRET });
  const found = await client.retrieveFragments("连接池", { maxResults: 3, context: { task_id: "t-1" } });
  assert.deepEqual([...found], [FRAGMENT]);
  assert.equal(seen[0].url, "/v1/retrieve_fragments");
  assert.equal(seen[0].headers.authorization, `Bearer ${SECRET}`);
  assert.deepEqual(JSON.parse(seen[0].body), { query: "连接池", max_results: 3, context: { task_id: "t-1" } });
  assert.equal(found.map((one) => one.source)[0], "kb#1");
  assert.ok(!inspect(client, { depth: 9, showHidden: true }).includes(SECRET));
});

test("nothing found is the one empty answer", async (t) => {
  const { url } = await serving(t, [200, { status: "SUCCESS", fragments: [], error_message: null, reason: "withheld" }]);
  const found = await new Client(url).retrieveFragments("x");
  assert.deepEqual([found.length, found.reason, found.nearest], [0, "withheld", null]);
});

for (const status of [200, 404, 500, 503]) {
  test(`FAILED with HTTP ${status} throws its component, reason and request, and is not asked again`, async (t) => {
    const { url, seen } = await serving(t, [status, FAILED]);
    const told = { component: "engine keyword", reason: "connection refused", requestId: "r-7", status };
    await assert.rejects(new Client(url).retrieveFragments("x"), failed(/^engine keyword: connection refused$/, told));
    assert.equal(seen.length, 1);
  });
}

test("FAILED beside fragments, without a reason, or with a reason that draws on a terminal", async (t) => {
  const bodies = [{ ...FAILED, fragments: [FRAGMENT] }, { status: "FAILED" }, { status: "FAILED", error_message: "a\u001b[31mb\nERROR c" }];
  const { url } = await serving(t, ...bodies.map((body) => [200, body]));
  const client = new Client(url);
  await assert.rejects(client.retrieveFragments("x"), failed(/connection refused/));
  await assert.rejects(client.retrieveFragments("x"), failed(/no reason/));
  await assert.rejects(client.retrieveFragments("x"), failed(/a \[31mb ERROR c$/));
});

const BROKEN = [
  "", "null", "[]", "<html><body>Sign in</body></html>", '{"status": "SUCCESS", "fragments": [', "[".repeat(100_000),
  Buffer.from([0xff, 0xfe]), '{"status": "FAILED", "fragments": [], "status": "SUCCESS"}', '{"status": "SUCCESS"}', '{"fragments": []}',
  '{"status": "success", "fragments": []}', '{"status": "SUCCESS", "fragments": null}', '{"status": "SUCCESS", "fragments": {}}',
  '{"status": "SUCCESS", "fragments": [], "error_message": "one shard is down"}', '{"status": "SUCCESS", "fragments": [null]}',
  '{"status": "SUCCESS", "fragments": [], "x": 1e400}', '{"status": "SUCCESS", "fragments": [], "x": "\\ud800"}',
  ...[
    { source: null }, { source: "" }, { content: null }, { metadata: [] }, { metadata: "x" }, { retrieval_score: null },
    { retrieval_score: "0.9" }, { retrieval_score: true }, { retrieval_score: 1.7 }, { retrieval_score: -0.1 },
  ].map((change) => JSON.stringify({ status: "SUCCESS", fragments: [FRAGMENT, { ...FRAGMENT, ...change }] })),
  JSON.stringify({ status: "SUCCESS", fragments: [{ ...FRAGMENT, retrieval_score: 0.1 }, FRAGMENT] }),
  JSON.stringify({ status: "SUCCESS", fragments: Array(11).fill(FRAGMENT) }),
];

test("what is no answer of the contract is a failure, and its text is not repeated", async (t) => {
  const { url } = await serving(t, ...BROKEN.map((body) => [200, body]));
  const client = new Client(url, { retries: 0 });
  for (const body of BROKEN) {
    await assert.rejects(client.retrieveFragments("x"), (error) => failed(/the answer breaks the contract/)(error) && !error.message.includes("html"), String(body).slice(0, 80));
  }
});

test("SUCCESS with missing members is a failure of every call", async (t) => {
  const { url } = await serving(t, [200, { status: "SUCCESS" }]);
  const client = new Client(url);
  const calls = [
    () => client.search("x"), () => client.getContext("x"), () => client.verify("x"), () => client.answer("x"), () => client.feedback("a", { good: ["x#1"] }),
    () => client.retrieve("x"), () => client.inferRules({ context: "x" }), () => client.reviewRules("all", "approve"), () => client.upload("s", { "a.md": "x" }),
    () => client.documents(), () => client.document(1), () => client.documentPassages(1), () => client.corrections(), () => client.correct("exclude", { ref: "x#1" }),
  ];
  for (const call of calls) await assert.rejects(call(), failed(/the answer breaks the contract/));
});

test("other statuses are failures, whatever the body says", async (t) => {
  const statuses = [201, 204, 404, 405, 409, 500, 502, 504];
  const { url } = await serving(t, ...statuses.map((status) => [status, status === 204 ? "" : SUCCESS]));
  const client = new Client(url, { retries: 0 });
  for (const status of statuses) await assert.rejects(client.retrieveFragments("x"), failed(new RegExp(`HTTP ${status}`), { status }));
});

test("refusals", async (t) => {
  const problem = { code: "invalid_request", detail: "context.as_of is no date", errors: [{ path: "context.as_of", message: "is no date" }, "odd", { path: 1 }] };
  const { url, seen } = await serving(t, [400, problem], [401, { title: "no such key" }], [403, "<html>"]);
  const client = new Client(url);
  await assert.rejects(client.retrieveFragments("x"), (error) => {
    assert.ok(error instanceof InvalidRequest);
    assert.deepEqual(error.faults, [{ path: "context.as_of", message: "is no date" }]);
    assert.deepEqual([error.code, error.requestId, error.status], ["invalid_request", "r-7", 400]);
    return true;
  });
  await assert.rejects(client.retrieveFragments("x"), (error) => error instanceof NotPermitted && /no such key/.test(error.message));
  await assert.rejects(client.retrieveFragments("x"), (error) => error instanceof NotPermitted && error.status === 403);
  assert.equal(seen.length, 3);
});

test("a redirect is followed nowhere, and the key stays here", async (t) => {
  const other = await serving(t, [200, SUCCESS]);
  for (const status of [301, 302, 303, 307, 308]) {
    const { url, seen } = await serving(t, [status, "", { Location: `${other.url}/v1/retrieve_fragments` }]);
    await assert.rejects(new Client(url, { key: SECRET }).retrieveFragments("x"), failed(/redirect, which is not followed/));
    assert.equal(seen.length, 1);
  }
  assert.equal(other.seen.length, 0);
});

test("429 is asked again when Retry-After says so, within the time", async (t) => {
  const { url, seen } = await serving(t, [429, {}, { "Retry-After": "1" }], [200, SUCCESS]);
  const started = performance.now();
  assert.equal((await new Client(url).retrieveFragments("x")).length, 1);
  assert.ok(performance.now() - started > 950);
  assert.equal(seen.length, 2);
  const busy = await serving(t, [429, { detail: "too many" }, { "Retry-After": "3600" }]);
  await assert.rejects(new Client(busy.url, { timeout: 2_000 }).retrieveFragments("x"), failed(/too many/, { status: 429 }));
  assert.equal(busy.seen.length, 1);
});

test("what writes is asked again after 429, and not after what may have done it", async (t) => {
  const kept = [200, { kept: { "x#1": true } }];
  const busy = await serving(t, [429, {}, { "Retry-After": "0" }], kept);
  assert.deepEqual(await new Client(busy.url).feedback("a", { good: ["x#1"] }), { "x#1": true });
  const ends = await serving(t, [503, { detail: "the server stops" }], kept);
  await assert.rejects(new Client(ends.url).feedback("a", { good: ["x#1"] }), failed(/the server stops/));
  assert.equal(ends.seen.length, 1);
  const cut = await serving(t, (response) => response.socket.destroy(), kept);
  await assert.rejects(new Client(cut.url).feedback("a", { good: ["x#1"] }), failed(/may have been done/, { maybeDone: true }));
  assert.equal(cut.seen.length, 1);
  const nobody = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => nobody.on("listening", resolve));
  const { port } = nobody.address();
  await new Promise((resolve) => nobody.close(resolve));
  await assert.rejects(new Client(`http://127.0.0.1:${port}`, { retries: 0 }).feedback("a", { good: ["x#1"] }), failed(/no answer/, { maybeDone: false }));
});

const half = (response) => {
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "999" });
  response.write(JSON.stringify(SUCCESS), () => response.socket.destroy());
};

test("a connection that breaks is tried again, and then is a failure", async (t) => {
  for (const cut of [half, (response) => response.socket.resetAndDestroy()]) {
    const { url, seen } = await serving(t, cut, [200, SUCCESS]);
    assert.equal((await new Client(url).retrieveFragments("x")).length, 1);
    assert.equal(seen.length, 2);
    const gone = await serving(t, cut);
    await assert.rejects(new Client(gone.url).retrieveFragments("x"), failed(/no answer/));
    assert.equal(gone.seen.length, 3);
  }
});

test("what is no HTTP is a failure", async (t) => {
  const server = net.createServer((socket) => socket.on("error", () => {}).end("SSH-2.0-OpenSSH\r\n"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  await assert.rejects(new Client(`http://127.0.0.1:${server.address().port}`, { retries: 0 }).retrieveFragments("x"), failed(/no answer/));
});

test("an answer that trickles in is cut off in time", async (t) => {
  const trickle = (response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    const timer = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(timer));
  };
  for (const slow of [trickle, () => {}]) {
    const { url, seen } = await serving(t, slow);
    const started = performance.now();
    await assert.rejects(new Client(url).retrieveFragments("x", { timeout: 300 }), failed(/no whole answer within 0.3 s/));
    assert.ok(performance.now() - started < 5_000);
    assert.equal(seen.length, 1);
  }
});

test("an answer without end is cut off", async (t) => {
  const part = Buffer.alloc(1024 * 1024, 32);
  const endless = (response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    const more = () => { while (!response.destroyed && response.write(part)); };
    response.on("drain", more);
    more();
  };
  const { url, seen } = await serving(t, endless);
  await assert.rejects(new Client(url).retrieveFragments("x"), failed(/larger than/));
  assert.equal(seen.length, 1);
});

test("an abort ends the call at once, before, while it waits and while it reads", async (t) => {
  const { url, seen } = await serving(t, half, [429, {}, { "Retry-After": "20" }], (response) => response.writeHead(200).write("{"));
  const client = new Client(url);
  const gone = new AbortController();
  gone.abort(new Error("changed my mind"));
  await assert.rejects(client.retrieveFragments("x", { signal: gone.signal }), /changed my mind/);
  assert.equal(seen.length, 0);
  for (const _ of ["waiting", "reading"]) {
    const aborting = new AbortController();
    setTimeout(() => aborting.abort(), 700);
    const started = performance.now();
    await assert.rejects(client.retrieveFragments("x", { signal: aborting.signal }), { name: "AbortError" });
    assert.ok(performance.now() - started < 5_000);
  }
});

test("an answer that does not say that it applied a restriction is not given", async (t) => {
  const told = { ...FRAGMENT, metadata: { restrictions: ["domain"] } };
  const { url, seen } = await serving(t, [200, SUCCESS], [200, { status: "SUCCESS", fragments: [told] }]);
  const client = new Client(url);
  await assert.rejects(client.retrieveFragments("x", { domain: "law" }), failed(/applied domain/));
  assert.equal((await client.retrieveFragments("x", { domain: "law" })).length, 1);
  assert.deepEqual(JSON.parse(seen[1].body).context, { domain: "law" });
  for (const options of [{ topK: 3 }, { max_results: 3 }, { context: { minTrust: 4 } }, { context: { Domain: "law" } }, { domain: "law", context: { domain: "hr" } }]) {
    await assert.rejects(client.retrieveFragments("x", options), InvalidRequest, inspect(options));
  }
  assert.equal(seen.length, 2);
});

test("options are sent in the service's names", async (t) => {
  const { url, seen } = await serving(t, [200, FAILED]);
  await assert.rejects(new Client(url).search("x", { knowledgeScope: [{ domain: "law", top_k: 2 }], minTrust: 3, asOf: "2026-01-01", timeout: 9_000 }), failed(/refused/));
  assert.deepEqual(JSON.parse(seen[0].body), { query: "x", knowledge_scope: [{ domain: "law", top_k: 2 }], min_trust: 3, as_of: "2026-01-01" });
});

test("whom is asked for is said, in one form", async (t) => {
  const { url, seen } = await serving(t, [200, SUCCESS]);
  await new Client(url).actingFor(["group:人事", "user:Li"]).retrieveFragments("x");
  assert.equal(seen[0].headers["x-wenyuan-on-behalf-of"], `group:${encodeURIComponent("人事")},user:li`);
  for (const names of ["", "li", "group:hr", ["user:li", "user:wang"], "user:li\r\nX: 1"]) {
    assert.throws(() => new Client(url).actingFor(names), InvalidRequest);
  }
});

test("what cannot be used is refused when the client is made", () => {
  for (const url of ["", "kb.example", "ftp://kb.example", "http://user:pw@kb.example"]) assert.throws(() => new Client(url), ConfigError);
  for (const options of [{ key: "" }, { key: "a b" }, { key: "钥匙" }, { key: "a\r\nX: 1" }, { timeout: 0 }, { timeout: Number.NaN }, { timeout: 1e12 }, { retries: -1 }, { retries: 0.5 }, { apiKey: "x" }]) {
    assert.throws(() => new Client("http://kb.example", options), ConfigError, inspect(options));
  }
  try {
    new Client("http://kb.example", { key: `${SECRET} ` });
  } catch (error) {
    assert.ok(!inspect(error).includes(SECRET));
  }
});

test("the paths of an address are kept, and those of the contract are not doubled", async (t) => {
  const { url, seen } = await serving(t, [200, SUCCESS]);
  for (const [path, asked] of [["", ""], ["/", ""], ["/kb", "/kb"], ["/kb/", "/kb"], ["/kb/v1/retrieve_fragments", "/kb"], ["/v1", ""]]) {
    await new Client(url + path).retrieveFragments("x");
    assert.equal(seen.at(-1).url, `${asked}/v1/retrieve_fragments`, path);
  }
});

// -- streams -----------------------------------------------------------------------------------------------------
const ANSWER = { status: "SUCCESS", answer: "Within a day [1]", claims: [{ text: "Within a day", citations: [{ ref: "a#1" }] }], dropped: [] };
const event = (name, data) => `event: ${name}\ndata: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
const streamed = (...parts) => async (response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream", "X-Request-Id": "r-9" });
  for (const part of parts) {
    response.write(part);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  response.end();
};

async function told(url, options) {
  const events = [];
  for await (const one of new Client(url).answerEvents("x", options)) events.push(one.event);
  return events;
}

test("events come one by one, however the bytes are cut", async (t) => {
  const whole = Buffer.from(`: ping\r\n\r\n${event("stage", { stage: "检索" })}event:later\ndata: {}\n\n${event("claim", ANSWER.claims[0])}${event("answer", ANSWER)}`);
  const bytes = Array.from(whole, (_, at) => whole.subarray(at, at + 1));
  const { url, seen } = await serving(t, streamed(whole), (response) => { response.writeHead(200, { "Content-Type": "text/event-stream" }); bytes.forEach((byte) => response.write(byte)); response.end(); });
  for (let time = 0; time < 2; time++) assert.deepEqual(await told(url), ["stage", "claim", "answer"]);
  assert.deepEqual(JSON.parse(seen[0].body), { query: "x", stream: true });
});

test("a stream that fails, ends early or is none, is a failure", async (t) => {
  const stage = event("stage", { stage: "retrieving" });
  const { url } = await serving(t,
    streamed(stage, event("answer", FAILED)), streamed(stage), streamed(stage, event("answer", ANSWER).slice(0, -2)),
    streamed(stage, event("answer", { status: "SUCCESS", answer: "x" })), streamed(stage, event("claim", "{")), streamed(Buffer.from([0x64, 0xff, 0x0a])),
    (response) => { response.writeHead(200, { "Content-Type": "text/event-stream" }); response.write(stage, () => response.socket.destroy()); },
    [200, "<html>", { "Content-Type": "text/html" }], [500, FAILED], [307, "", { Location: "/elsewhere" }]);
  const expected = [/connection refused/, /ended before its answer/, /ended before its answer/, /breaks the contract/, /breaks the contract/, /no UTF-8/, /no answer/, /breaks the contract/, /connection refused/, /redirect/];
  for (const pattern of expected) await assert.rejects(told(url), failed(pattern));
  const asked = await serving(t, [200, ANSWER]);
  assert.deepEqual(await told(asked.url), ["answer"]);
});

test("leaving the loop, an abort and the time end the request", async (t) => {
  let closed = 0;
  const endless = (response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(event("stage", { stage: "retrieving" }));
    response.on("close", () => closed++);
  };
  const { url } = await serving(t, endless);
  for await (const one of new Client(url).answerEvents("x")) {
    assert.equal(one.event, "stage");
    break;
  }
  const aborting = new AbortController();
  setTimeout(() => aborting.abort(), 200);
  await assert.rejects(told(url, { signal: aborting.signal }), { name: "AbortError" });
  await assert.rejects(told(url, { timeout: 200 }), failed(/within 0.2 s/));
  while (closed < 3) await new Promise((resolve) => setTimeout(resolve, 10));
});
