// The MCP Inspector's command line, which makes one request a run: inspector.mjs ERA stdio PROGRAM | http URL
import { execFile } from "node:child_process";
import { Refused, check, headers, tell } from "./story.mjs";

const [era, transport, place] = process.argv.slice(2);
const launcher = `${process.env.NPM_MODULES}/@modelcontextprotocol/inspector/clients/launcher/build/index.js`;
const target =
  transport === "stdio"
    ? [place]
    : ["--transport", "http", place, ...Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`])];

/** One run: what it prints, as JSON. A refused tool is an exit code and a result. */
const run = (...args) =>
  new Promise((resolve, reject) => {
    const all = [launcher, "--cli", ...target, "--protocol-era", era, "--format", "json", ...args];
    execFile(process.execPath, all, { maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout).result);
      } catch {
        reject(error ? new Error(`${error.message}\n${stderr}`) : new Error(`no JSON: ${stdout}`));
      }
    });
  });

const passed = await tell({
  // One request a run: nothing comes between two, and nothing is shown before the answer. It calls what it finds in the list.
  offers: ["resource", "prompt"],
  async server() {
    const { serverInfo, protocolVersion } = await run("--method", "initialize");
    return [serverInfo.name, `${serverInfo.version}, ${protocolVersion}`];
  },
  async tools() {
    return (await run("--method", "tools/list", "--strict")).tools.map((tool) => tool.name);
  },
  async call(name, args) {
    const result = await run("--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args));
    check(result.content, JSON.stringify(result));
    if (result.isError) throw new Refused(result.content.map((block) => block.text).join("\n"));
    return result.structuredContent;
  },
  async read(uri) {
    return (await run("--method", "resources/read", "--uri", uri)).contents[0].text;
  },
  async prompt(name) {
    const { messages } = await run("--method", "prompts/get", "--prompt-name", name);
    return messages.map((message) => message.content.text);
  },
});
process.exit(passed ? 0 : 1);
