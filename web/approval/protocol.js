// The bytes that are signed, as docs/approvals.md describes them. Pure functions: tested by node.

const utf8 = new TextEncoder();

export const bytes = (text) => utf8.encode(text);

export function join(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export async function sha256(data) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", data));
}

export const hex = (data) => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");

export function base64url(data) {
  return btoa(String.fromCharCode(...data)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function fromBase64url(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}

const ZERO = new Uint8Array(1);

/** What an answer signs. */
export async function challenge(decision, document) {
  return sha256(join(bytes("raspi-mcp answer 1"), ZERO, bytes(decision), ZERO, await sha256(bytes(document))));
}

/** What an order of the owner signs. */
export async function orderChallenge(document) {
  return sha256(join(bytes("raspi-mcp owner 1"), ZERO, await sha256(bytes(document))));
}

/** What a request for the list signs. */
export async function listChallenge(device) {
  const parts = ["raspi-mcp list 1", device.id, device.boot, String(device.time_ms)];
  return sha256(bytes(parts.join("\0")));
}

/** A device's part of a signature for the lists of many devices, and what is signed over all parts. */
export const listPart = (challenge, salt) => sha256(join(challenge, salt));
export const listsChallenge = (parts) => sha256(join(bytes("raspi-mcp lists 1"), ZERO, parts));

/** The ask inside a signed one, if this device signed it; else an error. */
export async function open(signed, device) {
  const spki = fromBase64url(signed.key);
  if (hex(await sha256(spki)) !== device) throw new Error("another device signed this request");
  const key = await crypto.subtle.importKey("spki", spki, "Ed25519", false, ["verify"]);
  const message = join(bytes("raspi-mcp ask 1"), ZERO, bytes(signed.document));
  if (!(await crypto.subtle.verify("Ed25519", key, fromBase64url(signed.signature), message))) {
    throw new Error("the signature of this request is wrong");
  }
  const ask = JSON.parse(signed.document);
  if (ask.purpose !== "raspi-mcp ask 1" || ask.device !== device) throw new Error("this was signed for something else");
  return ask;
}
