// Lines of a stream. Only a line feed ends one: node:readline also divides them at U+2028, which JSON may have within a text.

import { StringDecoder } from "node:string_decoder";

export async function* lines(stream) {
  const decoder = new StringDecoder("utf8");
  const parts = [];
  for await (const chunk of stream) {
    const [first, ...more] = decoder.write(chunk).split("\n");
    parts.push(first);
    for (const next of more) {
      yield parts.join("");
      parts.length = 0;
      parts.push(next);
    }
  }
  parts.push(decoder.end());
  if (parts.some((part) => part)) yield parts.join("");
}
