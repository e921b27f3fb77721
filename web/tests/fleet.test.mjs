import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { Device, devicesIn } from "../approval/device.js";
import { Proofs, prove } from "../approval/proofs.js";

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
const id = (letter) => letter.repeat(64);
const device = (name, letter, more) => ({ name, url: `https://${name}.example:8444`, id: id(letter), ...more });

test("a list names each device once, with its address and ID", () => {
  const [porch, shed] = devicesIn([device("porch", "a"), device("shed", "b", { url: "https://192.0.2.7" })]);
  assert.deepEqual([porch.name, porch.url, porch.id, shed.url], ["porch", "https://porch.example:8444", id("a"), "https://192.0.2.7"]);
  const refused = (list, why) => assert.throws(() => devicesIn(list), why, JSON.stringify(list));
  for (const none of [null, {}, "x", [], Array.from({ length: 49 }, (_, n) => device(`d${n}`, "a"))]) refused(none, /1 to 48/);
  refused([device("porch", "a"), null], /device 2 has no name/);
  refused([device(" ", "a")], /no name/);
  for (const bad of [undefined, "", "the device's ID", id("A"), id("a").slice(1), `${id("a")}0`]) refused([device("porch", "a", { id: bad })], /no ID/);
  for (const url of [undefined, "", "porch", "http://porch", "https://porch/", "https://porch/x", "https://PORCH", "https://u@porch", "javascript:0", "https://porch:443"]) {
    refused([device("porch", "a", { url })], /no address/);
  }
  refused([device("porch", "a"), device("porch", "b", { url: "https://other" })], /of another/);
  refused([device("porch", "a"), device("shed", "a")], /of another/);
  refused([device("porch", "a"), device("shed", "b", { url: "https://porch.example:8444" })], /of another/);
});

test("only the device with the ID of the list is asked", async (t) => {
  const answers = [];
  t.mock.method(globalThis, "fetch", async (url) => {
    answers.push(url);
    return Response.json({ id: id("b"), boot: "1", time_ms: 0 });
  });
  const [porch] = devicesIn([device("porch", "a")]);
  await assert.rejects(porch.describe(), { message: /another device than the one in the list/, final: true });
  await assert.rejects(new Device({ id: id("a") }).describe(), /this key was made for/);
  assert.equal((await new Device({ id: id("b") }).describe()).boot, "1");
  assert.deepEqual(answers, ["https://porch.example:8444/approvals/device", "/approvals/device", "/approvals/device"]);
});

const facts = (letter, time_ms = 5) => ({ id: id(letter), boot: "b", time_ms });
const own = ({ id, boot, time_ms }) => sha256(["raspi-mcp list 1", id, boot, String(time_ms)].join("\0"));
const salts = () => {
  let n = 0;
  return () => new Uint8Array(32).fill((n += 1));
};

test("one signature is for all devices, and each is told its own salt alone", async () => {
  const signed = [];
  const sign = async (challenge) => {
    signed.push(Buffer.from(challenge));
    return { key: "k", signature: "s" };
  };
  const two = [facts("a"), facts("b", 7)];
  const proofs = await prove(two, sign, salts());
  const parts = Buffer.concat(two.map((one, at) => sha256(own(one), new Uint8Array(32).fill(at + 1))));
  assert.deepEqual(signed, [sha256("raspi-mcp lists 1", "\0", parts)]);
  const salt = (n) => Buffer.alloc(32, n).toString("base64url");
  assert.deepEqual(proofs, [5, 7].map((time_ms, at) => ({ time_ms, key: "k", signature: "s", parts: parts.toString("base64url"), salt: salt(at + 1) })));
  assert.deepEqual(await prove([facts("a")], sign, salts()), [{ time_ms: 5, key: "k", signature: "s" }]);
  assert.deepEqual(signed[1], own(facts("a")), "for one alone nothing is added");
});

// Devices that answer, and those that do not.
const fleet = (...letters) => letters.map((letter) => ({
  describe: async () => (letter ? facts(letter) : Promise.reject(new Error("away"))),
}));

test("a proof is used until it is old, its device was started anew, or it has none", async () => {
  const devices = fleet("a", "b", null);
  let signatures = 0;
  const proofs = new Proofs(devices, async () => ({ signature: String((signatures += 1)) }));
  const [one, other] = await Promise.all([proofs.of(devices[0], facts("a")), proofs.of(devices[1], facts("b"))]);
  assert.deepEqual([signatures, one.signature, other.signature], [1, "1", "1"]);
  assert.notEqual(one.salt, other.salt);
  assert.equal(await proofs.of(devices[0], facts("a", 240_004)), one);
  await proofs.of(devices[0], facts("a", 240_005));
  assert.equal(signatures, 2);
  await proofs.of(devices[1], { ...facts("b"), boot: "c" });
  assert.equal(signatures, 3);
  await proofs.of(devices[2], facts("c"));
  assert.equal(signatures, 4, "it came later");
});

test("who declines to sign is not asked again and again", async () => {
  const [only] = fleet("a");
  const proofs = new Proofs([only], async () => Promise.reject(new Error("declined")));
  await assert.rejects(proofs.of(only, facts("a")), { message: "Nothing was signed: declined", final: true });
});
