/** Server-sent events (HTML, "Parsing an event stream"), as far as the service sends them: a name and JSON. */

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** The events of a body, each when its blank line has come; what is cut off before that is none. */
export async function* serverEvents(parts: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent, void, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let pending: string[] = []; // of a line that is not whole: it is looked through once, however it trickles in
  let event = "";
  let data: string[] = [];
  for await (const part of parts) {
    const text = decoder.decode(part, { stream: true });
    pending.push(text);
    if (!/[\r\n]/.test(text)) continue;
    const lines = pending.join("").split(/\r\n|\n|\r(?!$)/);
    pending = [lines.pop() ?? ""];
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield { event: event === "" ? "message" : event, data: data.join("\n") };
        event = "";
        data = [];
        continue;
      }
      const [name = "", value = ""] = halves(line);
      if (name === "event") event = value;
      else if (name === "data") data.push(value);
    }
  }
}

function halves(line: string): [string, string] {
  const at = line.indexOf(":");
  if (at < 0) return [line, ""];
  return [line.slice(0, at), line.slice(line[at + 1] === " " ? at + 2 : at + 1)];
}
