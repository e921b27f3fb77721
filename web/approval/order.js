// The owner's orders in words, and the document that is signed. Pure functions: tested by node.

import { base64url, bytes, fromBase64url, hex, sha256 } from "./protocol.js";

const GRANT = {
  tool: { label: "Tool" },
  pins: { label: "GPIO pins (Broadcom numbers)" },
  devices: { label: "I2C devices" },
  units: { label: "Services" },
  cameras: { label: "Cameras" },
  paths: { label: "Folders, with all below them" },
};
const REACHES = ["pins", "devices", "units", "cameras", "paths"];
const NAME = { label: "Name" };

/** Each operation: its title, what it does, its arguments with their words, and what those that are missing mean. */
export const OPERATIONS = {
  allow: {
    title: "Allow a tool",
    effect: "Callers may use this tool, until you revoke it.",
    args: { ...GRANT, callers: { label: "For these callers alone", none: "everybody with the tool's role" }, ask: { label: "A person approves each call", none: "no" } },
    reach: "what the settings of the device list",
  },
  revoke: {
    title: "Revoke what was allowed",
    effect: "Callers may no longer use it, from now on.",
    args: { ...GRANT, callers: { label: "Of these callers", none: "of everybody" } },
    reach: "all that was allowed for this tool",
  },
  list_grants: { title: "Show what is allowed", effect: "Nothing is changed.", args: {} },
  make_token: {
    title: "Make a token",
    effect: "Whoever has the token may use the device with this role. Its secret is made in this browser and shown once.",
    args: {
      name: NAME,
      role: { label: "Role", words: { read_only: "read_only: reads", ops_rw: "ops_rw: reads and operates", admin: "admin: everything that a token may" } },
      owner: { label: "Owner", none: "nobody in particular" },
      expires: { label: "Expires", none: "never" },
    },
  },
  revoke_token: { title: "Revoke a token", effect: "It counts no longer. What it has open ends at once.", args: { name: NAME } },
  list_tokens: { title: "Show the tokens", effect: "Nothing is changed. Secrets are not kept, so none is shown.", args: {} },
  add_approver: {
    title: "Enrol an approver",
    effect: "Whoever has this key may approve calls. With a passkey or a cli key they may also sign orders as you do now.",
    args: { name: NAME, kind: { label: "Kind of key" }, key: { label: "Public key" }, origin: { label: "Only from this page", none: "any" } },
  },
  revoke_approver: { title: "Revoke an approver", effect: "Their key counts no longer. Without any approver, only the machine's console can approve.", args: { name: NAME } },
  list_approvers: { title: "Show the approvers", effect: "Nothing is changed.", args: {} },
  lift_halt: { title: "Lift the halt", effect: "The device accepts changes again.", args: {} },
};

const MAX_LINK = 8000;

/** The order in a link's fragment; null without one; an error for one that this page could not put into words. */
export function orderIn(fragment) {
  if (!fragment.startsWith("#order=")) return null;
  if (fragment.length > MAX_LINK) throw new Error("this order is too long");
  let order;
  try {
    order = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(fromBase64url(fragment.slice(7))));
  } catch {
    throw new Error("this link holds no order");
  }
  const { operation, args } = order ?? {};
  if (typeof operation !== "string" || !Object.hasOwn(OPERATIONS, operation)) throw new Error(`this page does not know the order ${plain(String(operation))}`);
  if (typeof args !== "object" || args === null || Array.isArray(args)) throw new Error("this order has no arguments");
  for (const [name, value] of Object.entries(args)) {
    if (!Object.hasOwn(OPERATIONS[operation].args, name)) throw new Error(`this page does not know the argument ${plain(name)} of ${operation}`);
    if (![value].flat().every((one) => ["string", "number", "boolean"].includes(typeof one))) throw new Error(`the argument ${name} is not understood`);
  }
  return { operation, args };
}

/** Text with control characters, and those that reorder or hide text, as their numbers. */
export function plain(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}

/** An order in words: { title, effect, rows: [[label, [text]]] }. */
export function describe({ operation, args }) {
  const { title, effect, args: known, reach } = OPERATIONS[operation];
  const rows = Object.entries(known).flatMap(([name, { label, none, words }]) => {
    if (args[name] === undefined) return none ? [[label, [none]]] : [];
    const word = (value) => (words && Object.hasOwn(words, value) ? words[value] : plain(String(value)));
    const texts = [args[name]].flat().map((value) => (value === true ? "yes" : value === false ? "no" : word(value)));
    return [[label, texts]];
  });
  const isWide = reach && REACHES.every((name) => args[name] === undefined);
  return { title, effect, rows: isWide ? [...rows, ["Reaches", [reach]]] : rows };
}

/** How far ahead of this browser's clock the device's may be, in milliseconds: whoever carries an order could keep one that is far ahead. */
const AHEAD_MS = 300_000;

/** The document to sign: exactly these bytes are sent. `nonce`: 32 random bytes; `now`: this browser's time in milliseconds. */
export function orderDocument({ operation, args }, device, nonce, now) {
  if (device.time_ms > now + AHEAD_MS) throw new Error("The device's clock is more than five minutes ahead of this browser's. Set the wrong one right.");
  return JSON.stringify({
    purpose: "raspi-mcp owner 1", device: device.id, boot: device.boot, nonce: base64url(nonce), time_ms: device.time_ms, operation, args,
  });
}

/** A token's secret of 32 random bytes, and its hash, which alone leaves this browser. */
export async function tokenOf(random) {
  const secret = `rmcp_${base64url(random)}`;
  return { secret, sha256: hex(await sha256(bytes(secret))) };
}
