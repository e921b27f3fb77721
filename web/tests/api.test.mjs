import assert from "node:assert/strict";
import test from "node:test";
import { anew, call } from "../api.js";

// Requests that are answered when the test says so.
const asked = [];
globalThis.fetch = () => new Promise((answer) => {
  asked.push((result) => answer({ status: 200, json: async () => ({ result }) }));
});

test("cards that read the same at the same time share one request", async () => {
  const both = [call("a.b"), call("a.b"), call("a.b", { other: 1 })];
  assert.equal(asked.length, 2);
  asked.splice(0).forEach((answer, n) => answer(n));
  assert.deepEqual(await Promise.all(both), [0, 0, 1]);
  const later = call("a.b");
  assert.equal(asked.length, 1, "what was answered is asked again");
  asked.shift()("later");
  assert.equal(await later, "later");
});

test("what was asked before a change is not the answer after it", async () => {
  const before = call("a.b");
  anew();
  const after = call("a.b");
  assert.equal(asked.length, 2);
  const [first, second] = asked.splice(0);
  first("old");
  assert.equal(await before, "old");
  // The end of the older one leaves the newer one to be shared.
  const shared = call("a.b");
  assert.equal(asked.length, 0);
  second("new");
  assert.deepEqual(await Promise.all([after, shared]), ["new", "new"]);
});
