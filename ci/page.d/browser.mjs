// A browser before the page, with ears for what must not happen: policy violations, errors, requests to other places.
import { createRequire } from "node:module";

const modules = createRequire(`${process.env.PAGE_MODULES}/`);
const { chromium } = modules("playwright-core");
export const AXE = modules.resolve("axe-core/axe.min.js");

export async function launch() {
  // As root, Chromium has no sandbox.
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: process.env.PAGE_CHROMIUM, args });
}

// A new browser profile and its tab. `faults` collects what must not happen; `requests` what was asked for.
export async function visit(browser, url, options = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  const tab = await context.newPage();
  const faults = [];
  const requests = [];
  tab.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(message.text()));
  tab.on("pageerror", (error) => faults.push(error.message));
  tab.on("request", (request) => {
    requests.push(request.url());
    const place = new URL(request.url());
    if (place.protocol !== "blob:" && place.origin !== new URL(url).origin) faults.push(`a request to ${request.url()}`);
  });
  await tab.goto(url);
  return { context, tab, faults, requests };
}

export async function signIn(tab, token) {
  await tab.getByLabel("Token", { exact: true }).fill(token);
  await tab.getByRole("button", { name: "Sign in" }).click();
}

// Waits until all cards have read their tool.
export async function settled(tab) {
  await tab.waitForFunction(() => {
    const cards = [...document.querySelectorAll("#views > *")];
    return cards.length > 0 && cards.every((card) => card.querySelector(".body")?.childElementCount > 0);
  });
}
