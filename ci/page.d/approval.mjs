// An approval with a phone, end to end: approval.mjs DEVICES SHOTS. A tool call over MCP waits; the page in Chromium shows it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { AXE, launch, visit } from "./browser.mjs";
import { check, hasFailed } from "./check.mjs";
import { PHONE, addPasskeys, enrol, run, write } from "./device.mjs";
import { link, orders } from "./orders.mjs";

const [list, shots] = process.argv.slice(2);
const [device] = JSON.parse(list);
const page = `${device.page}/`;
const browser = await launch();

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
  await enrol(tab, device);
  await tab.getByText("Nothing waits for you.").waitFor();
});
await check("a call waits, is on the open page within a second, and goes on after a yes", async () => {
  const answer = write(device, 17);
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
  const answer = write(device, 22);
  await appears(tab);
  await tab.getByRole("button", { name: "Deny" }).click();
  assert.equal((await answer).result.isError, true);
});
await check("axe-core finds nothing, light and dark, at 320, 768 and 1280 px", async () => {
  const waiting = write(device, 23);
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
  await addPasskeys(other);
  await other.tab.getByLabel("Name").fill("key");
  await other.tab.getByRole("button", { name: "Use a passkey" }).click();
  await other.tab.getByRole("textbox", { name: "Command" }).waitFor();
  await other.tab.getByLabel("Name").fill("key");
  const spki = await enrol(other.tab, device);
  await other.tab.getByText("Nothing waits for you.").waitFor();
  const answer = write(device, 24);
  await appears(other.tab);
  await other.tab.getByRole("button", { name: "Approve" }).click();
  const { result } = await answer;
  assert.equal(result.structuredContent?.value, "high", JSON.stringify(result));
  await orders(other.tab, { device, spki, at: named.href, shots });
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
  await run(device, "approver", "revoke", "phone");
  await tab.reload();
  await tab.getByText("not enrolled").waitFor();
  const waiting = write(device, 25);
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
