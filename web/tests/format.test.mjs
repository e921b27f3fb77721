import assert from "node:assert/strict";
import test from "node:test";
import { bytes, clock, duration, fields, percent, share } from "../format.js";

test("bytes have the unit that fits", () => {
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(1023), "1023 B");
  assert.equal(bytes(1536), "1.5 KiB");
  assert.equal(bytes(8 * 2 ** 30), "8.0 GiB");
  assert.equal(bytes(2 ** 60), "1048576 TiB");
  assert.equal(bytes(undefined), "–");
});

test("shares of nothing are unknown", () => {
  assert.equal(share(1, 3), "33 %");
  assert.equal(share(1, 0), "–");
  assert.equal(percent(NaN), "–");
});

test("fields of a line are name and value", () => {
  assert.equal(fields({ principal: "page:a", count: 2 }), "principal=page:a count=2");
  assert.equal(fields(undefined), "");
});

test("a duration has two units at most", () => {
  assert.equal(duration(0.4), "0 s");
  assert.equal(duration(59), "59 s");
  assert.equal(duration(61), "1 min 1 s");
  assert.equal(duration(3600), "1 h");
  assert.equal(duration(90061), "1 d 1 h");
  assert.equal(duration(NaN), "–");
});

test("a time of another day has its date", () => {
  const now = new Date("2026-11-25T12:00:00Z");
  assert.equal(clock("nothing", now), "–");
  assert.ok(clock("2025-11-25T12:00:00Z", now).length > clock("2026-11-25T12:00:00Z", now).length);
});
