/** What a call throws. A failure is never an empty answer: whoever catches nothing gets nothing. */

/** What is wrong with one member of a request. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

export interface ErrorDetails {
  /** The HTTP status, where there was an answer. */
  readonly status?: number | undefined;
  /** The code of a problem document, such as `unknown_domain`. */
  readonly code?: string | undefined;
  /** Names the request in the service's log (`X-Request-Id`). */
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

/** The base of all that this client throws, but for an abort: that is thrown as the reason of its signal. */
export class WenyuanError extends Error {
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly requestId: string | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.status = details.status;
    this.code = details.code;
    this.requestId = details.requestId;
  }
}

/** The client cannot be made or used so: no http(s) address, a key or a number that cannot be used. */
export class ConfigError extends WenyuanError {}

/** The request is malformed, as found here or by the service (HTTP 400, 413, 415, 422). */
export class InvalidRequest extends WenyuanError {
  readonly faults: readonly Fault[];

  constructor(message: string, faults: readonly Fault[] = [], details: ErrorDetails = {}) {
    super(message, details);
    this.faults = faults;
  }
}

/** The service refuses this caller (HTTP 401, 403). */
export class NotPermitted extends WenyuanError {}

/** There is no answer: the service said FAILED, cannot be reached, was too slow, or broke the contract. */
export class RetrievalFailed extends WenyuanError {
  /** What failed: a part of the service where it says so, else the service itself. */
  readonly component: string;
  /** Why, without the component. */
  readonly reason: string;
  /** Whether a call that writes may have been done all the same: look before you ask again. */
  readonly maybeDone: boolean;

  constructor(component: string, reason: string, details: ErrorDetails & { maybeDone?: boolean } = {}) {
    const maybeDone = details.maybeDone === true;
    super(`${component}: ${reason}${maybeDone ? "; it may have been done all the same: look before you ask again" : ""}`, details);
    this.component = component;
    this.reason = reason;
    this.maybeDone = maybeDone;
  }
}
