// Services, the server's own log, and what the sampling jobs have kept.

import { call } from "./api.js";
import { chart, extent } from "./chart.js";
import { el } from "./dom.js";
import { bytes, clock, fields } from "./format.js";
import { View, note, row } from "./view.js";

// Services that are shown without being asked for.
const SHOWN = 12;

export class Services extends View {
  heading = "Services";
  gap = 2000;

  begin() {
    // No resource is about all of them: it is read again when a call has changed one, and when somebody asks.
    this.head.append(el("button", { type: "button", class: "quiet", click: () => this.refresh() }, "Read again"));
    this.told = (event) => event.detail.startsWith("service.") && this.refresh();
    document.addEventListener("called", this.told);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener("called", this.told);
  }

  async read() {
    return (await call("service.list_services", { status: ["active", "failed", "activating"], limit: 500 })).services;
  }

  show(services) {
    const rank = (service) => (service.status === "failed" ? 0 : service.sub_status === "running" ? 1 : 2);
    const sorted = [...services].sort((a, b) => rank(a) - rank(b));
    const line = (service) => row(
      el("b", {}, service.name.replace(/\.service$/, "")),
      el("span", { class: service.status === "failed" ? "bad" : "" }, service.sub_status),
      el("small", {}, service.description),
    );
    const rest = sorted.slice(SHOWN);
    return [
      sorted.length > 0 ? el("ul", { class: "rows" }, sorted.slice(0, SHOWN).map(line)) : note("No service runs."),
      rest.length > 0 ? el("details", {}, el("summary", {}, `${rest.length} more`), el("ul", { class: "rows" }, rest.map(line))) : null,
    ];
  }
}

export class Log extends View {
  heading = "Log of the server";
  follows = ["raspi://logs/app"];
  gap = 1000;

  async read() {
    return (await call("logs.get_recent_app_logs", { level: "info", limit: 40 })).entries;
  }

  show(entries) {
    if (entries.length === 0) return note("Nothing was logged yet.");
    const lines = entries.map(({ timestamp, level, message, fields: more }) => row(
      el("time", { datetime: timestamp }, clock(timestamp)),
      el("b", { class: level === "error" ? "bad" : level === "warn" ? "warn" : "" }, level),
      el("span", {}, message),
      more ? el("small", {}, fields(more)) : null,
    ));
    return el("ul", { class: "rows scroll", tabindex: 0, "aria-label": "Newest lines of the log" }, lines);
  }
}

const SERIES = [
  ["cpu_usage_percent", "Processor", (value) => `${Math.round(value)} %`],
  ["cpu_temperature_celsius", "Temperature", (value) => `${value.toFixed(1)} °C`],
  ["memory_used_percent", "Memory", (value) => `${Math.round(value)} %`],
  ["load_average_1m", "Load", (value) => value.toFixed(2)],
  ["network_received_bytes_per_sec", "Received", (value) => `${bytes(value)}/s`],
  ["network_sent_bytes_per_sec", "Sent", (value) => `${bytes(value)}/s`],
];
// Hours, and the length of a bucket in seconds: some hundred points each.
const SPANS = [[1, 30], [24, 300], [168, 1800]];
const NAMES = { 1: "last hour", 24: "last day", 168: "last week" };

export class Samples extends View {
  heading = "Samples";
  follows = ["raspi://sampling"];
  gap = 5000;

  begin() {
    const options = SPANS.map(([hours]) => el("option", { value: hours }, NAMES[hours]));
    this.choice = el("select", { "aria-label": "Time of the samples", change: () => this.refresh() }, options);
    this.head.append(this.choice);
  }

  async read() {
    const { jobs, note: why } = await call("metrics.list_sampling_jobs");
    const job = jobs.find((one) => one.default) ?? jobs.find((one) => one.status === "running") ?? jobs[0];
    if (!job) return { why };
    const [hours, seconds] = SPANS.find(([span]) => String(span) === this.choice.value) ?? SPANS[0];
    const to = Date.now();
    const from = to - hours * 3600000;
    const gap = Math.max(seconds, job.interval_seconds) * 2500;
    const asked = { metric_names: SERIES.map(([name]) => name), start_time: new Date(from).toISOString(), resolution: `${seconds}s`, job_id: job.job_id };
    return { metrics: (await call("metrics.query_history", asked)).metrics, from, to, gap };
  }

  show({ metrics, why, from, to, gap }) {
    if (!metrics) return note(why ?? "Nothing is sampled.");
    const figures = SERIES.flatMap(([name, title, text]) => {
      const series = (metrics[name] ?? []).map((bucket) => [Date.parse(bucket.timestamp), bucket.value]);
      if (series.length === 0) return [];
      const { low, high } = extent(series);
      const now = text(series[series.length - 1][1]);
      const range = `${text(low)} to ${text(high)}`;
      return [el("figure", { class: "sample" },
        el("figcaption", {}, el("b", {}, title), el("span", {}, now), el("small", {}, range)),
        chart(`${title}: ${now}, ${range}`, series, { from, to, low, high, gap }))];
    });
    return figures.length > 0 ? figures : note("No sample of this time is kept.");
  }
}
