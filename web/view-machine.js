// What is wrong, and how the machine is.

import { call } from "./api.js";
import { el } from "./dom.js";
import { bytes, duration, share } from "./format.js";
import { problems } from "./problems.js";
import { View, note, row } from "./view.js";

// A part that may not be read leaves the others.
const perhaps = (tool) => call(tool).catch(() => null);

export class Problems extends View {
  heading = "Problems";
  follows = ["raspi://health", "raspi://update", "raspi://server"];

  async read() {
    const [status, health, update] = await Promise.all([
      call("manage.get_server_status"),
      perhaps("system.get_health_snapshot"),
      perhaps("manage.get_update_status"),
    ]);
    return { found: problems({ status, health, update }), simulated: status.config_summary?.board === "simulated" };
  }

  show({ found, simulated }) {
    const list = found.map(({ level, text }) => row(el("b", { class: level }, level === "bad" ? "Problem" : "Notice"), el("span", {}, text)));
    return [
      found.length > 0 ? el("ul", { class: "rows" }, list) : el("p", { class: "good" }, "Nothing is known to be wrong."),
      simulated ? note("The board is simulated: nothing here reaches a pin or a camera.") : null,
    ];
  }
}

export class Health extends View {
  heading = "Machine";
  follows = ["raspi://health"];

  read() {
    return call("system.get_health_snapshot");
  }

  show(health) {
    const facts = [
      ["Processor", health.cpu_usage_percent, (value) => `${Math.round(value)} %`],
      ["Temperature", health.cpu_temperature_celsius, (value) => `${value.toFixed(1)} °C`],
      ["Load", health.load_average, (value) => value.map((one) => one.toFixed(2)).join("  ")],
      ["Memory", health.memory_used_bytes, (value) => `${bytes(value)} of ${bytes(health.memory_total_bytes)} (${share(value, health.memory_total_bytes)})`],
      ...(health.file_systems ?? []).filter((disk) => disk.total_bytes).map((disk) => [disk.mount_point, disk.used_percent, (value) => `${Math.round(value)} % of ${bytes(disk.total_bytes)}`]),
    ];
    const known = facts.filter(([, value]) => value !== undefined && value !== null);
    return el("dl", {}, known.map(([name, value, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text(value)))));
  }
}

const STATES = { good: "good", writing: "being written", armed: "armed: next to be tried", trial: "on trial", bad: "bad: cannot or must not be started", unknown: "nothing known" };

export class Slots extends View {
  heading = "Slots and update";
  follows = ["raspi://update"];

  read() {
    return call("manage.get_update_status");
  }

  show(update) {
    const slots = (update.slots ?? []).map((slot) => row(
      el("b", {}, `Slot ${slot.slot}`),
      el("span", {}, [slot.version, STATES[slot.state] ?? slot.state].filter(Boolean).join(", ")),
      slot.running ? el("span", { class: "tag" }, "running") : null,
      slot.next && !slot.running ? el("span", { class: "tag" }, "next") : null,
      slot.note && slot.note !== update.last_attempt?.reason ? el("small", {}, slot.note) : null,
    ));
    const { status, message, progress_percent: progress } = update.status ?? {};
    const last = update.last_attempt;
    const left = update.trial_seconds_left;
    return [
      slots.length > 0 ? el("ul", { class: "rows" }, slots) : note("This machine has one system, without slots."),
      status === "running" ? el("label", { class: "progress" }, `${update.phase ?? "running"} ${update.new_version ?? ""}`, el("progress", { max: 100, value: progress })) : null,
      left === undefined ? null : note(`The trial ends in ${duration(left)}.`),
      message && message !== last?.reason ? note(message) : null,
      last?.reason ? el("p", { class: "refusal" }, `Update to ${last.version}: ${last.reason}`, last.log_tail ? el("details", {}, el("summary", {}, "Last lines of its log"), el("pre", { tabindex: 0 }, last.log_tail)) : null) : null,
    ];
  }
}
