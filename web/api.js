// What the page asks of its server: one session, calls of tools, and events that say what to read again.

// An answer that is a refusal: what, and what to do next.
export class Refusal extends Error {
  constructor(error) {
    super(error.message ?? "the server refused without a reason");
    this.code = error.data?.error_code ?? "";
    this.hint = error.data?.hint ?? "";
  }
}

// Dispatches "over" when the server no longer knows the session.
export const session = new EventTarget();

async function answered(response) {
  const body = await response.json();
  if (response.status === 401) session.dispatchEvent(new Event("over"));
  if (body.error) throw new Refusal(body.error);
  return body;
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, credentials: "same-origin", cache: "no-store", redirect: "error" });
  } catch {
    throw new Refusal({ message: "the machine does not answer", data: { hint: "is it on, and is this device in its network?" } });
  }
  return answered(response);
}

export function whoAmI() {
  return send("/page/session", {});
}

// Without a token it works where the server asks for none, on its own machine.
export async function signIn(token) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch("/page/session", { method: "POST", headers, credentials: "same-origin", cache: "no-store" });
  const body = await response.json();
  if (body.error) throw new Refusal(body.error);
  return body;
}

export function signOut() {
  return send("/page/session", { method: "DELETE" });
}

let lastId = 0;
const underWay = new Map();

// Something has changed: what is under way was asked before, and its answer may not know of it.
export function anew() {
  underWay.clear();
}

// The result of one tool. What was asked since the last change and is under way is not sent twice.
export function call(method, params = {}) {
  const key = `${method} ${JSON.stringify(params)}`;
  if (!underWay.has(key)) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++lastId, method, params });
    const headers = { "Content-Type": "application/json" };
    const answer = send("/page/call", { method: "POST", headers, body }).then((reply) => reply.result);
    const shared = answer.finally(() => underWay.get(key) === shared && underWay.delete(key));
    underWay.set(key, shared);
  }
  return underWay.get(key);
}
