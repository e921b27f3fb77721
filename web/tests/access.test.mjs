import assert from "node:assert/strict";
import test from "node:test";

// Cards are elements: only what they are made from has to exist for their functions to be imported.
globalThis.HTMLElement = class {};
const { callers, worth } = await import("../view-access.js");

test("of this page's own calls only changes and refusals are worth a line", () => {
  assert.ok(!worth({ principal: "page:a", outcome: "ok" }, "page:a"));
  assert.ok(worth({ principal: "page:a", outcome: "ok", changed: true }, "page:a"));
  assert.ok(worth({ principal: "page:a", outcome: "permission_denied" }, "page:a"));
  assert.ok(worth({ principal: "token:a", outcome: "ok" }, "page:a"));
});

test("each caller is there once, with its newest call", () => {
  const of = (principal, seq) => ({ principal, seq });
  assert.deepEqual(callers([of("a", 3), of("b", 2), of("a", 1)]), [of("a", 3), of("b", 2)]);
});
