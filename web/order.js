// Orders that need the owner's signature. This page signs nothing: it writes a link to the approval page, and the command that
// does the same. Pure functions, tested by themselves.

// What each operation is at a terminal: a command, and the option of each argument ("" for one without an option).
const COMMANDS = {
  allow: ["raspi-mcp allow", { tool: "", units: "", cameras: "", pins: "--pin", devices: "--device", paths: "--path", callers: "--for", ask: "--ask" }],
  revoke: ["raspi-mcp revoke", { tool: "", units: "", cameras: "", pins: "--pin", devices: "--device", paths: "--path", callers: "--for" }],
  make_token: ["raspi-mcp token make", { name: "--name", role: "--role", owner: "--owner", expires: "--expires" }],
  revoke_token: ["raspi-mcp token revoke", { name: "" }],
  lift_halt: ["raspi-mcp halt --lift", {}],
};
// What of a tool a grant may name, in the order in which it is shown and asked for.
export const REACH = [
  ["pins", "GPIO pins"],
  ["devices", "I2C devices"],
  ["units", "Services"],
  ["cameras", "Cameras"],
  ["paths", "Folders"],
];

// Where the approval page is: what the owner configured for news, else the host of this page and the port of approval.listen.
export function approvalPage(settings, here) {
  try {
    const configured = new URL(settings?.notifications?.page);
    if (configured.protocol.startsWith("https")) return new URL("/", configured).href;
  } catch {
    // None is configured.
  }
  const url = new URL("/", here);
  url.protocol = "https";
  url.port = /:(\d+)$/.exec(settings?.approval?.listen ?? "")?.[1] ?? "8444";
  return url.href;
}

export function orderLink(page, operation, args) {
  const text = String.fromCharCode(...new TextEncoder().encode(JSON.stringify({ operation, args })));
  return `${page}#order=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function commandOf(operation, args) {
  const [command, options] = COMMANDS[operation];
  const words = Object.entries(options).flatMap(([name, option]) => {
    if (args[name] === undefined || args[name] === false) return [];
    if (args[name] === true) return [option];
    return [args[name]].flat().map((value) => (option ? `${option} ${quoted(String(value))}` : quoted(String(value))));
  });
  return [command, ...words].join(" ");
}

// The arguments that revoke exactly this grant.
export function revoking(grant) {
  const args = { tool: grant.tool };
  for (const [name] of REACH) if (grant[name]?.length > 0) args[name] = grant[name];
  if (grant.for?.length > 0) args.callers = grant.for;
  return args;
}

// What a form gives: empty fields are left out, lists are separated by commas or white space, pins are numbers.
export function grantOf(fields) {
  const list = (text) => (text ?? "").split(/[,\s]+/).filter(Boolean);
  const args = { tool: (fields.tool ?? "").trim() };
  for (const name of [...REACH.map(([reach]) => reach), "callers"]) {
    const items = list(fields[name]);
    if (items.length > 0) args[name] = name === "pins" ? items.map(Number) : items;
  }
  if (fields.ask) args.ask = true;
  return args;
}

export function tokenOf(fields) {
  const args = { name: (fields.name ?? "").trim(), role: fields.role };
  if (fields.owner?.trim()) args.owner = fields.owner.trim();
  if (fields.expires) args.expires = new Date(fields.expires).toISOString().replace(".000", "");
  return args;
}
