import assert from "node:assert/strict";
import test from "node:test";
import { approvalPage, commandOf, grantOf, orderLink, revoking, tokenOf } from "../order.js";

test("the approval page is what the owner configured, or this host at its port", () => {
  const here = "https://porch.local:8443/#x";
  assert.equal(approvalPage({ approval: { listen: "0.0.0.0:9444" } }, here), "https://porch.local:9444/");
  assert.equal(approvalPage({}, "http://127.0.0.1:8765/"), "https://127.0.0.1:8444/");
  assert.equal(approvalPage({ approval: { listen: "[::]:8444" } }, "https://[::1]:8443/"), "https://[::1]:8444/");
  assert.equal(approvalPage({ notifications: { page: "https://pi.example.org:8444/some" } }, here), "https://pi.example.org:8444/");
  // What is no address, and what a link must not be.
  for (const page of ["", "pi.local", "javascript:alert(1)", "http://pi.local/"]) {
    assert.equal(approvalPage({ notifications: { page }, approval: { listen: "0.0.0.0:8444" } }, here), "https://porch.local:8444/", page);
  }
});

test("an order's link holds the operation and its arguments, whatever letters they have", () => {
  const link = orderLink("https://pi:8444/", "revoke_token", { name: "Küche ?>" });
  const [page, text] = link.split("#order=");
  assert.equal(page, "https://pi:8444/");
  assert.match(text, /^[\w-]+$/);
  assert.deepEqual(JSON.parse(Buffer.from(text, "base64url").toString()), { operation: "revoke_token", args: { name: "Küche ?>" } });
});

test("the command says the same as the order", () => {
  assert.equal(commandOf("allow", { tool: "gpio.write_pin", pins: [17, 22], callers: ["token:a"], ask: true }), "raspi-mcp allow gpio.write_pin --pin 17 --pin 22 --for token:a --ask");
  assert.equal(commandOf("revoke", { tool: "service.restart", units: ["ssh.service"] }), "raspi-mcp revoke service.restart ssh.service");
  assert.equal(commandOf("make_token", { name: "x", role: "admin", expires: "2027-01-01T00:00:00Z" }), "raspi-mcp token make --name x --role admin --expires 2027-01-01T00:00:00Z");
  assert.equal(commandOf("lift_halt", {}), "raspi-mcp halt --lift");
  // Whoever copies it runs one command.
  assert.equal(commandOf("revoke_token", { name: "a'; reboot #" }), "raspi-mcp token revoke 'a'\\''; reboot #'");
});

test("a grant is revoked as it was given", () => {
  const grant = { tool: "gpio.write_pin", pins: [17], units: [], for: ["token:a"], by: "anna", at: "2026-11-25T12:00:00Z" };
  assert.deepEqual(revoking(grant), { tool: "gpio.write_pin", pins: [17], callers: ["token:a"] });
  assert.deepEqual(revoking({ tool: "system.reboot" }), { tool: "system.reboot" });
});

test("a form's empty fields are left out, and lists are lists", () => {
  assert.deepEqual(grantOf({ tool: " gpio.write_pin ", pins: "17, 22", devices: "", paths: "/a /b", callers: "token:a", ask: true }),
    { tool: "gpio.write_pin", pins: [17, 22], paths: ["/a", "/b"], callers: ["token:a"], ask: true });
  assert.deepEqual(grantOf({ tool: "a.b", ask: false }), { tool: "a.b" });
  assert.deepEqual(tokenOf({ name: " laptop ", role: "read_only", owner: "", expires: "" }), { name: "laptop", role: "read_only" });
  assert.equal(tokenOf({ name: "a", role: "admin", expires: "2027-01-01T00:00Z" }).expires, "2027-01-01T00:00:00Z");
});
