// What the extension has to know of a message to pass it on: its id, and what the headers of newer revisions of MCP repeat. Ids stay the
// text that they are: a number above 2^53 has no other.

const NAMED = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" };

// A message of the client, or null if it is not a JSON object: those are passed on as they are, and the server says what is wrong.
export function read(line) {
  const message = parsed(line);
  if (message === null) return null;
  const { method, params } = message;
  const id = typeof method === "string" && message.id !== undefined ? textOf(line, "id") : undefined;
  return { id, method, uri: params?.uri, headers: headersOf(method, params) };
}

function parsed(text) {
  try {
    const message = JSON.parse(text);
    return typeof message === "object" && !Array.isArray(message) ? message : null;
  } catch {
    return null;
  }
}

// Of 2026-07-28 and newer, where each request says its revision; none before it.
function headersOf(method, params) {
  const version = params?._meta?.["io.modelcontextprotocol/protocolVersion"];
  if (typeof method !== "string" || typeof version !== "string") return null;
  const headers = { "mcp-protocol-version": version, "mcp-method": method };
  const name = params[NAMED[method]];
  if (typeof name === "string") headers["mcp-name"] = name;
  return headers;
}

// The text of a member of the object that `json`, which was parsed, is. Of several of one name it is the last, as JSON.parse has it.
function textOf(json, name) {
  let found;
  let at = past(json, json.indexOf("{") + 1);
  while (json[at] === '"') {
    const key = at;
    at = endOfText(json, at);
    const isIt = JSON.parse(json.slice(key, at)) === name;
    const begin = past(json, past(json, at) + 1);
    at = endOfValue(json, begin);
    if (isIt) found = json.slice(begin, at).trimEnd();
    at = past(json, at + 1);
  }
  return found;
}

function past(json, at) {
  while (" \t\r\n".includes(json[at] ?? "x")) at += 1;
  return at;
}

function endOfText(json, at) {
  for (at += 1; json[at] !== '"'; at += 1) if (json[at] === "\\") at += 1;
  return at + 1;
}

// Where the comma or the bracket after the value is.
function endOfValue(json, at) {
  for (let depth = 0; ; ) {
    const sign = json[at];
    if (sign === '"') {
      at = endOfText(json, at);
      continue;
    }
    if (depth === 0 && (sign === "," || sign === "}")) return at;
    if (sign === "{" || sign === "[") depth += 1;
    if (sign === "}" || sign === "]") depth -= 1;
    at += 1;
  }
}

// The answer to the request `id` in this text, as the client gets it, or null. An error without an id (refused unread) gets the request's.
export function answerTo(id, text) {
  const answer = parsed(text);
  if (answer === null || answer.method !== undefined) return null;
  if (answer.id === undefined || answer.id === null) {
    return answer.error ? `{"jsonrpc":"2.0","id":${id},"error":${textOf(text, "error")}}` : null;
  }
  const isSame = typeof answer.id === "string" ? answer.id === JSON.parse(id) : textOf(text, "id") === id;
  return isSame ? text : null;
}

// The error that a client gets when the server could not be asked. -32000: the server has no say in it (JSON-RPC 2.0, 5.1).
export function failure(id, message) {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code: -32000, message })}}`;
}
