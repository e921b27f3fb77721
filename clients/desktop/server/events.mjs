// Server-sent events (the HTML standard, 9.2), as far as MCP uses them: the data of each event, and the id for resuming.

// Longest event in characters: the largest answer that a server can be configured to give, and its envelope.
const LONGEST = 70 * 1024 * 1024;

export class Events {
  #rest = "";
  #data = null;
  // The last id, for the header Last-Event-ID.
  lastId = null;

  // Takes a piece of text, wherever it was cut, and returns the data of each event that is complete.
  take(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    const complete = [];
    for (const line of lines) this.#line(line.endsWith("\r") ? line.slice(0, -1) : line, complete);
    if (this.#rest.length + (this.#data?.length ?? 0) > LONGEST) throw new Error(`a message of more than ${LONGEST} characters`);
    return complete;
  }

  #line(line, complete) {
    if (line === "") {
      // An event without data only has an id, so that a stream can be resumed.
      if (this.#data) complete.push(this.#data);
      this.#data = null;
      return;
    }
    const at = line.indexOf(":");
    // A comment keeps the connection alive.
    if (at === 0) return;
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(line[at + 1] === " " ? at + 2 : at + 1);
    if (field === "data") this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
    if (field === "id") this.lastId = value || null;
  }
}
