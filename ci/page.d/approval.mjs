// An approval with a phone, end to end: approval.mjs PAGE SERVER SHOTS. A tool call over MCP waits; the page in Chromium shows it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { AXE, launch, visit } from "./browser.mjs";
import { check, hasFailed } from "./check.mjs";

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

// The command that the page shows, run on the device.
async function enrol(tab) {
  const command = await tab.getByRole("textbox", { name: "Command" }).inputValue();
  const said = await run(...command.split(" ").slice(1));
  const device = await tab.locator("#device").textContent();
  assert.ok(said.includes(device.replace("Device ", "device ")), `${said} / ${device}`);
  await tab.getByRole("button", { name: "I have done that" }).click();
  return /--key (\S+)/.exec(command)[1];
}

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
const link = (operation, args) => `#order=${Buffer.from(JSON.stringify({ operation, args })).toString("base64url")}`;

// An order that a link brings: shown whole, signed with the passkey of this public key, sent, and its secret shown once. What is sent is
// checked and answered here: what a device does with orders is not this page's.
async function order(tab, spki, at) {
  const sent = [];
  await tab.route("**/owner", async (route) => {
    sent.push(route.request().postDataJSON());
    await route.fulfill({ json: { text: "the token kitchen was made", token: { name: "kitchen" } } });
  });
  await tab.goto(`${at}${link("make_token", { name: "kitchen", role: "read_only" })}`);
  const text = await tab.getByRole("article", { name: "Order" }).innerText();
  for (const part of ["Make a token", "kitchen", "read_only: reads", "nobody in particular", "never"]) assert.ok(text.includes(part), text);
  await tab.screenshot({ path: `${shots}/order-phone.png` });
  await tab.evaluate(readFileSync(AXE, "utf8"));
  for (const colorScheme of ["dark", "light"]) {
    await tab.emulateMedia({ colorScheme });
    const { violations } = await tab.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id: rule, nodes }) => [rule, nodes.map(({ html }) => html)]), [], colorScheme);
  }
  await tab.getByRole("button", { name: "Sign and send" }).click();
  await tab.getByRole("heading", { name: "Done" }).waitFor();
  await tab.getByText("The device has done what you signed.").waitFor();
  await tab.getByText("the token kitchen was made", { exact: true }).waitFor();
  const secret = await tab.getByRole("textbox", { name: "Token" }).inputValue();
  await tab.screenshot({ path: `${shots}/order-done-phone.png` });
  const [{ document, key, kind, signature, authenticator_data: data, client_data: client }] = sent;
  const whole = JSON.parse(document);
  assert.deepEqual([whole.purpose, whole.operation, kind, key], ["raspi-mcp owner 1", "make_token", "passkey", sha256(Buffer.from(spki, "base64url")).toString("hex")]);
  assert.deepEqual(whole.args, { name: "kitchen", role: "read_only", sha256: sha256(secret).toString("hex") });
  assert.ok(!JSON.stringify(sent).includes(secret) && /^rmcp_[\w-]{43}$/.test(secret));
  const about = JSON.parse(Buffer.from(client, "base64url").toString());
  assert.equal(about.challenge, sha256("raspi-mcp owner 1", "\0", sha256(document)).toString("base64url"));
  const publicKey = createPublicKey({ key: Buffer.from(spki, "base64url"), format: "der", type: "spki" });
  const signed = Buffer.concat([Buffer.from(data, "base64url"), sha256(Buffer.from(client, "base64url"))]);
  assert.ok(verify("sha256", signed, publicKey, Buffer.from(signature, "base64url")));
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
  const spki = await enrol(other.tab);
  await other.tab.getByText("Nothing waits for you.").waitFor();
  const answer = call(24);
  await appears(other.tab);
  await other.tab.getByRole("button", { name: "Approve" }).click();
  const { result } = await answer;
  assert.equal(result.structuredContent?.value, "high", JSON.stringify(result));
  await order(other.tab, spki, named.href);
  // Chromium would like RSA too, which no passkey of today needs.
  assert.deepEqual(other.faults.filter((text) => !text.includes("pubKeyCredParams")), []);
  await other.context.close();
});
await check("a browser's own key signs no order, and what cannot be put into words is no order", async () => {
  await tab.goto(`${page}${link("lift_halt", {})}`);
  await tab.getByText("An order needs a passkey.").waitFor();
  assert.ok((await tab.getByRole("article", { name: "Order" }).innerText()).includes("Lift the halt"));
  assert.equal(await tab.getByRole("button", { name: "Sign and send" }).count(), 0);
  await tab.goto(`${page}${link("make_token", { name: "a", role: "admin", sha256: "00" })}`);
  await tab.getByText("does not know the argument sha256").waitFor();
  await tab.goto(page);
  await tab.reload();
  await tab.getByText("Nothing waits for you.").waitFor();
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
process.exit(hasFailed() ? 1 : 0);
