// What needs somebody's attention, worst first, out of what three tools say. A pure function, tested by itself.

const FLAGS = {
  under_voltage: "the supply is too weak (under-voltage)",
  throttled: "the processor is throttled",
  freq_capped: "the processor's clock is capped",
  soft_temperature_limit: "the board slows down because it is warm",
};
const RESETS = {
  under_voltage: "the last start came after under-voltage",
  over_voltage: "the last start came after over-voltage",
  over_temperature: "the last start came after over-heating",
  watchdog: "the watchdog restarted the machine",
};

function ofStatus(status, add) {
  for (const fault of status.config_faults ?? []) add("bad", `configuration: ${fault}`);
  const { agent, audit, halted } = status;
  if (halted) add("bad", `the machine is halted, every change is refused: ${halted.reason ?? `by ${halted.by}`}`);
  if (agent && !agent.reachable) add("bad", `the agent does not answer: ${agent.reason ?? "no reason known"}`);
  for (const fault of agent?.faults ?? []) add("bad", `agent: ${fault}`);
  if (audit && !audit.ok) add("bad", `no write is done, since the audit cannot be kept: ${audit.reason ?? "no reason known"}`);
  if (audit?.doubt) add("bad", `audit: ${audit.doubt}`);
  if (audit?.set_aside) add("warn", `a damaged store was put at ${audit.set_aside}`);
}

function ofHealth(health, add) {
  for (const warning of health.warnings ?? []) add("warn", warning);
  const flags = health.throttling_flags ?? {};
  for (const [flag, text] of Object.entries(FLAGS)) {
    if (flags[flag]) add("bad", text);
    else if (flags[`${flag}_occurred`]) add("warn", `since the start: ${text.replace(" is ", " was ")}`);
  }
  for (const disk of health.file_systems ?? []) if (disk.problem) add("warn", `${disk.mount_point}: ${disk.problem}`);
  for (const card of health.cards ?? []) {
    if (card.life_used_percent >= 90) add("bad", `${card.device}: ${card.life_used_percent} % of its life are used; replace the card`);
    else if (card.spare_blocks && card.spare_blocks !== "normal") add("warn", `${card.device}: spare blocks: ${card.spare_blocks}`);
  }
  const cause = RESETS[health.last_reset?.cause];
  if (cause) add("warn", cause);
  if (health.last_reset?.crash_records > 0) add("warn", `${health.last_reset.crash_records} crash records of the kernel are kept`);
  if (health.clock_synchronized === false) add("warn", "the clock has not been set from the network since the start");
  if (health.sampling_fault) add("warn", `samples are not kept: ${health.sampling_fault}`);
  for (const [field, why] of Object.entries(health.unreadable ?? {})) add("warn", `${field} cannot be read: ${why}`);
}

function ofUpdate(update, add) {
  for (const fault of update.faults ?? []) add("bad", `update: ${fault}`);
  for (const problem of update.health_problems ?? []) add("bad", `trial: ${problem}`);
  const last = update.last_attempt;
  if (last && (last.phase === "failed" || last.phase === "rolled_back")) {
    const how = last.phase === "failed" ? "failed" : "was rolled back";
    add("warn", `the update to ${last.version} ${how}: ${last.reason || "no reason known"}`);
  }
}

// [{ level: "bad" | "warn", text }]; what could not be read is null here, and no problem by itself.
export function problems({ status, health, update }) {
  const found = [];
  const add = (level, text) => found.push({ level, text });
  if (status) ofStatus(status, add);
  if (health) ofHealth(health, add);
  if (update) ofUpdate(update, add);
  return found.sort((a, b) => (a.level === b.level ? 0 : a.level === "bad" ? -1 : 1));
}
