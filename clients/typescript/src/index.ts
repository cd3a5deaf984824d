export { AgentClient, Client, type ClientOptions, type Files, type FragmentOptions, type UploadOptions } from "./client.js";
export { ConfigError, InvalidRequest, NotPermitted, RetrievalFailed, WenyuanError, type ErrorDetails, type Fault } from "./errors.js";
export type { CallOptions } from "./http.js";
export type { Restrictions } from "./restrictions.js";
export * from "./types.js";
