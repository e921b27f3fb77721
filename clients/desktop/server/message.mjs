// What the extension has to know of a message to pass it on: its id, and what the headers of newer revisions of MCP repeat.

const NAMED = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" };

// A message of the client, or null if it is not a JSON object: those are passed on as they are, and the server says what is wrong.
export function read(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return null;
  }
  if (message === null || typeof message !== "object" || Array.isArray(message)) return null;
  const { id, method, params } = message;
  return { id: typeof method === "string" ? id : undefined, method, uri: params?.uri, headers: headersOf(method, params) };
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

// The answer to the request `id` in this text, or null. An error without an id (refused unread) gets the request's.
export function answerTo(id, text) {
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    return null;
  }
  if (answer === null || typeof answer !== "object" || answer.method !== undefined) return null;
  if (answer.id === undefined || answer.id === null) return answer.error ? { jsonrpc: "2.0", id, error: answer.error } : null;
  return answer.id === id ? answer : null;
}

// The error that a client gets when the server could not be asked. -32000: the server has no say in it (JSON-RPC 2.0, 5.1).
export function failure(id, message) {
  return { jsonrpc: "2.0", id, error: { code: -32000, message } };
}
