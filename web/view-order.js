// An order as it is offered: the link to the approval page, and the command for a terminal. And forms that make one.

import { el } from "./dom.js";
import { commandOf, orderLink } from "./order.js";
import { note } from "./view.js";

const NEEDS = "It needs an approver's passkey on the approval page, root at the machine, or the command from elsewhere with --url, --pin, --key and --device.";

// `page`: the address of the approval page.
export function offer(page, operation, args) {
  return [
    el("p", {}, el("a", { href: orderLink(page, operation, args), target: "_blank", rel: "noopener noreferrer" }, "Sign it on the approval page")),
    el("p", {}, el("code", {}, commandOf(operation, args))),
    note(NEEDS),
  ];
}

// The same behind one word.
export function offered(word, page, operation, args) {
  return el("details", { class: "order" }, el("summary", {}, word), offer(page, operation, args));
}

// A form behind its title. `fields`: [name, label, attributes or choices]; `act(values)` gives what is shown below it.
export function orderForm(title, fields, button, act) {
  const id = (name) => `${title}-${name}`.replaceAll(" ", "-").toLowerCase();
  const shown = el("div", { role: "status" });
  const inputs = fields.map(([name, label, more]) => {
    const input = Array.isArray(more)
      ? el("select", { id: id(name), name }, more.map((value) => el("option", { value }, value)))
      : el("input", { id: id(name), name, autocomplete: "off", spellcheck: "false", autocapitalize: "off", ...more });
    const parts = [el("label", { for: id(name) }, label), input];
    return el("p", { class: more?.type === "checkbox" ? "check" : "field" }, more?.type === "checkbox" ? parts.reverse() : parts);
  });
  const submitted = async (event) => {
    event.preventDefault();
    const values = Object.fromEntries([...event.target.elements].filter(({ name }) => name).map((input) => [input.name, input.type === "checkbox" ? input.checked : input.value]));
    shown.replaceChildren(...[await act(values)].flat());
  };
  return el("details", { class: "order" }, el("summary", {}, title), el("form", { submit: submitted }, inputs, el("button", { type: "submit" }, button), shown));
}
