// Who did what, who is connected, and who called lately.

import { call } from "./api.js";
import { el } from "./dom.js";
import { clock } from "./format.js";
import { View, note, row } from "./view.js";

// Records that are read, and shown.
const RECORDS = 200;
const NEWEST = 40;

// What a person wants to see: changes and refusals, and reads of others; not what this page reads itself.
export function worth(entry, own) {
  return entry.principal !== own || entry.outcome !== "ok" || Boolean(entry.changed);
}

// The newest call of each caller, newest first.
export function callers(entries) {
  const seen = new Map();
  for (const entry of entries) if (!seen.has(entry.principal)) seen.set(entry.principal, entry);
  return [...seen.values()];
}

function records() {
  return call("logs.get_recent_audit_logs", { limit: RECORDS });
}

export class Audit extends View {
  heading = "Audit";
  follows = ["raspi://audit"];
  gap = 1000;
  newest = null;

  async read() {
    const { entries, scope } = await records();
    for (const entry of entries) {
      if (this.newest !== null && entry.seq > this.newest && entry.changed) document.dispatchEvent(new CustomEvent("called", { detail: entry.tool }));
    }
    this.newest = entries[0]?.seq ?? 0;
    const own = this.getAttribute("principal");
    return { shown: entries.filter((entry) => worth(entry, own)).slice(0, NEWEST), scope };
  }

  show({ shown, scope }) {
    const lines = shown.map((entry) => row(
      el("time", { datetime: entry.timestamp }, clock(entry.timestamp)),
      el("b", {}, entry.tool),
      el("span", {}, entry.principal),
      el("span", { class: entry.outcome === "ok" ? "" : "bad" }, entry.count > 1 ? `${entry.outcome} × ${entry.count}` : entry.outcome),
      entry.changed ? el("span", { class: "tag" }, "changed") : null,
      entry.message ? el("small", {}, entry.message) : null,
    ));
    return [
      lines.length > 0 ? el("ul", { class: "rows scroll", tabindex: 0, "aria-label": "Newest records of the audit" }, lines) : note("No call yet, beside what this page reads."),
      scope === "own" ? note("These are your own calls; an admin sees all.") : null,
    ];
  }
}

export class Callers extends View {
  heading = "Callers";
  follows = ["raspi://audit"];
  gap = 2000;

  async read() {
    const [{ entries }, { connections }] = await Promise.all([records(), call("manage.get_server_status")]);
    return { connections: connections ?? [], all: callers(entries).map(({ principal, door, timestamp, tool }) => ({ principal, door, timestamp, tool })) };
  }

  show({ connections, all }) {
    const open = connections.map(({ caller, count }) => (count > 1 ? `${caller} (${count})` : caller));
    const now = open.length > 0 ? el("p", {}, el("b", {}, "Connected now: "), open.join(", ")) : null;
    return [now, el("ul", { class: "rows" }, all.map(({ principal, door, timestamp, tool }) => row(
      el("b", {}, principal), el("span", {}, door), el("time", { datetime: timestamp }, clock(timestamp)), el("small", {}, tool))))];
  }
}
