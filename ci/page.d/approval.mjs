// An approval with a phone, end to end: approval.mjs PAGE SERVER SHOTS. A tool call over MCP waits; the page in Chromium shows it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { AXE, launch, visit } from "./browser.mjs";

const [page, server, shots] = process.argv.slice(2);
const PHONE = { viewport: { width: 360, height: 740 } };
const program = process.env.PAGE_PROGRAM;
const run = async (...args) => (await promisify(execFile)(program, args)).stdout;

// A call that waits for a person.
let id = 0;
async function call(pin) {
  const body = { jsonrpc: "2.0", id: ++id, method: "tools/call", params: { name: "gpio.write_pin", arguments: { pin, value: "high" } } };
  const response = await fetch(server.replace("/mcp", "/api/mcp"), {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  return response.json();
}

const browser = await launch();
let failed = 0;
async function check(what, act) {
  try {
    await act();
    console.log(`ok      ${what}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${what}: ${error.stack}`);
  }
}

// The command that the page shows, run on the device.
async function enrol(tab) {
  const command = await tab.getByRole("textbox", { name: "Command" }).inputValue();
  const said = await run(...command.split(" ").slice(1));
  const device = await tab.locator("#device").textContent();
  assert.ok(said.includes(device.replace("Device ", "device ")), `${said} / ${device}`);
  await tab.getByRole("button", { name: "I have done that" }).click();
}
const request = (tab) => tab.getByRole("article");
const appears = async (tab) => {
  const began = performance.now();
  await request(tab).first().waitFor();
  return performance.now() - began;
};

const phone = await visit(browser, page, PHONE);
const { tab } = phone;
await check("a browser without a key sees nothing and is told what to do", async () => {
  await tab.getByRole("button", { name: "Make a browser key" }).waitFor();
  assert.equal(await request(tab).count(), 0);
  // Chromium offers no passkeys at an address.
  assert.equal(await tab.getByRole("button", { name: "Use a passkey" }).count(), 0);
});
await check("its key is enrolled by the command that it shows", async () => {
  await tab.getByRole("button", { name: "Make a browser key" }).click();
  await enrol(tab);
  await tab.getByText("Nothing waits for you.").waitFor();
});
await check("a call waits, is on the open page within a second, and goes on after a yes", async () => {
  const answer = call(17);
  const took = await appears(tab);
  assert.ok(took < 1000, `${took} ms`);
  const text = await request(tab).textContent();
  assert.ok(text.includes("gpio.write_pin") && text.includes("pin = 17"), text);
  await tab.screenshot({ path: `${shots}/approval-phone.png` });
  await tab.getByRole("button", { name: "Approve" }).click();
  const { result } = await answer;
  assert.equal(result.structuredContent?.value, "high", JSON.stringify(result));
  await request(tab).waitFor({ state: "detached" });
});
await check("a no is a no", async () => {
  const answer = call(22);
  await appears(tab);
  await tab.getByRole("button", { name: "Deny" }).click();
  assert.equal((await answer).result.isError, true);
});
await check("axe-core finds nothing, light and dark, at 320, 768 and 1280 px", async () => {
  const waiting = call(23);
  await appears(tab);
  await tab.evaluate(readFileSync(AXE, "utf8"));
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [320, 768, 1280]) {
      await tab.emulateMedia({ colorScheme });
      await tab.setViewportSize({ width, height: 740 });
      const { violations } = await tab.evaluate(() => globalThis.axe.run());
      assert.deepEqual(violations.map(({ id: rule, nodes }) => [rule, nodes.map(({ html }) => html)]), [], `${colorScheme} ${width}`);
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
      assert.equal(wide, false, `${width} px`);
    }
  }
  await tab.emulateMedia({ colorScheme: "dark" });
  await tab.setViewportSize(PHONE.viewport);
  await tab.screenshot({ path: `${shots}/approval-dark.png` });
  await tab.keyboard.press("Tab");
  for (let n = 0; n < 6; n += 1) {
    if ((await tab.evaluate(() => document.activeElement.textContent)) === "Deny") break;
    await tab.keyboard.press("Tab");
  }
  await tab.keyboard.press("Enter");
  assert.equal((await waiting).result.isError, true, "denied by keyboard");
});
await check("a page that is loaded again still has its key, and another browser has not", async () => {
  await tab.reload();
  await tab.getByText("Nothing waits for you.").waitFor();
  const stranger = await visit(browser, page, PHONE);
  await stranger.tab.getByRole("button", { name: "Make a browser key" }).waitFor();
  assert.deepEqual(stranger.faults, []);
  await stranger.context.close();
});
await check("a passkey answers, at a name whose certificate is trusted", async () => {
  const named = new URL(page);
  named.hostname = "localhost";
  const other = await visit(browser, named.href, PHONE);
  const cdp = await other.context.newCDPSession(other.tab);
  await cdp.send("WebAuthn.enable");
  await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  await other.tab.getByLabel("Name").fill("key");
  await other.tab.getByRole("button", { name: "Use a passkey" }).click();
  await other.tab.getByRole("textbox", { name: "Command" }).waitFor();
  await other.tab.getByLabel("Name").fill("key");
  await enrol(other.tab);
  await other.tab.getByText("Nothing waits for you.").waitFor();
  const answer = call(24);
  await appears(other.tab);
  await other.tab.getByRole("button", { name: "Approve" }).click();
  const { result } = await answer;
  assert.equal(result.structuredContent?.value, "high", JSON.stringify(result));
  // Chromium would like RSA too, which no passkey of today needs.
  assert.deepEqual(other.faults.filter((text) => !text.includes("pubKeyCredParams")), []);
  await other.context.close();
});
await check("a revoked key sees nothing any more", async () => {
  await run("approver", "revoke", "phone");
  await tab.reload();
  await tab.getByText("not enrolled").waitFor();
  const waiting = call(25);
  await new Promise((done) => setTimeout(done, 500));
  assert.equal(await request(tab).count(), 0);
  assert.ok((await waiting).error ?? (await waiting).result.isError);
});
await check("no policy was violated, and nothing came from elsewhere", () => {
  // Chromium reports each answer that is no success; these two are the refusals of the revoked key.
  const faults = phone.faults.filter((text) => !text.includes("status of 403"));
  assert.deepEqual(faults, []);
});
await browser.close();
process.exit(failed > 0 ? 1 : 0);
