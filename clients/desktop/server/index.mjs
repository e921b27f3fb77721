// A Claude Desktop extension's server: standard input and output on this side, a raspi-mcp in the network on the other. Its settings come
// from the host as variables (manifest.json).

import { lines } from "./lines.mjs";
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

// How long a notification may take to be answered; nothing waits for it any longer, neither later messages nor the end.
const UNANSWERED_MS = 10_000;

// JSON has no line breaks that matter: servers may have them between tokens. Hosts that read by node:readline divide lines at U+2028 and
// U+2029 too, which stand within texts.
const escaped = (sign) => (sign === "\u2028" ? "\\u2028" : "\\u2029");
const say = (message) => process.stdout.write(`${message.replace(/[\r\n]/g, "").replace(/[\u2028\u2029]/g, escaped)}\n`);
const link = new Link(server, say);
const waiting = new Set();

async function end() {
  await link.close();
  process.exit(0);
}
process.stdout.on("error", end);
process.on("SIGTERM", end);

for await (const line of lines(process.stdin)) {
  if (!line.trim()) continue;
  const message = read(line);
  const isNotification = message !== null && message.id === undefined && typeof message.method === "string";
  const answered = link.send(line);
  const sent = isNotification ? Promise.race([answered, new Promise((resolve) => setTimeout(resolve, UNANSWERED_MS).unref())]) : answered;
  waiting.add(sent);
  sent.finally(() => waiting.delete(sent));
  // Requests need the session that `initialize` opens, and `initialized` comes before them; nothing else waits for another message.
  if (["initialize", "notifications/initialized"].includes(message?.method)) await sent;
}
// A client that closes its end still wants the answers.
await Promise.all(waiting);
await end();
