import assert from "node:assert/strict";
import test from "node:test";
import { extent, lines } from "../chart.js";

const window = { from: 0, to: 300, low: 0, high: 44, gap: 60 };

test("points go from left to right, high values at the top", () => {
  assert.deepEqual(lines([[0, 0], [50, 44]], window), ["0.0,46.0 50.0,2.0"]);
});

test("a gap breaks the line, and a lone point is still drawn", () => {
  assert.deepEqual(lines([[0, 0], [50, 0], [200, 0]], window), ["0.0,46.0 50.0,46.0", "200.0,46.0 200.0,46.0"]);
  assert.deepEqual(lines([], window), []);
});

test("values that are all the same are a flat line", () => {
  const { low, high } = extent([[0, 5], [1, 5]]);
  assert.deepEqual([low, high], [5, 5]);
  assert.deepEqual(lines([[0, 5], [1, 5]], { ...window, low, high }), ["0.0,46.0 1.0,46.0"]);
});

test("a thousand samples take little of a frame", () => {
  const series = Array.from({ length: 1000 }, (_, n) => [n, Math.sin(n / 20)]);
  // The best of some: other programs may have the processor now and then.
  let [best, points] = [Infinity, ""];
  for (let round = 0; round < 10; round += 1) {
    const started = performance.now();
    [points] = lines(series, { from: 0, to: 999, ...extent(series), gap: 2 });
    best = Math.min(best, performance.now() - started);
  }
  assert.ok(best < 8, `${best} ms`);
  assert.equal(points.split(" ").length, 1000);
});
