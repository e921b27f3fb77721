// The official TypeScript SDK: typescript.mjs GENERATION ERA stdio COMMAND ARGUMENTS... | http URL
// GENERATION: 1 (@modelcontextprotocol/sdk) or 2 (@modelcontextprotocol/client); ERA: legacy, or auto (2 only).
import { Refused, headers, tell } from "./story.mjs";

const [generation, era, transport, place, ...rest] = process.argv.slice(2);
const modules =
  generation === "1"
    ? [
        "@modelcontextprotocol/sdk/client/index.js",
        "@modelcontextprotocol/sdk/client/stdio.js",
        "@modelcontextprotocol/sdk/client/streamableHttp.js",
      ]
    : ["@modelcontextprotocol/client", "@modelcontextprotocol/client/stdio", "@modelcontextprotocol/client"];
const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }] = await Promise.all(
  modules.map((name) => import(name)),
);

const updates = new Map();
const logs = [];
const client = new Client(
  { name: "clients-part", version: "1" },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode: era } },
);
// What the client's user says when asked.
let answer = { action: "cancel" };
const asked = generation === "1" ? (await import("@modelcontextprotocol/sdk/types.js")).ElicitRequestSchema : "elicitation/create";
client.setRequestHandler(asked, async () => answer);
client.fallbackNotificationHandler = async ({ method, params }) => {
  if (method === "notifications/resources/updated") updates.get(params.uri)?.();
  if (method === "notifications/message") logs.push(params.data);
};
await client.connect(
  transport === "stdio"
    ? new StdioClientTransport({ command: place, args: rest, stderr: "ignore" })
    : new StreamableHTTPClientTransport(new URL(place), { requestInit: { headers } }),
);
const isModern = generation === "2" && client.getNegotiatedProtocolVersion() >= "2026-07-28";
// Level of log messages with a request: 2026-07-28 has it in _meta, which is the caller's to give.
let meta = {};

const callTool = (name, args, options) => {
  const params = { name, arguments: args, ...meta };
  return generation === "1" ? client.callTool(params, undefined, options) : client.callTool(params, options);
};

const passed = await tell({
  offers: ["progress", "cancel", "resource", "subscription", "prompt", "log", "approval", "unlisted"],
  async server() {
    const { name, version } = client.getServerVersion();
    return [name, `${version}${isModern ? ", 2026-07-28" : ""}`];
  },
  async tools() {
    // From here on the SDK checks results by their output schemas.
    return (await client.listTools()).tools.map((tool) => tool.name);
  },
  async call(name, args, signal) {
    const result = await callTool(name, args, signal && { signal });
    if (result.isError) throw new Refused(result.content.map((block) => block.text).join("\n"));
    return result.structuredContent;
  },
  async progress(name, args) {
    const reports = [];
    // A call of some duration: of a report that comes together with the result this SDK forgets whom it is for.
    await callTool(name, args, { onprogress: (report) => reports.push(report.progress) });
    return reports;
  },
  userSays(said) {
    answer = said;
  },
  async read(uri) {
    return (await client.readResource({ uri })).contents[0].text;
  },
  async subscribe(uri, onUpdate) {
    updates.set(uri, onUpdate);
    if (isModern) {
      const subscription = await client.listen({ resourceSubscriptions: [uri] });
      return () => subscription.close();
    }
    await client.subscribeResource({ uri });
  },
  async prompt(name) {
    return (await client.getPrompt({ name, arguments: {} })).messages.map((message) => message.content.text);
  },
  async log(level, act) {
    if (isModern) meta = { _meta: { "io.modelcontextprotocol/logLevel": level } };
    else await client.setLoggingLevel(level);
    await act();
    const until = Date.now() + 10000;
    while (logs.length === 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
    return logs;
  },
});
await client.close();
process.exit(passed ? 0 : 1);
