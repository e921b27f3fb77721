// The calls that wait for a person's answer. It is given on the approval page, which signs it; not here.

import { el } from "./dom.js";
import { clock } from "./format.js";
import { note, row } from "./view.js";
import { OfServer } from "./view-owner.js";

// "1 call waits", "2 calls wait".
export function waits(count) {
  return count === 1 ? "1 call waits for an approval." : `${count} calls wait for an approval.`;
}

export class Asks extends OfServer {
  heading = "Waiting for a person";
  gap = 200;

  pick({ agent }) {
    return { count: agent?.pending_asks ?? 0, asks: agent?.asks ?? [] };
  }

  show({ count, asks }) {
    this.classList.toggle("calls", count > 0);
    if (count === 0) return note("No call waits for an approval.");
    const lines = asks.map((one) => row(
      el("b", {}, one.tool),
      el("span", {}, `by ${one.principal}`),
      el("time", { datetime: one.expires_at }, `until ${clock(one.expires_at)}`),
      el("small", {}, one.summary),
    ));
    return [
      el("p", { class: "badge" }, waits(count)),
      lines.length > 0 ? el("ul", { class: "rows" }, lines) : null,
      asks.length < count ? note("An admin sees what the others ask for.") : null,
      el("p", {}, el("a", { href: this.page, target: "_blank", rel: "noopener noreferrer" }, "Answer on the approval page")),
      note("Or with raspi-mcp approve, at a terminal."),
    ];
  }
}
