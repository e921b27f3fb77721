import assert from "node:assert/strict";
import test from "node:test";

globalThis.HTMLElement = class {};
const { savedText } = await import("../view-owner.js");

test("what was left out of the settings is said", () => {
  assert.equal(savedText([]), "Saved. Nothing was left out.");
  assert.equal(savedText(["access.tokens", "agents"]), "Saved. Not in it, since it is secret: access.tokens, agents.");
});
