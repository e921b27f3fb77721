// Numbers and times as people read them.

export function bytes(count) {
  if (!Number.isFinite(count)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let step = 0;
  while (count >= 1024 && step < units.length - 1) {
    count /= 1024;
    step += 1;
  }
  return `${step > 0 && count < 10 ? count.toFixed(1) : Math.round(count)} ${units[step]}`;
}

export function percent(value) {
  return Number.isFinite(value) ? `${Math.round(value)} %` : "–";
}

export function share(part, whole) {
  return percent(whole > 0 ? (100 * part) / whole : NaN);
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const at = Math.max(0, units.findIndex(([, length]) => seconds >= length));
  if (seconds < 1) return "0 s";
  const [name, length] = units[at];
  const [below, lesser] = units[at + 1] ?? ["", 0];
  const rest = lesser ? Math.floor((seconds % length) / lesser) : 0;
  return `${Math.floor(seconds / length)} ${name}${rest > 0 ? ` ${rest} ${below}` : ""}`;
}

// What a log line tells beside its message.
export function fields(all) {
  return Object.entries(all ?? {}).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" ");
}

// The local time; with its date, unless that is today's.
export function clock(stamp, now = new Date()) {
  const at = new Date(stamp);
  if (Number.isNaN(at.getTime())) return "–";
  const time = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  return at.toDateString() === now.toDateString() ? time : `${at.toLocaleDateString()} ${time}`;
}
