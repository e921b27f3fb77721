// Vercel's AI SDK: its MCP client, and what a model is shown of a call. ai_sdk.mjs stdio COMMAND ARGUMENTS... | http URL
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Refused, check, headers, tell } from "./story.mjs";

const [transport, place, ...args] = process.argv.slice(2);
const client = await createMCPClient({
  transport:
    transport === "stdio"
      ? new StdioMCPTransport({ command: place, args, stderr: "ignore" })
      : { type: "http", url: place, headers },
});
const tools = await client.tools();

/** A whole turn: a model that calls this tool, and is then shown what came of it. */
async function turn(name, input) {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const say = (content, reason) => ({ content, finishReason: { unified: reason, raw: reason }, usage, warnings: [] });
  let step = 0;
  const model = new MockLanguageModelV4({
    doGenerate: async () =>
      step++ === 0
        ? say([{ type: "tool-call", toolCallId: "1", toolName: name, input: JSON.stringify(input) }], "tool-calls")
        : say([{ type: "text", text: "done" }], "stop"),
  });
  const { steps } = await generateText({ model, tools, prompt: "go", stopWhen: isStepCount(2) });
  const shown = model.doGenerateCalls[1].prompt.at(-1).content[0].output;
  return { shown, result: steps[0].toolResults[0]?.output };
}

const text = (output) => (typeof output.value === "string" ? output.value : output.value.map((part) => part.text).join("\n"));

const passed = await tell({
  // It sends no progress token, has no subscriptions and no level of log messages, and an aborted call is not told to the server.
  offers: ["resource", "prompt"],
  async server() {
    const { serverInfo, protocolVersion } = client.initializeResult;
    return [serverInfo.name, `${serverInfo.version}, ${protocolVersion}`];
  },
  async tools() {
    return Object.keys(tools);
  },
  async call(name, args) {
    const { shown, result } = await turn(name, args);
    check(result !== undefined, JSON.stringify(shown));
    if (result.isError) throw new Refused(text(shown));
    check(JSON.stringify(JSON.parse(text(shown))) === JSON.stringify(result.structuredContent), "the model is shown something else");
    return result.structuredContent;
  },
  async read(uri) {
    return (await client.readResource({ uri })).contents[0].text;
  },
  async prompt(name) {
    return (await client.getPrompt({ name })).messages.map((message) => message.content.text);
  },
});
await client.close();
process.exit(passed ? 0 : 1);
