import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { OPERATIONS, describe, orderDocument, orderIn, plain, tokenOf } from "../approval/order.js";
import { challenge, orderChallenge } from "../approval/protocol.js";
import { orderLink } from "../order.js";

const fragment = (order) => `#order=${Buffer.from(JSON.stringify(order)).toString("base64url")}`;
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
const device = { id: "ab".repeat(32), boot: "b1", time_ms: 1_764_000_000_000, key: "" };

test("what the page links to, the approval page reads", () => {
  const order = { operation: "allow", args: { tool: "gpio.write_pin", pins: [17], callers: ["token:Küche"], ask: true } };
  assert.deepEqual(orderIn(new URL(orderLink("https://pi:8444/", order.operation, order.args)).hash), order);
  assert.equal(orderIn(""), null);
  assert.equal(orderIn("#ask=x"), null);
});

test("what cannot be put into words is not signed", () => {
  const refused = (order, why) => assert.throws(() => orderIn(typeof order === "string" ? order : fragment(order)), why, JSON.stringify(order));
  refused("#order=%%%", /no order/);
  refused("#order=eyI", /no order/);
  refused(`#order=${Buffer.from([0x22, 0xff, 0x22]).toString("base64url")}`, /no order/);
  refused(`#order=${"A".repeat(9000)}`, /too long/);
  for (const order of [null, 7, [], {}, { operation: "__proto__", args: {} }, { operation: "toString", args: {} }, { operation: "reset", args: {} }]) refused(order, /does not know the order/);
  for (const args of [undefined, null, [], "x"]) refused({ operation: "lift_halt", args }, /no arguments/);
  refused({ operation: "lift_halt", args: { extra: 1 } }, /extra/);
  refused({ operation: "allow", args: { tool: "a.b", constructor: 1 } }, /constructor/);
  refused({ operation: "allow", args: { tool: { a: 1 } } }, /not understood/);
  refused({ operation: "allow", args: { tool: "a.b", pins: [[17]] } }, /not understood/);
  refused({ operation: "allow", args: { tool: null } }, /not understood/);
  // Whoever makes the link must not know the secret of the token.
  refused({ operation: "make_token", args: { name: "a", role: "admin", sha256: "00" } }, /sha256/);
});

test("every operation says what it is, and every argument is shown", () => {
  for (const [operation, { args }] of Object.entries(OPERATIONS)) {
    const given = Object.fromEntries(Object.keys(args).map((name) => [name, `value of ${name}`]));
    const { title, effect, rows } = describe({ operation, args: given });
    assert.ok(title.length > 4 && effect.length > 10, operation);
    assert.deepEqual(rows.map(([, texts]) => texts), Object.keys(args).map((name) => [`value of ${name}`]));
  }
});

test("what is left out is said as well", () => {
  const text = (operation, args) => describe({ operation, args }).rows.map(([label, texts]) => `${label}: ${texts.join(" | ")}`);
  assert.deepEqual(text("allow", { tool: "system.reboot" }),
    ["Tool: system.reboot", "For these callers alone: everybody with the tool's role", "A person approves each call: no", "Reaches: what the settings of the device list"]);
  assert.deepEqual(text("revoke", { tool: "gpio.write_pin", pins: [4, 17] }), ["Tool: gpio.write_pin", "GPIO pins (Broadcom numbers): 4 | 17", "Of these callers: of everybody"]);
  assert.deepEqual(text("make_token", { name: "a, b", role: "admin" }),
    ["Name: a, b", "Role: admin: everything that a token may", "Owner: nobody in particular", "Expires: never"]);
  assert.deepEqual(text("make_token", { name: "x", role: "constructor" })[1], "Role: constructor");
});

test("text that hides or reorders is shown as what it is", () => {
  assert.equal(plain("a\u202eb\u200bc\nd\u0000"), "a\\u{202e}b\\u{200b}c\\u{a}d\\u{0}");
  assert.equal(plain("<b>Küche 🍓</b>"), "<b>Küche 🍓</b>");
});

test("the document holds the device, its start, its time, the nonce and the order", () => {
  const nonce = Uint8Array.from({ length: 32 }, (_, n) => n);
  const order = { operation: "revoke_token", args: { name: "x" } };
  const text = orderDocument(order, device, nonce, device.time_ms - 300_000);
  assert.deepEqual(JSON.parse(text), {
    purpose: "raspi-mcp owner 1", device: device.id, boot: "b1", nonce: Buffer.from(nonce).toString("base64url"), time_ms: device.time_ms,
    ...order,
  });
  // The time comes from whoever carries the order.
  assert.throws(() => orderDocument(order, device, nonce, device.time_ms - 300_001), /five minutes ahead/);
});

test("what is signed is the hash of exactly these bytes, under a purpose of its own", async () => {
  const text = '{"purpose":"raspi-mcp owner 1","args":{"name":"Küche"}}';
  const expected = sha256("raspi-mcp owner 1", "\0", sha256(text));
  assert.deepEqual(Buffer.from(await orderChallenge(text)), expected);
  assert.notDeepEqual(Buffer.from(await challenge("approve", text)), expected);
});

test("only the hash of a token leaves the browser", async () => {
  const { secret, sha256: hash } = await tokenOf(new Uint8Array(32).fill(7));
  assert.equal(secret, `rmcp_${Buffer.alloc(32, 7).toString("base64url")}`);
  assert.equal(hash, sha256(secret).toString("hex"));
});
