// One conversation: passes a client's messages to the server and what the server says to the client. A session that the server has lost,
// as after an update, is opened again without the client's notice.

import { Events } from "./events.mjs";
import { answerTo, failure, read } from "./message.mjs";
import { PERHAPS, text } from "./remote.mjs";

const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
// Until the stream of the server's own messages is opened again, first and at most.
const PAUSE_MS = [1_000, 60_000];

export class Link {
  #remote;
  #say;
  #session = null;
  #version = null;
  // The client's own `initialize`, and its log level and subscriptions: they are repeated in a session that replaces a lost one.
  #openedBy = null;
  #standing = new Map();
  #opening = null;
  #stream = null;
  #isClosed = false;

  // say(text): gives the client one message.
  constructor(remote, say) {
    this.#remote = remote;
    this.#say = say;
  }

  // Passes one line on. Resolves when its answer has been given to the client; a request always gets one.
  async send(line) {
    const message = read(line) ?? {};
    try {
      await this.#exchange(message, line);
    } catch (error) {
      if (message.id === undefined) process.stderr.write(`raspi-mcp: ${error.message}\n`);
      else this.#say(failure(message.id, error.message));
    }
  }

  async #exchange(message, line) {
    const session = this.#session;
    let response = await this.#post(message, line);
    if (response.statusCode === 404 && session && !message.headers && message.method !== "initialize") {
      response.resume();
      await this.#openAgain(session);
      response = await this.#post(message, line);
    }
    if (message.method === "initialize") {
      this.#session = response.headers["mcp-session-id"] ?? null;
      this.#openedBy = line;
      this.#standing.clear();
    }
    await this.#deliver(message, response);
    this.#remember(message, line);
    if (message.method === "notifications/initialized" && this.#session && !this.#stream) this.#stream = this.#listen();
  }

  #post(message, line) {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const own = message.headers ?? (message.method === "initialize" ? {} : this.#inSession());
    return this.#remote.ask("POST", { ...headers, ...own }, line);
  }

  #inSession() {
    return { ...(this.#session && { "mcp-session-id": this.#session }), ...(this.#version && { "mcp-protocol-version": this.#version }) };
  }

  async #deliver(message, response) {
    if (isStream(response)) return this.#deliverStream(message, response);
    const body = await text(response).catch((error) => {
      throw new Error(`the connection broke before the answer came (${error.message}): ${PERHAPS}`);
    });
    if (message.id === undefined) {
      // Of a batch or of what is no message the server says what is wrong.
      if (message.method === undefined && body.trim()) return this.#say(body);
      if (response.statusCode >= 400) throw new Error(`the server answered ${response.statusCode} to ${message.method}`);
      return;
    }
    const answer = answerTo(message.id, body);
    if (!answer) throw new Error(`${this.#remote.address} answered ${response.statusCode} and no MCP message: is this the address of a raspi-mcp?`);
    this.#note(message, answer);
    this.#say(answer);
  }

  async #deliverStream(message, response) {
    const events = new Events();
    let isAnswered = message.id === undefined;
    response.setEncoding("utf8");
    try {
      for await (const piece of response) {
        for (const data of events.take(piece)) {
          const answer = isAnswered ? null : answerTo(message.id, data);
          if (answer) {
            isAnswered = true;
            this.#note(message, answer);
          }
          this.#say(answer ?? data);
        }
      }
    } catch (error) {
      if (isAnswered) return;
      throw new Error(`the connection broke before the answer came (${error.message}): ${PERHAPS}`);
    }
    if (!isAnswered) throw new Error(`the server ended its answer too early: ${PERHAPS}`);
  }

  #note(message, answer) {
    if (message.method === "initialize") this.#version = JSON.parse(answer).result?.protocolVersion ?? null;
  }

  #remember({ method, uri }, line) {
    if (method === "logging/setLevel") this.#standing.set("level", line);
    if (method === "resources/subscribe") this.#standing.set(`resource ${uri}`, line);
    if (method === "resources/unsubscribe") this.#standing.delete(`resource ${uri}`);
  }

  // Once for all requests that find the session lost.
  #openAgain(lost) {
    if (this.#session !== lost) return Promise.resolve();
    this.#opening ??= this.#reopen().finally(() => (this.#opening = null));
    return this.#opening;
  }

  async #reopen() {
    const response = await this.#post({ method: "initialize" }, this.#openedBy);
    // The client has this answer already.
    await text(response);
    const session = response.headers["mcp-session-id"];
    if (response.statusCode !== 200 || !session) throw new Error(`the session is gone, and a new one was refused (${response.statusCode})`);
    this.#session = session;
    for (const line of [INITIALIZED, ...this.#standing.values()]) await text(await this.#post({}, line));
  }

  // The server's own messages, for as long as there is a session and the server offers such a stream.
  async #listen() {
    let [pause] = PAUSE_MS;
    let lastId = null;
    while (this.#session && !this.#isClosed) {
      const session = this.#session;
      try {
        const headers = { ...this.#inSession(), accept: "text/event-stream", ...(lastId && { "last-event-id": lastId }) };
        const response = await this.#remote.ask("GET", headers);
        if (isStream(response)) {
          [pause] = PAUSE_MS;
          const events = new Events();
          response.setEncoding("utf8");
          for await (const piece of response) for (const data of events.take(piece)) this.#say(data);
          lastId = events.lastId;
        } else {
          response.resume();
          if (response.statusCode === 404) {
            lastId = null;
            await this.#openAgain(session);
            continue;
          }
          if (response.statusCode < 500) return;
        }
      } catch {
        // The next request tells the client; this stream just comes back.
      }
      await new Promise((resolve) => setTimeout(resolve, pause).unref());
      pause = Math.min(pause * 2, PAUSE_MS[1]);
    }
  }

  // Ends the session on the server, which may be gone.
  async close() {
    this.#isClosed = true;
    if (this.#session) {
      const end = this.#remote.ask("DELETE", this.#inSession()).then((response) => response.resume());
      await Promise.race([end.catch(() => {}), new Promise((resolve) => setTimeout(resolve, 2_000).unref())]);
    }
    this.#remote.close();
  }
}

function isStream(response) {
  return (response.headers["content-type"] ?? "").startsWith("text/event-stream");
}
