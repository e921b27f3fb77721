import assert from "node:assert/strict";
import test from "node:test";
import { answerTo, read } from "../server/message.mjs";

test("a request of a newer revision has its headers, an older one none", () => {
  const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "gpio.read_pin", _meta: meta } };
  assert.deepEqual(read(JSON.stringify(call)).headers, {
    "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "gpio.read_pin",
  });
  assert.equal(read(JSON.stringify({ ...call, params: { name: "gpio.read_pin" } })).headers, null);
});

test("answers have no answer, and what is no message is not read", () => {
  assert.equal(read('{"jsonrpc":"2.0","id":1,"result":{}}').id, undefined);
  for (const line of ["rubbish", "[]", "null", "7"]) assert.equal(read(line), null);
});

test("an answer is recognized by its id; an error without one belongs to the request", () => {
  assert.deepEqual(answerTo(7, '{"id":7,"result":1}'), { id: 7, result: 1 });
  assert.equal(answerTo(7, '{"id":"7","result":1}'), null);
  assert.equal(answerTo(7, '{"method":"notifications/progress"}'), null);
  assert.deepEqual(answerTo(7, '{"jsonrpc":"2.0","id":null,"error":{"code":-32002}}').id, 7);
  assert.equal(answerTo(7, "<html>"), null);
});
