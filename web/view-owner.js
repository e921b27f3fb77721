// What the owner decides: what is allowed, which tokens there are, and the halt.

import { call } from "./api.js";
import { el } from "./dom.js";
import { clock } from "./format.js";
import { REACH, approvalPage, grantOf, revoking, tokenOf } from "./order.js";
import { View, note, refusal, row } from "./view.js";
import { offer, offered, orderForm } from "./view-order.js";

// A card of what manage.get_server_status tells; `page` is the address of the approval page.
export class OfServer extends View {
  follows = ["raspi://server"];
  page = "";

  async read() {
    const status = await call("manage.get_server_status");
    this.page = approvalPage(status.config_summary, location.href);
    return this.pick(status);
  }
}

export class Grants extends OfServer {
  heading = "What is allowed";

  begin() {
    const list = { placeholder: "any that the settings list" };
    const fields = [
      ["tool", "Tool", { required: true, placeholder: "gpio.write_pin" }],
      ...REACH.map(([name, label]) => [name, label, name === "pins" ? { ...list, pattern: "[0-9, ]*", inputmode: "numeric" } : list]),
      ["callers", "For these callers alone", { placeholder: "everybody with the role" }],
      ["ask", "Ask a person each time", { type: "checkbox" }],
    ];
    this.firstElementChild.append(orderForm("Allow a tool", fields, "Prepare", (values) => offer(this.page, "allow", grantOf(values))));
  }

  pick(status) {
    const { enable, disable, allow } = status.config_summary?.tools ?? {};
    return { enable: enable ?? [], disable: disable ?? [], allow: allow ?? [] };
  }

  show({ enable, disable, allow }) {
    const lines = allow.map((grant) => row(
      el("b", {}, grant.tool),
      REACH.filter(([name]) => grant[name]?.length > 0).map(([name, label]) => el("span", {}, `${label}: ${grant[name].join(", ")}`)),
      el("span", {}, grant.for?.length > 0 ? `for ${grant.for.join(", ")}` : "for everybody with the role"),
      grant.by || grant.at ? el("small", {}, [grant.by ? `by ${grant.by}` : "", grant.at ? clock(grant.at) : ""].filter(Boolean).join(", ")) : null,
      offered("Revoke", this.page, "revoke", revoking(grant)),
    ));
    return [
      note(`On by the settings: ${enable.join(", ") || "the fundamental tools"}.${disable.length > 0 ? ` Off: ${disable.join(", ")}.` : ""}`),
      lines.length > 0 ? el("ul", { class: "rows" }, lines) : note("Nothing was allowed beyond the settings."),
    ];
  }
}

export class Tokens extends OfServer {
  heading = "Tokens";

  begin() {
    const fields = [
      ["name", "Name", { required: true, maxlength: 64, placeholder: "laptop" }],
      ["role", "Role", ["read_only", "ops_rw", "admin"]],
      ["owner", "Owner", { placeholder: "nobody in particular" }],
      ["expires", "Expires", { type: "datetime-local" }],
    ];
    this.firstElementChild.append(orderForm("Make a token", fields, "Prepare", (values) => offer(this.page, "make_token", tokenOf(values))));
  }

  pick(status) {
    return status.config_summary?.access?.tokens ?? [];
  }

  show(tokens) {
    if (tokens.length === 0) return note("There is no token.");
    return el("ul", { class: "rows" }, tokens.map((token) => row(
      el("b", {}, token.name),
      el("span", {}, token.role),
      token.owner ? el("span", {}, `of ${token.owner}`) : null,
      el("small", {}, token.expires ? `until ${clock(token.expires)}` : "does not expire"),
      offered("Revoke", this.page, "revoke_token", { name: token.name }))));
  }
}

export class Halt extends OfServer {
  heading = "Halt";

  begin() {
    const halt = ({ reason }) => call("manage.halt", reason.trim() ? { reason: reason.trim() } : {}).then(() => [], refusal);
    this.form = orderForm("Halt this machine", [["reason", "Why, in one line", { maxlength: 200 }]], "Halt: refuse every change", halt);
    this.firstElementChild.append(this.form);
  }

  pick(status) {
    return status.halted ?? null;
  }

  show(halted) {
    this.form.hidden = Boolean(halted);
    this.classList.toggle("calls", Boolean(halted));
    if (!halted) return note("Changes are accepted. A halt refuses them all, until a person lifts it.");
    return [
      el("p", { class: "badge" }, `Halted since ${clock(halted.since)} by ${halted.by} (${halted.how})`),
      halted.reason ? el("p", {}, halted.reason) : null,
      offered("Lift the halt", this.page, "lift_halt", {}),
    ];
  }
}

// The settings as a file; what is secret is not the page's to see.
export class Backup extends View {
  heading = "Backup";

  read() {
    return Promise.resolve({});
  }

  show() {
    const out = el("p", { role: "status" });
    return [
      note("The settings, without secrets, as a file for another machine. A whole backup, with keys and passwords, is made on your own computer: raspi-mcp backup --identity --out FILE --url … --key … --device …"),
      el("ul", { class: "rows" }, row(el("button", { type: "button", click: () => save().then((text) => out.replaceChildren(text), (error) => out.replaceChildren(refusal(error))) }, "Download the settings"))),
      out,
    ];
  }
}

async function save() {
  const { toml, left_out: secret } = await call("manage.export_settings");
  const address = URL.createObjectURL(new Blob([toml], { type: "application/toml" }));
  el("a", { href: address, download: "raspi-mcp-settings.toml" }).click();
  URL.revokeObjectURL(address);
  return savedText(secret);
}

// What was left out, in a sentence.
export function savedText(secret) {
  return secret.length > 0 ? `Saved. Not in it, since it is secret: ${secret.join(", ")}.` : "Saved. Nothing was left out.";
}
