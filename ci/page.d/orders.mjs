// Orders that links bring: shown whole, signed with a passkey, performed by the device's own agent.
import assert from "node:assert/strict";
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { AXE } from "./browser.mjs";
import { call, post } from "./device.mjs";

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
export const link = (operation, args) => `#order=${Buffer.from(JSON.stringify({ operation, args })).toString("base64url")}`;
const article = (tab) => tab.getByRole("article", { name: "Order" });

// Opens a link and returns the words of its order.
async function shown(tab, at, operation, args) {
  // The page loads anew when only what is after # changes; a blank page between waits for that.
  await tab.goto("about:blank");
  await tab.goto(`${at}${link(operation, args)}`);
  return article(tab).innerText();
}

// Signs what is shown; the device's words.
async function signed(tab) {
  await tab.getByRole("button", { name: "Sign and send" }).click();
  await tab.getByRole("heading", { name: "Done" }).waitFor();
  await tab.getByText("The device has done what you signed.").waitFor();
  return article(tab).getByRole("status").locator("pre").innerText();
}

// What was sent: the order, signed by the passkey of this public key, and no secret.
function judge([{ document, key, kind, signature, authenticator_data: data, client_data: client }], { spki, secret }) {
  const whole = JSON.parse(document);
  assert.deepEqual([whole.purpose, whole.operation, kind, key], ["raspi-mcp owner 1", "make_token", "passkey", sha256(Buffer.from(spki, "base64url")).toString("hex")]);
  assert.deepEqual(whole.args, { name: "kitchen", role: "read_only", sha256: sha256(secret).toString("hex") });
  assert.ok(!document.includes(secret) && /^rmcp_[\w-]{43}$/.test(secret));
  const about = JSON.parse(Buffer.from(client, "base64url").toString());
  assert.equal(about.challenge, sha256("raspi-mcp owner 1", "\0", sha256(document)).toString("base64url"));
  const publicKey = createPublicKey({ key: Buffer.from(spki, "base64url"), format: "der", type: "spki" });
  const message = Buffer.concat([Buffer.from(data, "base64url"), sha256(Buffer.from(client, "base64url"))]);
  assert.ok(verify("sha256", message, publicKey, Buffer.from(signature, "base64url")));
}

// A token: its secret is made in the browser, shown once, and lets its holder in with its role.
async function token(tab, { device, spki, at, shots }) {
  const sent = [];
  await tab.route("**/owner", async (route) => {
    sent.push(route.request().postDataJSON());
    await route.continue();
  });
  const text = await shown(tab, at, "make_token", { name: "kitchen", role: "read_only" });
  for (const part of ["Make a token", "kitchen", "read_only: reads", "nobody in particular", "never"]) assert.ok(text.includes(part), text);
  await tab.screenshot({ path: `${shots}/order-phone.png` });
  await tab.evaluate(readFileSync(AXE, "utf8"));
  for (const colorScheme of ["dark", "light"]) {
    await tab.emulateMedia({ colorScheme });
    const { violations } = await tab.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id: rule, nodes }) => [rule, nodes.map(({ html }) => html)]), [], colorScheme);
  }
  const said = await signed(tab);
  assert.ok(said.includes("kitchen"), said);
  const secret = await tab.getByRole("textbox", { name: "Token" }).inputValue();
  await tab.screenshot({ path: `${shots}/order-done-phone.png` });
  judge(sent, { spki, secret });
  const reads = await post(device, "gpio.list_pins", {}, secret);
  assert.deepEqual([reads.status, reads.result?.isError ?? false], [200, false], JSON.stringify(reads));
  const writes = await post(device, "gpio.write_pin", { pin: 17, value: "low" }, secret);
  assert.ok(JSON.stringify(writes).includes("permission_denied"), JSON.stringify(writes));
  assert.equal((await post(device, "gpio.list_pins", {}, `${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}`)).status, 401);
}

export async function orders(tab, about) {
  const { device, at } = about;
  await token(tab, about);
  // A tool that was refused works once it is allowed.
  const refused = await call(device, "manage.halt", { reason: "smoke" });
  assert.ok(JSON.stringify(refused).includes("permission_denied"), JSON.stringify(refused));
  const text = await shown(tab, at, "allow", { tool: "manage.halt" });
  for (const part of ["Allow a tool", "manage.halt", "everybody with the tool's role"]) assert.ok(text.includes(part), text);
  assert.match(await signed(tab), /manage\.halt is open/);
  const halts = await call(device, "manage.halt", { reason: "smoke" });
  assert.ok(halts.result && !halts.result.isError, JSON.stringify(halts));
  // Which only the owner's signature lifts.
  const halted = await call(device, "gpio.write_pin", { pin: 17, value: "low" });
  assert.ok(JSON.stringify(halted).includes('"halted":true'), JSON.stringify(halted));
  assert.ok((await shown(tab, at, "lift_halt", {})).includes("Lift the halt"));
  assert.match(await signed(tab), /lifted: changes are possible again/);
  const status = await call(device, "manage.get_server_status");
  assert.equal(status.result.structuredContent.halted ?? null, null, JSON.stringify(status.result.structuredContent.halted));
}
