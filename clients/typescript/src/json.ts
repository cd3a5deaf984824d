/** Strict JSON (RFC 8259): what JavaScript's own parser takes and a service of the contract must not send is refused, too. */

export type JsonObject = { readonly [name: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object that a text holds; an Error with the reason when it is anything else. */
export function readObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("the body is no JSON"); // the parser's own words would repeat it
  }
  if (!isObject(value)) throw new Error("the body is no JSON object");
  checkText(text);
  return value;
}

/** Refuse a member that is there twice, a number without end and half of a surrogate pair, in a text that is JSON. */
function checkText(text: string): void {
  const open: (Set<string> | null)[] = []; // the names of each object that is open; null for an array
  let named = false; // whether the next string is a name
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      const end = endOfString(text, at);
      const raw = text.slice(at + 1, end);
      const value = raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
      if (/\p{Surrogate}/u.test(value)) throw new Error("the body holds half of a surrogate pair");
      if (named) {
        const names = open[open.length - 1];
        if (names?.has(value)) throw new Error("the body has a member twice");
        names?.add(value);
        named = false;
      }
      at = end;
    } else if (char === "{" || char === "[") {
      open.push(char === "{" ? new Set() : null);
      named = char === "{";
    } else if (char === "}" || char === "]") {
      open.pop();
      named = false;
    } else if (char === ",") {
      named = open[open.length - 1] !== null;
    } else if (char !== undefined && (char === "-" || (char >= "0" && char <= "9"))) {
      const end = endOfNumber(text, at);
      if (!Number.isFinite(Number(text.slice(at, end)))) throw new Error("the body holds a number that is too large");
      at = end - 1;
    }
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && /[0-9.eE+-]/.test(text[at] as string)) at++;
  return at;
}
