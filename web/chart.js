// One series as a line: no library, one polyline for each part without a gap.

import { svg } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 48;

// The points of each part, as polylines take them. `series` is [[milliseconds, value]], in order; more than `gap`
// milliseconds between two is a gap.
export function lines(series, { from, to, low, high, gap }) {
  const parts = [];
  let last = -Infinity;
  const range = high > low ? high - low : 1;
  for (const [time, value] of series) {
    const x = (WIDTH * (time - from)) / Math.max(1, to - from);
    const y = HEIGHT - 2 - ((HEIGHT - 4) * (value - low)) / range;
    if (time - last > gap) parts.push([]);
    parts[parts.length - 1].push(`${x.toFixed(1)},${y.toFixed(1)}`);
    last = time;
  }
  return parts.map((part) => (part.length > 1 ? part.join(" ") : `${part[0]} ${part[0]}`));
}

export function extent(series) {
  let [low, high] = [Infinity, -Infinity];
  for (const [, value] of series) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return { low, high };
}

export function chart(label, series, window) {
  const drawn = lines(series, window).map((points) => svg("polyline", { points }));
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label, class: "chart" }, drawn);
}
