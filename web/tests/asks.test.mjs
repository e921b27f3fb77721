import assert from "node:assert/strict";
import test from "node:test";

globalThis.HTMLElement = class {};
const { Asks, waits } = await import("../view-asks.js");

test("how many calls wait is said in words", () => {
  assert.equal(waits(1), "1 call waits for an approval.");
  assert.equal(waits(2), "2 calls wait for an approval.");
});

test("what an older agent does not tell is nothing", () => {
  const asks = new Asks();
  assert.deepEqual(asks.pick({}), { count: 0, asks: [] });
  assert.deepEqual(asks.pick({ agent: { pending_asks: 2 } }), { count: 2, asks: [] });
});
