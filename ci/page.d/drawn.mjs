// How long a chart of a thousand samples takes in the browser, by the page's own modules and style.
import { readFile } from "node:fs/promises";

const web = new URL("../../web/", import.meta.url);
// As web/bundle.rs joins them.
const source = async (name) => (await readFile(new URL(name, web), "utf8")).replaceAll(/^import .*$/gm, "").replaceAll(/^export /gm, "");

/** The best of some rounds, in milliseconds: `script` until the chart is laid out, `frame` until the frame after it begins. */
export async function drawn(context) {
  const tab = await context.newPage();
  await tab.addStyleTag({ content: await readFile(new URL("style.css", web), "utf8") });
  const modules = `${await source("dom.js")}${await source("chart.js")}`;
  await tab.addScriptTag({ content: `${modules}\nwindow.chart = chart; window.extent = extent;` });
  const times = await tab.evaluate(async () => {
    const nextFrame = () => new Promise((begun) => requestAnimationFrame(begun));
    const found = [];
    for (let round = 0; round < 10; round += 1) {
      const series = Array.from({ length: 1000 }, (_, n) => [n, 50 + 40 * Math.sin(n / 20 + round) + (n % 7)]);
      await nextFrame();
      const started = performance.now();
      const drawn = window.chart("Load", series, { from: 0, to: 999, ...window.extent(series), gap: 2 });
      document.body.replaceChildren(drawn);
      drawn.getBoundingClientRect();
      const script = performance.now() - started;
      await nextFrame();
      found.push([script, performance.now() - started]);
    }
    if (document.querySelector("polyline").points.length !== 1000) throw new Error("not all of them are drawn");
    return found;
  });
  await context.close();
  const best = (at) => Math.min(...times.map((one) => one[at])).toFixed(1);
  return { script: Number(best(0)), frame: Number(best(1)) };
}
