// What the owner decides, on the page: calls that wait, grants, tokens, the halt; and what the page must bear: hostile names, an update
// that goes back, many samples. owner.mjs URL SHOTS, with the settings that ci/parts/page writes; PAGE_* as for story.mjs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { launch, settled, signIn, visit } from "./browser.mjs";
import { check, hasFailed } from "./check.mjs";
import { drawn } from "./drawn.mjs";

const [url, shots] = process.argv.slice(2);
const { PAGE_ADMIN: admin, PAGE_READER: reader, PAGE_PROGRAM: program, PAGE_CONFIG: config } = process.env;
const home = new URL("/", url).href;
const browser = await launch();

// A program's call, as a model would make it; the answer, whatever it is.
async function call(method, params) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${admin}` };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return (await fetch(new URL("/api/mcp", url), { method: "POST", headers, body })).json();
}
const run = async (...args) => (await promisify(execFile)(program, [...args, "--config", config])).stdout;
const order = (link) => JSON.parse(Buffer.from(link.split("#order=")[1], "base64url").toString());

const { tab, faults } = await visit(browser, home);
await signIn(tab, admin);
await settled(tab);
const card = (name) => tab.locator(`rm-${name}`);
const nothingWaits = card("asks").filter({ hasText: "No call waits" });

// Opens an ask; how long it took until the open page showed it, in milliseconds.
async function asks(duty) {
  await nothingWaits.waitFor();
  const seen = card("asks").locator("li", { hasText: "gpio.set_pwm" }).waitFor({ timeout: 5000 });
  const started = performance.now();
  const answer = await call("gpio.set_pwm", { pin: 18, frequency_hz: 100, duty_cycle_percent: duty });
  assert.ok(answer.error?.data?.details?.ask_id, JSON.stringify(answer));
  await seen;
  return Math.round(performance.now() - started);
}

let opened = 0;
await check("a call that waits is on the open page within a second: who, what, until when, and where to answer", async () => {
  const took = await asks(50);
  opened = Date.now();
  assert.ok(took < 1000, `${took} ms`);
  const text = await card("asks").innerText();
  for (const part of ["1 call waits", "token:story asks for gpio.set_pwm", "by token:story", "until "]) assert.ok(text.includes(part), text);
  const link = card("asks").getByRole("link", { name: "Answer on the approval page" });
  assert.equal(await link.getAttribute("href"), "https://127.0.0.1:8444/");
  if (shots) await card("asks").screenshot({ path: `${shots}/asks.png` });
  return `${took} ms`;
});

await check("who is no admin sees that something waits, and not what", async () => {
  const { tab: other, context } = await visit(browser, home);
  await signIn(other, reader);
  await settled(other);
  const text = await other.locator("rm-asks").innerText();
  assert.ok(text.includes("1 call waits") && text.includes("An admin sees") && !text.includes("set_pwm"), text);
  await context.close();
});

await check("what is allowed is shown; allowing and revoking are links to the approval page, and commands", async () => {
  const grants = card("grants");
  assert.match(await grants.innerText(), /gpio\.read_pin\s+GPIO pins: 17\s+for token:reader/);
  await grants.getByText("Allow a tool").click();
  await grants.getByLabel("Tool").fill("gpio.write_pin");
  await grants.getByLabel("GPIO pins").fill("22, 27");
  await grants.getByLabel("Ask a person each time").check();
  await grants.getByRole("button", { name: "Prepare" }).click();
  const link = grants.getByRole("status").getByRole("link");
  const href = await link.getAttribute("href");
  assert.ok(href.startsWith("https://127.0.0.1:8444/#order="), href);
  assert.deepEqual(order(href), { operation: "allow", args: { tool: "gpio.write_pin", pins: [22, 27], ask: true } });
  assert.ok((await grants.innerText()).includes("raspi-mcp allow gpio.write_pin --pin 22 --pin 27 --ask"));
  if (shots) await grants.screenshot({ path: `${shots}/grants.png` });
  const revoke = grants.locator("li", { hasText: "gpio.read_pin" });
  await revoke.getByText("Revoke", { exact: true }).click();
  assert.deepEqual(order(await revoke.getByRole("link").getAttribute("href")), { operation: "revoke", args: { tool: "gpio.read_pin", pins: [17], callers: ["token:reader"] } });
});

await check("tokens are shown; making one is an order without a secret, which this page never sees", async () => {
  const tokens = card("tokens");
  await tokens.getByText("Make a token").click();
  await tokens.getByLabel("Name").fill("laptop");
  await tokens.getByLabel("Role").selectOption("ops_rw");
  await tokens.getByRole("button", { name: "Prepare" }).click();
  const link = await tokens.getByRole("status").getByRole("link").getAttribute("href");
  assert.deepEqual(order(link), { operation: "make_token", args: { name: "laptop", role: "ops_rw" } });
  const reading = tokens.locator("li", { hasText: "reader" });
  await reading.getByText("Revoke", { exact: true }).click();
  assert.deepEqual(order(await reading.getByRole("link").getAttribute("href")), { operation: "revoke_token", args: { name: "reader" } });
});

await check("names that others chose stay text on every view", async () => {
  const evil = "<img src=x onerror=alert(1)>";
  const { tab: other, context, faults: wrong } = await visit(browser, home);
  // Every text that the server sends, but those that the page reads as numbers, times or pictures.
  await other.addInitScript((text) => {
    const kept = /time|_at$|^at$|since|until|image_data|format|resolution|^mode$|^value$|job_id|listen|^page$/;
    const hostile = (value, key) => {
      if (Array.isArray(value)) return value.map((one) => hostile(one, key));
      if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hostile(one, name)]));
      return typeof value === "string" && !kept.test(key) ? `${value}${text}` : value;
    };
    const real = window.fetch;
    window.fetch = async (path, options) => {
      const response = await real(path, options);
      if (path !== "/page/call") return response;
      const { result, error } = await response.json();
      if (result?.config_faults) Object.assign(result, { config_faults: ["a fault"], halted: { by: "somebody", how: "somehow", since: result.started_at } });
      return new Response(JSON.stringify({ result: hostile(result, ""), error: hostile(error, "") }), { status: response.status });
    };
  }, evil);
  await other.reload();
  await signIn(other, admin);
  await settled(other);
  // This view says what others chose after a click.
  const backup = other.locator("rm-backup");
  await backup.getByRole("button", { name: "Download the settings" }).click();
  await backup.filter({ hasText: evil }).waitFor();
  const without = await other.locator("#views > *").evaluateAll((cards, text) => cards.filter((one) => !one.textContent.includes(text)).map((one) => one.localName), evil);
  // These show numbers and times alone.
  assert.deepEqual(without.filter((name) => !["rm-samples", "rm-photo"].includes(name)), []);
  assert.equal(await other.locator("#views > :not(rm-photo) img, header img").count(), 0);
  await other.locator("#name").filter({ hasText: evil }).waitFor();
  await other.locator("#about").filter({ hasText: evil }).waitFor();
  assert.ok((await other.title()).includes(evil));
  assert.deepEqual(wrong, []);
  await context.close();
});

await check("the page stays open over an update that goes back, and says why it did", async () => {
  const answer = await call("manage.update_server", {});
  assert.equal(answer.result?.new_version, "1.1.0", JSON.stringify(answer));
  const slots = card("slots");
  await slots.getByText("on trial").waitFor({ timeout: 60000 });
  await slots.getByText("its server does not start").first().waitFor({ timeout: 90000 });
  await card("problems").getByText("1.1.0 was rolled back").waitFor();
  await tab.locator("#state").filter({ hasText: "live" }).waitFor();
  if (shots) await slots.screenshot({ path: `${shots}/rolled-back.png` });
});

await check("an ask that nobody answered leaves the page when it expires", async () => {
  await nothingWaits.waitFor({ timeout: Math.max(5000, opened + 32000 - Date.now()) });
});

await check("an admin halts the machine on the page, and everybody sees it; the person at the machine lifts it", async () => {
  await asks(25);
  const halt = card("halt");
  await halt.getByText("Halt this machine").click();
  await halt.getByLabel("Why, in one line").fill("<b>the pump leaks</b>");
  await halt.getByRole("button", { name: "Halt: refuse every change" }).click();
  await halt.getByText("<b>the pump leaks</b>").waitFor();
  await nothingWaits.waitFor({ timeout: 1500 });
  await card("problems").getByText("the machine is halted").waitFor();
  const refused = await call("gpio.write_pin", { pin: 17, value: "high" });
  assert.equal(refused.error?.data?.details?.halted, true, JSON.stringify(refused));
  await halt.getByText("Lift the halt").click();
  assert.deepEqual(order(await halt.getByRole("link").getAttribute("href")), { operation: "lift_halt", args: {} });
  if (shots) await halt.screenshot({ path: `${shots}/halt.png` });
  await run("halt", "--lift");
  await halt.getByText("Changes are accepted").waitFor({ timeout: 2000 });
});

await check("a thousand samples are drawn within a frame", async () => {
  const { script, frame } = await drawn(await browser.newContext());
  assert.ok(script < 16, `${script} ms`);
  return `${script} ms until they are laid out, ${frame} ms until the next frame began; this computer paints without a graphics card`;
});

await check("no violation of the policy, no error, no request elsewhere", () => assert.deepEqual(faults, []));

await browser.close();
process.exit(hasFailed() ? 1 : 0);
