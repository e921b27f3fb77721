// One page for many devices: fleet.mjs DEVICES SHOTS FOLDER. The page is written into FOLDER and served at a name of its own; the devices
// are elsewhere.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { AXE, launch, visit } from "./browser.mjs";
import { check, hasFailed } from "./check.mjs";
import { PHONE, addPasskeys, enrolWith, post, run, write } from "./device.mjs";
import { link } from "./orders.mjs";

const [list, shots, folder] = process.argv.slice(2);
const devices = JSON.parse(list);
const [porch, shed] = devices;
await run(porch, "approval-page", "--export", folder);

// Any web server: it adds no header but the type.
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };
const web = createServer((request, response) => {
  const name = request.url === "/" ? "index.html" : request.url.slice(1);
  try {
    const content = readFileSync(join(folder, name));
    response.writeHead(200, { "content-type": TYPES[extname(name)] }).end(content);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((up) => web.listen(0, "localhost", up));
const page = `http://localhost:${web.address().port}/`;

const browser = await launch();
const visitor = await visit(browser, page, PHONE);
const { tab, faults } = visitor;
const passkeys = await addPasskeys(visitor);
const section = (name) => tab.getByRole("region", { name });
const say = (text) => tab.getByText(text).first().waitFor();
const isQuiet = ({ name }) => section(name).getByText("Nothing waits for you.").waitFor();

const ids = {};
for (const device of devices) ids[device.name] = /^device (\S+)/m.exec(await run(device, "approver", "list"))[1];
function listed(change = {}) {
  const all = devices.map(({ name, page: url }) => ({ name, url, id: ids[name], ...change[name] }));
  writeFileSync(join(folder, "devices.json"), JSON.stringify(all));
}

await check("the example of the list says what is missing in it", async () => {
  await say("devices.json: device 1 has no ID of 64 digits");
});
let command;
await check("devices that do not know the page's origin answer it nothing, and the page says what to do", async () => {
  listed();
  await tab.reload();
  await say("2 devices");
  await tab.getByRole("button", { name: "Use a passkey" }).click();
  command = await tab.getByRole("textbox", { name: "Command" }).inputValue();
  assert.ok(command.includes(`--origin ${page.slice(0, -1)} `), command);
  await tab.getByRole("button", { name: "I have done that" }).click();
  for (const { name } of devices) {
    await section(name).getByText("No answer").waitFor();
    await section(name).getByText("Is this browser enrolled there?").waitFor();
  }
  await say("No answer from 2 of 2.");
  await tab.screenshot({ path: `${shots}/fleet-new-phone.png` });
  await section("porch").getByRole("button", { name: "Enrol this browser there" }).click();
  assert.equal(await tab.getByRole("textbox", { name: "Command" }).inputValue(), command);
});
await check("one that enrols this browser is followed at once, the other is not", async () => {
  assert.ok((await enrolWith(command, porch)).said.includes(ids.porch));
  await isQuiet(porch);
  await section("shed").getByText("No answer").waitFor();
  await say("No answer from 1 of 2.");
  assert.ok((await enrolWith(command, shed)).said.includes(ids.shed));
  await isQuiet(shed);
});
// Until here the browser reported each answer that it kept from the page.
faults.length = 0;
await check("one signature of the passkey shows what waits at both", async () => {
  const before = passkeys.times;
  await tab.reload();
  await isQuiet(porch);
  await isQuiet(shed);
  assert.equal(passkeys.times - before, 1);
});
await check("a call of each is shown at its device, and goes on after a yes", async () => {
  const answers = [write(porch, 26), write(shed, 22)];
  for (const [{ name }, pin] of [[porch, 26], [shed, 22]]) {
    const text = await section(name).getByRole("article").innerText();
    assert.ok(text.includes(`pin = ${pin}`), text);
  }
  await say("2 waiting.");
  assert.ok((await section("porch").getByRole("article").innerText()).includes(" at porch, by loopback"));
  await tab.evaluate(readFileSync(AXE, "utf8"));
  for (const colorScheme of ["dark", "light"]) {
    for (const width of [1280, 320]) {
      await tab.emulateMedia({ colorScheme });
      await tab.setViewportSize({ width, height: 740 });
      const { violations } = await tab.evaluate(() => globalThis.axe.run());
      assert.deepEqual(violations.map(({ id: rule, nodes }) => [rule, nodes.map(({ html }) => html)]), [], `${colorScheme} ${width}`);
      assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth > window.innerWidth), false, `${width} px`);
    }
  }
  await tab.setViewportSize(PHONE.viewport);
  await tab.screenshot({ path: `${shots}/fleet-phone.png`, fullPage: true });
  for (const [at, { name }] of devices.entries()) {
    await section(name).getByRole("button", { name: "Approve" }).click();
    const { result } = await answers[at];
    assert.equal(result.structuredContent?.value, "high", JSON.stringify(result));
  }
  await isQuiet(porch);
  await isQuiet(shed);
});
await check("an order is for the device that the person chooses", async () => {
  await tab.goto("about:blank");
  await tab.goto(`${page}${link("make_token", { name: "kitchen", role: "read_only" })}`);
  await tab.getByRole("button", { name: "Sign and send" }).click();
  await say("Choose the device that it is for.");
  await tab.getByLabel("For the device").selectOption("shed");
  await tab.getByRole("button", { name: "Sign and send" }).click();
  const secret = await tab.getByRole("textbox", { name: "Token" }).inputValue();
  const statuses = await Promise.all(devices.map((device) => post(device, "gpio.list_pins", {}, secret)));
  assert.deepEqual(statuses.map(({ status }) => status), [401, 200]);
});
await check("a device that is not the one of the list is shown as that, with nothing of it", async () => {
  listed({ shed: { id: "ab".repeat(32) } });
  await tab.goto("about:blank");
  await tab.goto(page);
  await section("shed").getByText("This is another device than the one in the list.").waitFor();
  const answers = [write(porch, 27), write(shed, 27)];
  await section("porch").getByRole("article").waitFor();
  assert.equal(await section("shed").getByRole("article").count(), 0);
  await section("porch").getByRole("button", { name: "Deny" }).click();
  assert.equal((await answers[0]).result.isError, true);
  listed();
  await tab.reload();
  await section("shed").getByRole("button", { name: "Deny" }).click();
  assert.equal((await answers[1]).result.isError, true);
});
await check("inside another page it shows nothing", async () => {
  const outer = await visitor.context.newPage();
  await outer.goto(page);
  await outer.route("**/frame", (route) => route.fulfill({ contentType: "text/html", body: `<iframe src="${page}"></iframe>` }));
  await outer.goto(`${page}frame`);
  const inner = outer.frameLocator("iframe");
  await inner.getByText("This page does not work inside another page.").waitFor();
  assert.equal(await inner.getByRole("region", { name: "porch" }).count(), 0);
  await outer.close();
});
await check("no policy was violated, and nothing was asked but the devices' approvals", () => {
  const known = (text) => text.includes("pubKeyCredParams") || devices.some(({ page: at }) => text.startsWith(`a request to ${at}/approvals/`) || text === `a request to ${at}/owner`);
  assert.deepEqual(faults.filter((text) => !known(text)), []);
});
await check("a key that is revoked at one device is still good at the other", async () => {
  await run(porch, "approver", "revoke", "phone");
  await tab.reload();
  await section("porch").getByText("No answer").waitFor();
  await isQuiet(shed);
  const answer = write(shed, 23);
  await section("shed").getByRole("button", { name: "Approve" }).click();
  assert.equal((await answer).result.structuredContent?.value, "high");
  assert.equal(await section("porch").getByRole("article").count(), 0);
});
await browser.close();
web.close();
process.exit(hasFailed() ? 1 : 0);
