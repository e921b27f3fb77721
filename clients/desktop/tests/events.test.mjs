import assert from "node:assert/strict";
import test from "node:test";
import { Events } from "../server/events.mjs";

const TEXT = ': hello\r\nid: 7\r\ndata: {"a":1}\r\n\r\nevent: message\ndata:{\ndata: }\n\nid: 8\ndata:\n\ndata: lost';

test("events are found wherever the pieces were cut", () => {
  for (const size of [1, 2, 5, TEXT.length]) {
    const events = new Events();
    const found = [];
    for (let at = 0; at < TEXT.length; at += size) found.push(...events.take(TEXT.slice(at, at + size)));
    assert.deepEqual([found, events.lastId], [['{"a":1}', "{\n}"], "8"]);
  }
});
