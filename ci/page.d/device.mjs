// A device that ci/parts/page started: its program, calls of its tools, and what a person does at a browser and at its console.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

export const PHONE = { viewport: { width: 360, height: 740 } };

// What the program says at the console of this device.
export async function run({ socket }, ...args) {
  return (await promisify(execFile)(process.env.PAGE_PROGRAM, ["--set", `places.agent_socket=${socket}`, ...args])).stdout;
}

// The answer to a tool's call, whatever it is; with a token, also its status.
let id = 0;
export async function post({ server }, name, args, token) {
  const headers = { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
  const body = JSON.stringify({ jsonrpc: "2.0", id: ++id, method: "tools/call", params: { name, arguments: args } });
  const response = await fetch(server.replace("/mcp", "/api/mcp"), { method: "POST", headers, body });
  return { status: response.status, ...(await response.json()) };
}
export const call = (device, name, args = {}) => post(device, name, args);

// A call that waits for a person.
export const write = (device, pin) => call(device, "gpio.write_pin", { pin, value: "high" });

// An authenticator whose user says yes to everything; how often it has signed.
export async function addPasskeys({ context, tab }) {
  const cdp = await context.newCDPSession(tab);
  await cdp.send("WebAuthn.enable");
  await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  const signed = { times: 0 };
  cdp.on("WebAuthn.credentialAsserted", () => { signed.times += 1; });
  return signed;
}

// The command that the page shows, run on the device, which prints its ID. Returns the key.
export async function enrolWith(command, device) {
  const said = await run(device, ...command.split(" ").slice(1));
  return { said, key: /--key (\S+)/.exec(command)[1] };
}

export async function enrol(tab, device) {
  const { said, key } = await enrolWith(await tab.getByRole("textbox", { name: "Command" }).inputValue(), device);
  const shown = await tab.locator("#device").textContent();
  assert.ok(said.includes(shown.replace("Device ", "device ")), `${said} / ${shown}`);
  await tab.getByRole("button", { name: "I have done that" }).click();
  return key;
}
