// The page in Chromium: story.mjs URL [FOLDER]. PAGE_ADMIN, PAGE_READER: tokens; PAGE_SERVER: the process that serves it, from
// PAGE_PROGRAM and PAGE_CONFIG. Screenshots go to FOLDER.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { AXE, launch, settled, signIn, visit } from "./browser.mjs";
import { check, hasFailed } from "./check.mjs";

const [url, shots] = process.argv.slice(2);
const { PAGE_ADMIN: admin, PAGE_READER: reader } = process.env;
const home = new URL("/", url).href;
const browser = await launch();

// A program's call, as a model would make it.
async function call(method, params) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${admin}` };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await (await fetch(new URL("/api/mcp", url), { method: "POST", headers, body })).json();
  assert.ok(answer.result, JSON.stringify(answer.error));
  return answer.result;
}

await call("metrics.start_sampling_job", { interval_seconds: 5, job_id: "story" });

await check("a wrong token is refused, and says so", async () => {
  const { tab, faults, context } = await visit(browser, home);
  await signIn(tab, "rmcp_wrong");
  await tab.getByRole("alert").filter({ hasText: "no token of this server" }).waitFor();
  assert.equal(await tab.locator("#views > *").count(), 0);
  // The browser itself logs the 401, and nothing else.
  assert.deepEqual(faults.filter((fault) => !fault.includes("401")), []);
  await context.close();
});

const { context, tab, faults, requests } = await visit(browser, home);

await check("the page is five requests at most", async () => {
  const files = requests.filter((asked) => !asked.includes("/page/session"));
  assert.ok(files.length <= 5, files.join("\n"));
  return files.map((asked) => new URL(asked).pathname).join(" ");
});

await check("signing in by keyboard alone", async () => {
  // The field gets the focus as soon as the page knows that nobody is signed in.
  await tab.locator("#token:focus").waitFor();
  await tab.keyboard.type(admin);
  await tab.keyboard.press("Enter");
  await settled(tab);
  await tab.locator("#state").filter({ hasText: "live" }).waitFor();
});

// Without a session the rest would only wait.
if (hasFailed()) process.exit(1);

const HEADINGS = [
  "Problems", "Waiting for a person", "Halt", "Slots and update", "Header", "Newest photo", "Machine", "Samples", "Services",
  "Log of the server", "Audit", "Callers", "What is allowed", "Tokens", "Backup",
];
await check("every view is there, in this order", async () => {
  assert.deepEqual(await tab.locator("h2:visible").allTextContents(), HEADINGS);
  const text = async (name) => tab.locator(name).innerText();
  assert.match(await text("rm-slots"), /Slot A/);
  assert.match(await text("rm-tokens"), /reader/);
  assert.match(await text("rm-callers"), /Connected now:.*token:story/);
  assert.match(await text("rm-audit"), /metrics\.start_sampling_job/);
  assert.match(await text("rm-machine, rm-health"), /Memory/);
  assert.match(await text("rm-pins"), /GPIO17/);
});

await check("a pin that a program drives is seen within 500 ms, five times over", async () => {
  const name = tab.locator("rm-pins td", { hasText: "GPIO17" }).locator("span");
  const times = [];
  for (const value of ["high", "low", "high", "low", "high"]) {
    const seen = name.filter({ hasText: `out ${value}` }).waitFor({ timeout: 5000 });
    const started = performance.now();
    await call("gpio.write_pin", { pin: 17, value });
    await seen;
    times.push(Math.round(performance.now() - started));
  }
  assert.ok(Math.max(...times) < 500, times.join(" ms, "));
  return `${times.join(", ")} ms`;
});

await check("a photo is taken and shown", async () => {
  await tab.getByRole("button", { name: "Take a photo" }).click();
  const image = tab.locator("rm-photo img");
  await image.waitFor();
  await tab.waitForFunction(() => document.querySelector("rm-photo img")?.naturalWidth > 0);
  return `${await image.evaluate((node) => node.naturalWidth)} pixels wide`;
});

await check("a photo that a program takes replaces it", async () => {
  const before = await tab.locator("rm-photo img").getAttribute("src");
  await call("camera.take_photo", { resolution: "640x480" });
  await tab.waitForFunction((old) => document.querySelector("rm-photo img")?.getAttribute("src") !== old, before);
});

await check("a chart has the samples of the job", async () => {
  await tab.locator("rm-samples polyline").first().waitFor({ state: "attached", timeout: 30000 });
});

await check("names that others chose stay text", async () => {
  const evil = "<img src=x onerror=alert(1)>";
  const before = faults.length;
  const headers = { "content-type": "application/json", authorization: `Bearer ${admin}` };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "service.get_status", params: { service_name: evil } });
  await fetch(new URL("/api/mcp", url), { method: "POST", headers, body });
  await tab.locator("rm-audit li", { hasText: "service.get_status" }).first().waitFor();
  assert.equal(await tab.locator("rm-audit img").count(), 0);
  assert.equal(faults.length, before);
});

await check("the cookie is of no use at the doors of programs, and script cannot see it", async () => {
  const [cookie] = await context.cookies();
  assert.deepEqual([cookie.name, cookie.httpOnly, cookie.secure, cookie.sameSite, cookie.path], ["__Host-raspi-mcp", true, true, "Strict", "/"]);
  assert.equal(await tab.evaluate(() => document.cookie), "");
  for (const path of ["/mcp", "/api/mcp", "/ws", "/metrics"]) {
    const answer = await context.request.fetch(new URL(path, url).href, { method: path === "/mcp" || path === "/api/mcp" ? "POST" : "GET", data: { jsonrpc: "2.0", id: 1, method: "system.get_clock", params: {} } });
    assert.equal(answer.status(), 401, path);
  }
});

await check("a page of another origin cannot call", async () => {
  const other = await browser.newContext({ ignoreHTTPSErrors: true });
  // The same machine under another name is another origin; the browser sends what it sends from there.
  const elsewhere = await other.newPage();
  await elsewhere.goto(home.replace("127.0.0.1", "localhost"));
  const outcome = await elsewhere.evaluate(async (target) => {
    try {
      return (await fetch(target, { method: "POST", credentials: "include", headers: { "content-type": "application/json" }, body: "{}" })).status;
    } catch (error) {
      return error.name;
    }
  }, new URL("/page/call", home).href);
  assert.ok(outcome === "TypeError" || outcome === 403, String(outcome));
  await other.close();
});

await check("no violation of the policy, no error, no request elsewhere", async () => {
  assert.deepEqual(faults, []);
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [320, 768, 1280]) {
    await check(`axe-core finds nothing: ${colorScheme}, ${width} px`, async () => {
      await tab.emulateMedia({ colorScheme });
      await tab.setViewportSize({ width, height: 900 });
      // By the debugger, which the page's policy does not bind.
      await tab.evaluate(() => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
      if (!(await tab.evaluate(() => "axe" in window))) await tab.evaluate(await readFile(AXE, "utf8"));
      const { violations } = await tab.evaluate(() => window.axe.run());
      assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`), []);
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(wide <= 0, `${wide} px too wide`);
      await tab.evaluate(() => document.querySelectorAll("details").forEach((part) => { part.open = false; }));
      if (shots) await tab.screenshot({ path: `${shots}/${colorScheme}-${width}.png` });
    });
  }
}

await check("signing out ends the session and its events", async () => {
  await tab.getByRole("button", { name: "Sign out" }).click();
  await tab.getByLabel("Token", { exact: true }).waitFor();
  assert.equal((await context.cookies()).length, 0);
});

await check("a reader sees what a reader may, and why not more", async () => {
  await signIn(tab, reader);
  await settled(tab);
  assert.match(await tab.locator("rm-photo").innerText(), /role|ops_rw/);
  assert.match(await tab.locator("rm-audit").innerText(), /your own calls|an admin sees all/);
});

await check("a page that is left open over a restart of the server asks to sign in again, and works", async () => {
  process.kill(Number(process.env.PAGE_SERVER), "SIGTERM");
  await tab.locator("#state").filter({ hasText: "not connected" }).waitFor();
  const { hostname, port } = new URL(url);
  const again = spawn(process.env.PAGE_PROGRAM, ["serve", "--http", `${hostname}:${port}`, "--config", process.env.PAGE_CONFIG], { stdio: "ignore" });
  try {
    await tab.locator("#refused").filter({ hasText: "The session has ended." }).waitFor();
    await signIn(tab, reader);
    await settled(tab);
    await tab.locator("#state").filter({ hasText: "live" }).waitFor();
  } finally {
    again.kill();
  }
});

await browser.close();
process.exit(hasFailed() ? 1 : 0);
