/** One HTTP call: its deadline, its retries, and how much of an answer is read. The only place that uses `fetch`. */

import { ConfigError, InvalidRequest, RetrievalFailed } from "./errors.js";
import { saysFailed } from "./replies.js";

export interface CallOptions {
  /** Ends the call; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for this call with its retries; those of the client by default. */
  readonly timeout?: number | undefined;
}

/** A request, and what it may take. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: string | FormData;
  /** Whether it changes what the service holds: then it is not sent again once it may have arrived. */
  readonly writes?: boolean;
  readonly options: CallOptions;
}

/** A whole answer. */
export interface Reply {
  readonly status: number;
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly requestId: string | undefined;
  readonly retryAfter: string;
}

/** A response of which only the head is read, and what ends its reading. */
export interface Opened {
  readonly response: Response;
  readonly parts: AsyncIterable<Uint8Array>;
}

const MAX_REPLY_BYTES = 64 * 1024 * 1024;
const FIRST_WAIT = 100;
const LONGEST_WAIT = 5_000;
const LONGEST_CALL = 2_147_483_647; // what a timer can hold
const BUSY = new Set([429, 503]);
/** What Node says of a connection that was never made: nothing can have arrived. */
const UNSENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "EHOSTUNREACH", "ENETUNREACH"]);

export interface TransportOptions {
  readonly key?: string | undefined;
  readonly timeout?: number | undefined;
  readonly retries?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
}

export class Transport {
  readonly component: string;
  readonly #stem: URL;
  readonly #key: string | undefined;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(url: string | URL, options: TransportOptions) {
    const at = endpoint(url);
    this.#stem = at;
    this.component = `knowledge service ${at.host}`;
    const { key, timeout = 30_000, retries = 2 } = options;
    if (key !== undefined && (typeof key !== "string" || !/^[!-~]+$/.test(key))) {
      throw new ConfigError("the key must be printable ASCII without spaces");
    }
    if (!(timeout > 0 && timeout <= LONGEST_CALL) || !Number.isInteger(retries) || retries < 0) {
      throw new ConfigError("timeout must be above 0, in milliseconds, and retries a whole number from 0");
    }
    this.#key = key;
    this.#timeout = timeout;
    this.#retries = retries;
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init)); // bound: browsers want it so
  }

  /** The last answer, after as many retries as are allowed and fit the time. */
  async reply(call: Call, headers: Record<string, string>): Promise<Reply> {
    const limit = new Limit(call.options, this.#timeout);
    try {
      for (let attempt = 0; ; attempt++) {
        const last = attempt >= this.#retries;
        let wait = backoff(attempt);
        let reply: Reply | undefined;
        try {
          const response = await this.#exchange(call, headers, limit);
          reply = await this.whole(response, bounded(response));
        } catch (error) {
          const failure = this.#translated(error, call, limit);
          if (last || !failure.again || !limit.fits(wait)) throw failure.error;
        }
        if (reply !== undefined) {
          // A server that ends may say 503 in the middle of what it does; 429 is said before anything is done.
          const busy = BUSY.has(reply.status) && !(call.writes === true && reply.status === 503);
          if (!busy || last || saysFailed(reply) !== undefined) return reply;
          wait = askedToWait(reply.retryAfter) ?? wait;
          if (!limit.fits(wait)) return reply;
        }
        await limit.sleep(wait);
      }
    } finally {
      limit.end();
    }
  }

  /**
   * An answer that is read part by part. What comes before its first part is not asked again; `end` is to be called in the
   * end, however that comes.
   */
  async open(call: Call, headers: Record<string, string>): Promise<{ opened: Opened; end: () => void }> {
    const limit = new Limit(call.options, this.#timeout);
    try {
      const response = await this.#exchange(call, headers, limit);
      return { opened: { response, parts: this.#parts(response, call, limit) }, end: () => limit.cancel() };
    } catch (error) {
      limit.cancel();
      throw this.#translated(error, call, limit).error;
    }
  }

  /** An answer whose head was read already. */
  async whole(response: Response, parts: AsyncIterable<Uint8Array>): Promise<Reply> {
    const chunks: Uint8Array[] = [];
    for await (const part of parts) chunks.push(part);
    return made(response, chunks);
  }

  async #exchange(call: Call, headers: Record<string, string>, limit: Limit): Promise<Response> {
    const init: RequestInit = {
      method: call.method,
      headers: {
        Accept: "application/json",
        ...(typeof call.body === "string" ? { "Content-Type": "application/json" } : {}),
        ...headers,
        ...(this.#key === undefined ? {} : { Authorization: `Bearer ${this.#key}` }),
      },
      redirect: "manual", // the key and the question go to nobody else
      credentials: "omit",
      cache: "no-store",
      referrerPolicy: "no-referrer",
      signal: limit.signal,
      ...(call.body === undefined ? {} : { body: call.body }),
    };
    limit.check();
    const response = await this.#fetch(this.#address(call.path), init);
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      void response.body?.cancel().catch(() => undefined);
      const status = response.status === 0 ? undefined : response.status;
      throw this.failed("the service answered with a redirect, which is not followed", { status });
    }
    return response;
  }

  async *#parts(response: Response, call: Call, limit: Limit): AsyncGenerator<Uint8Array, void, void> {
    try {
      yield* bounded(response);
    } catch (error) {
      throw this.#translated(error, call, limit).error;
    }
  }

  /** The error to throw for what `fetch` or the reading of an answer threw, and whether asking again may help. */
  #translated(error: unknown, call: Call, limit: Limit): { error: unknown; again: boolean } {
    if (call.options.signal?.aborted === true) return { error: call.options.signal.reason, again: false };
    if (error instanceof RetrievalFailed) return { error, again: false };
    const unsent = UNSENT.has(codeOf(error));
    const maybeDone = call.writes === true && !unsent;
    const late = limit.late();
    const cause = late ? undefined : error;
    const reason = late
      ? `no whole answer within ${limit.seconds} s`
      : error instanceof TooLarge
        ? `the answer is larger than ${MAX_REPLY_BYTES} bytes`
        : `no answer: ${told(error)}`;
    const again = !late && !maybeDone && !(error instanceof TooLarge);
    return { error: this.failed(reason, { cause, maybeDone }), again };
  }

  failed(reason: string, details: ConstructorParameters<typeof RetrievalFailed>[2] = {}): RetrievalFailed {
    return new RetrievalFailed(this.component, reason, details);
  }

  #address(path: string): URL {
    const at = new URL(this.#stem);
    const [before = "", query = ""] = path.split("?", 2);
    at.pathname = at.pathname.replace(/\/$/, "") + before;
    at.search = query;
    return at;
  }
}

/** The time of a call, and what ends it. */
class Limit {
  readonly #own = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #until: number;
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #forward = (): void => this.#own.abort(this.#outer?.reason);
  readonly seconds: number;
  #late = false;

  constructor(options: CallOptions, otherwise: number) {
    const timeout = options.timeout ?? otherwise;
    if (!(timeout > 0 && timeout <= LONGEST_CALL)) {
      const message = `must be above 0 and at most ${LONGEST_CALL} milliseconds`;
      throw new InvalidRequest(`timeout ${message}`, [{ path: "timeout", message }]);
    }
    this.seconds = timeout / 1000;
    this.#until = performance.now() + timeout;
    this.#outer = options.signal;
    this.#outer?.throwIfAborted();
    this.#outer?.addEventListener("abort", this.#forward);
    this.#timer = setTimeout(() => {
      this.#late = true;
      this.#own.abort();
    }, timeout);
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  check(): void {
    this.#outer?.throwIfAborted();
  }

  late(): boolean {
    return this.#late;
  }

  fits(wait: number): boolean {
    return performance.now() + wait < this.#until;
  }

  async sleep(wait: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, wait);
      this.signal.addEventListener("abort", wake);
    });
    this.check();
  }

  /** The call is over. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#forward);
  }

  /** The call is over, and what may still come is not wanted. */
  cancel(): void {
    this.end();
    this.#own.abort();
  }
}

class TooLarge extends Error {}

async function* bounded(response: Response): AsyncGenerator<Uint8Array, void, void> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  let size = 0;
  let whole = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        whole = true;
        return;
      }
      size += value.byteLength;
      if (size > MAX_REPLY_BYTES) throw new TooLarge();
      yield value;
    }
  } finally {
    if (!whole) await reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}

function made(response: Response, chunks: readonly Uint8Array[]): Reply {
  const bytes = new Uint8Array(chunks.reduce((sum, one) => sum + one.byteLength, 0));
  let at = 0;
  for (const one of chunks) {
    bytes.set(one, at);
    at += one.byteLength;
  }
  return {
    status: response.status,
    bytes,
    get text() {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    },
    requestId: response.headers.get("X-Request-Id") ?? undefined,
    retryAfter: response.headers.get("Retry-After") ?? "",
  };
}

/** Where the service is, without the last part of the contract's path. */
function endpoint(url: string | URL): URL {
  let at: URL;
  try {
    at = new URL(url);
  } catch {
    throw new ConfigError("the URL must begin with http:// or https:// and name a host");
  }
  if (at.protocol !== "http:" && at.protocol !== "https:") {
    throw new ConfigError("the URL must begin with http:// or https:// and name a host");
  }
  if (at.username !== "" || at.password !== "") {
    throw new ConfigError("the URL must not hold credentials: give them as key");
  }
  at.search = "";
  at.hash = "";
  at.pathname = at.pathname.replace(/\/+$/, "").replace(/\/retrieve_fragments$/, "").replace(/\/v1$/, "").replace(/\/+$/, "");
  return at;
}

/** 100, 200, 400 … at most 5,000 ms, each less by up to a half, so that callers do not ask again at the same moment. */
function backoff(attempt: number): number {
  return Math.min(FIRST_WAIT * 2 ** attempt, LONGEST_WAIT) * (0.5 + Math.random() / 2);
}

/** Milliseconds that `Retry-After` asks for, a number of seconds or a date (RFC 9110 §10.2.3). */
function askedToWait(said: string): number | undefined {
  if (/^\d{1,9}$/.test(said)) return Number(said) * 1000;
  const moment = said === "" ? Number.NaN : Date.parse(said);
  return Number.isNaN(moment) ? undefined : Math.max(0, moment - Date.now());
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
  return typeof cause?.code === "string" ? cause.code : "";
}

function told(error: unknown): string {
  const code = codeOf(error);
  const words = error instanceof Error ? `${error.name}: ${error.message}` : typeof error;
  return code === "" ? words : `${words} (${code})`;
}
