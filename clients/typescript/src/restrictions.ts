/** What restricts a question: it is sent in the contract's `context`, and the answer has to say that it was applied. */

import { InvalidRequest } from "./errors.js";
import { isObject } from "./json.js";
import type { Fragment } from "./types.js";

export interface Restrictions {
  /** Only sources of this knowledge domain. */
  readonly domain?: string | undefined;
  /** Only passages that meet it: `{"metadata.year": {ge: 2024}}`, joined by AND; `and`, `or`, `not`. */
  readonly filter?: { readonly [field: string]: unknown } | undefined;
  /** Only sources that are trusted so much, 1 to 5. */
  readonly minTrust?: number | undefined;
}

const NAMES = ["domain", "filter", "min_trust", "agent_id"];
const plain = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
const MEANT = new Map(NAMES.map((name) => [plain(name), name]));

/**
 * The context to send, and the restrictions that an answer has to say were applied.
 *
 * A service of others may ignore keys that it does not know, so another spelling of a restriction is refused here.
 */
export function inContext(
  context: { readonly [name: string]: unknown } | undefined,
  { domain, filter, minTrust }: Restrictions,
): { sent: Record<string, unknown> | undefined; names: string[] } {
  if (context !== undefined && !isObject(context)) throw fault("context", "must be an object");
  for (const name of Object.keys(context ?? {})) {
    const meant = MEANT.get(plain(name));
    if (meant !== undefined && meant !== name) throw fault(`context.${name}`, `is not known here; did you mean ${meant}?`);
  }
  const given = Object.entries({ domain, filter, min_trust: minTrust }).filter(([, value]) => value !== undefined && value !== null);
  for (const [name, value] of given) {
    const other = context?.[name];
    if (other !== undefined && other !== null && JSON.stringify(other) !== JSON.stringify(value)) {
      throw fault(name, `differs from context.${name}`);
    }
  }
  const names = given.map(([name]) => name);
  if (context === undefined && names.length === 0) return { sent: undefined, names };
  return { sent: { ...context, ...Object.fromEntries(given) }, names };
}

/** Those of the restrictions that not every fragment says were applied (`metadata.restrictions`). */
export function restrictionsApplied(fragments: readonly Fragment[], names: readonly string[]): string[] {
  return names.filter((name) =>
    fragments.some((one) => {
      const said: unknown = one.metadata["restrictions"];
      return !Array.isArray(said) || !said.includes(name);
    }),
  );
}

function fault(path: string, message: string): InvalidRequest {
  return new InvalidRequest(`${path} ${message}`, [{ path, message }]);
}
