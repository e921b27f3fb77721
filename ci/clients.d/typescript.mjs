// A conversation by the official TypeScript SDK, as a host would hold it: typescript.mjs GENERATION stdio BINARY | http URL
// GENERATION: 1 (@modelcontextprotocol/sdk) or 2 (@modelcontextprotocol/client). Prints a line for each thing that went well or
// not, and ends with 1 when one did not.

const [generation, transport, place] = process.argv.slice(2);

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

let failed = 0;

/** Waits for `what`, which must come to its end without an exception. */
async function shown(name, what) {
  try {
    const said = await what();
    console.log(`ok      ${name}${said ? `: ${said}` : ""}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}: ${error.message}`);
  }
}

function check(is, said) {
  if (!is) throw new Error(said);
}

// Told apart by what they are about, not by their number: updates come when they come.
const updates = [];
const client = new Client({ name: "clients-part", version: "1" }, { capabilities: {} });
client.fallbackNotificationHandler = async (notification) => {
  if (notification.method === "notifications/resources/updated") updates.push(notification.params.uri);
};
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(XDG|RASPI_MCP|PATH|HOME)/.test(name)));
await client.connect(
  transport === "stdio"
    ? new StdioClientTransport({ command: place, args: ["serve", "--stdio"], env: environment, stderr: "ignore" })
    : new StreamableHTTPClientTransport(new URL(place)),
);

const call = (name, args = {}, options = undefined) =>
  generation === "1"
    ? client.callTool({ name, arguments: args }, undefined, options)
    : client.callTool({ name, arguments: args }, options);

await shown("initialize", async () => {
  check(client.getServerVersion().name === "raspi-mcp", "no server name");
  return client.getServerVersion().version;
});

await shown("list: every name fits a model's API", async () => {
  // From here on the SDK checks results by their output schemas.
  const { tools } = await client.listTools();
  const bad = tools.filter((tool) => !/^[A-Za-z0-9_-]{1,64}$/.test(tool.name));
  check(tools.length > 20 && bad.length === 0, `${tools.length} tools, refused: ${bad.map((tool) => tool.name)}`);
  return `${tools.length} tools`;
});

const calls = [
  ["system_get_basic_info"],
  ["system_get_health_snapshot"],
  ["system_get_capabilities"],
  ["system_get_clock"],
  ["system_get_network_info"],
  ["process_list_processes", { limit: 5 }],
  ["metrics_list_sampling_jobs"],
  ["manage_get_server_status"],
  ["logs_get_recent_app_logs", { limit: 3 }],
  ["tools_search", { query: "pin" }],
];
for (const [name, args] of calls) {
  await shown(`call ${name}`, async () => {
    const result = await call(name, args);
    check(!result.isError && result.structuredContent, JSON.stringify(result).slice(0, 300));
  });
}

const refusals = [
  ["system_reboot", { reason: "a test" }, "permission_denied", true],
  ["gpio_write_pin", { pin: 17, value: "high" }, "permission_denied", true],
  ["process_get_process_details", { pid: 4194303 }, "not_found", false],
  ["camera_get_photo", { name: "none.jpg" }, "permission_denied", false],
  ["system_get_clock", { no_such_argument: 1 }, "invalid_argument", false],
];
for (const [name, args, code, hinted] of refusals) {
  await shown(`refusal of ${name}`, async () => {
    const result = await call(name, args);
    check(result.isError, "it was not refused");
    const error = JSON.parse(result.content[0].text);
    check(error.error_code === code, `${error.error_code}: ${error.message}`);
    check(error.message.length > 8 && (!hinted || error.hint.length > 8), result.content[0].text);
    check(JSON.stringify(result._meta["io.raspi-mcp/error"]) === JSON.stringify(error), "_meta says something else");
    return error.message;
  });
}

await shown("an unknown tool", async () => {
  const error = await call("gpio_wrote_pin").then(() => undefined, (error) => error);
  check(error !== undefined, "it was taken");
  check(/gpio.write_pin/.test(error.message), error.message);
  return error.message;
});

await shown("progress", async () => {
  const steps = [];
  // A call of some duration: of a report that comes together with the result this SDK forgets whom it is for.
  const result = await call("network_ping", { address: "127.0.0.1", count: 4, interval_ms: 300 }, { onprogress: (step) => steps.push(step.progress) });
  check(!result.isError, result.content[0].text);
  check(steps.length >= 2 && steps.at(-1) > steps[0], `reports of progress: ${steps}`);
  return `${steps.length} reports`;
});

await shown("cancel", async () => {
  const stop = new AbortController();
  const wait = call("gpio_wait_for_edge", { pin: 27, timeout_ms: 60000 }, { signal: stop.signal }).then(
    () => undefined,
    (error) => error,
  );
  // It is under way once the next call, sent after it, is answered.
  await call("system_get_clock");
  stop.abort("enough");
  check((await wait) !== undefined, "it went on");
  // Nobody waits for that pin any more: the server was told.
  const until = Date.now() + 10000;
  for (;;) {
    const { entries } = (await call("logs_get_recent_audit_logs", { tool: "gpio.wait_for_edge" })).structuredContent;
    if (entries[0]?.outcome === "cancelled") return;
    check(Date.now() < until, `the audit says ${JSON.stringify(entries[0])}`);
  }
});

await shown("a resource", async () => {
  const { contents } = await client.readResource({ uri: "raspi://health" });
  check(JSON.parse(contents[0].text).load_average.length === 3, contents[0].text);
});

await shown("a subscription", async () => {
  await client.subscribeResource({ uri: "raspi://audit" });
  const until = Date.now() + 10000;
  while (!updates.includes("raspi://audit") && Date.now() < until) await call("system_get_clock");
  check(updates.includes("raspi://audit"), "no update within 10 s");
});

await shown("a prompt", async () => {
  const { messages } = await client.getPrompt({ name: "diagnose", arguments: {} });
  check(/system_get_basic_info/.test(messages[0].content.text), messages[0].content.text);
});

await client.close();
process.exit(failed ? 1 : 0);
