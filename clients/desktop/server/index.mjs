// A Claude Desktop extension's server: standard input and output on this side, a raspi-mcp in the network on the other. Its settings come
// from the host as variables (manifest.json).

import { createInterface } from "node:readline";
import { Link } from "./link.mjs";
import { read } from "./message.mjs";
import { remote } from "./remote.mjs";

const { RASPI_MCP_URL: url = "", RASPI_MCP_FINGERPRINT: fingerprint = "", RASPI_MCP_TOKEN: token = "" } = process.env;

let server;
try {
  server = remote({ url, fingerprint: fingerprint.trim(), token: token.trim() });
} catch (error) {
  process.stderr.write(`raspi-mcp: ${error.message}\n`);
  process.exit(2);
}

// JSON has no line breaks that matter: servers may have them between tokens.
const say = (message) => process.stdout.write(`${message.replace(/[\r\n]/g, "")}\n`);
const link = new Link(server, say);
const waiting = new Set();

async function end() {
  await link.close();
  process.exit(0);
}
process.stdout.on("error", end);
process.on("SIGTERM", end);

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (!line.trim()) continue;
  const message = read(line);
  const sent = link.send(line);
  // Requests need the session that `initialize` opens, and `initialized` comes before them; they themselves do not wait for each other.
  if (message?.id === undefined || message.method === "initialize") {
    await sent;
  } else {
    waiting.add(sent);
    sent.finally(() => waiting.delete(sent));
  }
}
// A client that closes its end still wants the answers.
await Promise.all(waiting);
await end();
