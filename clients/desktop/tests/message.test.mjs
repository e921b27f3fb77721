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
  const answer = '{"id":7,"result":1}';
  assert.equal(answerTo("7", answer), answer);
  assert.equal(answerTo("7", '{"id":"7","result":1}'), null);
  assert.equal(answerTo("7", '{"method":"notifications/progress"}'), null);
  assert.equal(answerTo("7", '{"jsonrpc":"2.0","id":null,"error":{"code":-32002}}'), '{"jsonrpc":"2.0","id":7,"error":{"code":-32002}}');
  assert.equal(answerTo("7", "<html>"), null);
});

test("ids and numbers are the text that they were, also beyond 2^53", () => {
  const [one, other] = ["9007199254740993", "9007199254740992"];
  const asked = (id) => read(`{"params":{"id":1,"x":["}",{"id":2}]},"i\\u0064" : ${id} ,"method":"ping"}`).id;
  for (const id of [one, other, "1e3", "-0", "1.50", '"a\\"b,}"', "null"]) assert.equal(asked(id), id);
  assert.equal(read('{"id":1,"method":"ping","id":2}').id, "2", "the last of several, as every parser has it");
  const answer = `{ "result" : {"n":12345678901234567890, "id": 3}, "id" : ${one} }`;
  assert.equal(answerTo(one, answer), answer);
  assert.equal(answerTo(other, answer), null);
  assert.equal(answerTo('"\\u00e4"', '{"id":"ä","result":1}'), '{"id":"ä","result":1}', "one text, written in two ways");
  assert.equal(answerTo(one, '{"error":{"code":1,"data":{"n":9007199254740995}}}'), `{"jsonrpc":"2.0","id":${one},"error":{"code":1,"data":{"n":9007199254740995}}}`);
});
