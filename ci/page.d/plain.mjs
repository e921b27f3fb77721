// The cookie over plain HTTP on loopback: plain.mjs URL. Under both names of it Chromium keeps the cookie, Secure as it is.
import assert from "node:assert/strict";
import { launch, settled, visit } from "./browser.mjs";

const browser = await launch();
let failed = 0;
for (const host of ["127.0.0.1", "localhost"]) {
  try {
    const home = new URL("/", process.argv[2]);
    home.hostname = host;
    const { tab, context, faults } = await visit(browser, home.href);
    // No token: this server asks for none here.
    await tab.getByRole("button", { name: "Sign in" }).click();
    await settled(tab);
    assert.deepEqual((await context.cookies()).map(({ name, secure }) => [name, secure]), [["__Host-raspi-mcp", true]]);
    assert.deepEqual(faults, []);
    console.log(`ok      without TLS at ${host} the session works`);
    await context.close();
  } catch (error) {
    failed += 1;
    console.log(`FAILED  without TLS at ${host} the session works: ${error.stack}`);
  }
}
await browser.close();
process.exit(failed > 0 ? 1 : 0);
