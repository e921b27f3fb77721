// One card: a tool's answer, read again when a resource that it follows has changed.

import { el } from "./dom.js";
import { live } from "./live.js";

// What a machine lacks or a role may not is no fault.
const CALM = ["capability_missing", "permission_denied"];

export function refusal(error) {
  return el("p", { class: CALM.includes(error.code) ? "note" : "refusal" }, error.message, error.hint ? el("small", {}, error.hint) : null);
}

export class View extends HTMLElement {
  // A subclass says: its heading; the resources it follows; the shortest time between two reads, in milliseconds.
  heading = "";
  follows = [];
  gap = 500;
  #busy = false;
  #again = false;
  #shown = "";
  #listener = (event) => {
    if (event.type === "connected" || this.follows.some((uri) => event.detail.startsWith(uri))) this.refresh();
  };

  connectedCallback() {
    const id = `${this.localName}-heading`;
    this.body = el("div", { class: "body" });
    this.head = el("div", { class: "head" }, el("h2", { id }, this.heading));
    this.replaceChildren(el("section", { class: "card", "aria-labelledby": id }, this.head, this.body));
    this.begin?.();
    for (const type of ["updated", "connected"]) live.addEventListener(type, this.#listener);
    this.refresh();
  }

  disconnectedCallback() {
    for (const type of ["updated", "connected"]) live.removeEventListener(type, this.#listener);
  }

  // At once, or once more after the read that is under way.
  async refresh() {
    this.#again = this.#busy;
    if (this.#busy) return;
    this.#busy = true;
    try {
      const data = await this.read();
      const text = JSON.stringify(data);
      if (text !== this.#shown) this.body.replaceChildren(...[this.show(data)].flat().filter(Boolean));
      this.#shown = text;
    } catch (error) {
      this.#shown = "";
      this.body.replaceChildren(refusal(error));
    }
    await new Promise((done) => setTimeout(done, this.gap));
    this.#busy = false;
    if (this.#again && this.isConnected) this.refresh();
  }
}

// One line of a list: its parts wrap where the window is narrow.
export function row(...parts) {
  return el("li", {}, parts);
}

export function note(text) {
  return el("p", { class: "note" }, text);
}
