import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { lines } from "../server/lines.mjs";

const PROGRAM = fileURLToPath(new URL("../server/index.mjs", import.meta.url));

// The extension in front of a server that does with each message what `does(message, response, line)` says.
async function extension(does, conversation) {
  const server = http.createServer(async (request, response) => {
    let line = "";
    for await (const piece of request.setEncoding("utf8")) line += piece;
    if (request.method !== "POST") return response.writeHead(405).end();
    does(JSON.parse(line), response, line);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const env = { RASPI_MCP_URL: `http://127.0.0.1:${server.address().port}`, HTTP_PROXY: "http://127.0.0.1:9", NODE_USE_ENV_PROXY: "1" };
  const child = spawn(process.execPath, [PROGRAM], { env, stdio: ["pipe", "pipe", "ignore"] });
  const said = lines(child.stdout);
  try {
    await conversation({ child, server, ask: (line) => child.stdin.write(`${line}\n`), hear: async () => (await said.next()).value });
  } finally {
    child.kill();
    server.closeAllConnections();
    server.close();
  }
}

const ok = (response, text) => response.writeHead(200, { "content-type": "application/json" }).end(text);

test("a line separator within a text ends no line, in either direction, nor does a chunk within a letter", async () => {
  const answer = '{"jsonrpc":"2.0","id":1,"result":{"text":"a\u2028b\u2029\n"}}'.replace("\n", "\\n");
  await extension((message, response) => (assert.equal(message.params.text, "x\u2028y ä"), ok(response, answer)), async ({ child, hear }) => {
    const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"x\u2028y ä"}}\n');
    for (const byte of bytes) child.stdin.write(Buffer.from([byte]));
    const heard = await hear();
    assert.equal(heard, answer.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"));
    assert.deepEqual(JSON.parse(heard), JSON.parse(answer));
  });
});

test("numbers and ids pass as they are written", async () => {
  await extension((message, response, line) => ok(response, line.replace('"method":"echo","params"', '"result"')), async ({ ask, hear }) => {
    const ids = ["9007199254740993", "1.0", '"\\u00e4"'];
    for (const id of ids) {
      ask(`{"jsonrpc":"2.0","id":${id},"method":"echo","params":{"n":12345678901234567890.125}}`);
      assert.equal(await hear(), `{"jsonrpc":"2.0","id":${id},"result":{"n":12345678901234567890.125}}`);
    }
  });
});

test("a notification that is not answered keeps no request waiting", async () => {
  await extension((message, response) => message.id && ok(response, `{"jsonrpc":"2.0","id":${message.id},"result":{}}`), async ({ ask, hear }) => {
    ask('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}');
    ask('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    assert.equal(JSON.parse(await hear()).id, 1);
  });
});

test("a server that dies before its headers may have done it; one that was not there has not", async () => {
  await extension((_, response) => response.socket.destroy(), async ({ ask, hear, server }) => {
    const error = async () => JSON.parse(await hear()).error.message;
    ask('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}');
    assert.match(await error(), /broke before the answer came.*may have been done/);
    server.closeAllConnections();
    server.close();
    await once(server, "close");
    ask('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}');
    assert.match(await error(), /^no server answers at/);
  });
});
