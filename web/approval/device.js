// One device: what it answers, and the list of devices of a page that asks many. Pure but for `fetch`: tested by node.

/** Devices in one list: a signature for all of them has to fit into one request. */
const MAX_DEVICES = 48;

/** An error that trying again does not mend. */
export const final = (text) => Object.assign(new Error(text), { final: true });

export class Device {
  /** `name` and `url` are empty for the device whose own page this is; `id` is that which it must have. */
  constructor({ name = "", url = "", id }) {
    Object.assign(this, { name, url, id });
  }

  /** An answer of the device; an error has its words. `patience`: milliseconds after which there is none. */
  async request(path, body, patience) {
    const options = body ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {};
    if (patience) options.signal = AbortSignal.timeout(patience);
    const response = await fetch(`${this.url}/${path}`, { credentials: "omit", ...options });
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return answer;
    const { message, data } = answer.error ?? {};
    throw final([message ?? `the device answered ${response.status}`, data?.hint].filter(Boolean).join(". "));
  }

  /** Its key, start and time. Any device could answer here: only the one with this ID counts. */
  async describe(patience) {
    const facts = await this.request("approvals/device", null, patience);
    if (facts.id !== this.id) throw final(`This is another device than the one ${this.name ? "in the list" : "this key was made for"}.`);
    return facts;
  }
}

/** The devices of a list: names, addresses and IDs, each once. An error names what is wrong. */
export function devicesIn(list) {
  if (!Array.isArray(list) || !list.length || list.length > MAX_DEVICES) throw new Error(`devices.json must be a list of 1 to ${MAX_DEVICES} devices`);
  const seen = new Set();
  return list.map((entry, at) => {
    const { name, url, id } = entry ?? {};
    const wrong = (what) => new Error(`devices.json: device ${at + 1} ${what}`);
    if (typeof name !== "string" || !name.trim()) throw wrong("has no name");
    if (!/^[0-9a-f]{64}$/.test(id)) throw wrong("has no ID of 64 digits, as `raspi-mcp approver list` prints it");
    const address = URL.canParse(url) ? new URL(url) : null;
    if (address?.protocol !== "https:" || address.origin !== url) throw wrong("has no address such as https://HOST:8444");
    for (const one of [name, url, id]) {
      if (seen.has(one)) throw wrong("has the name, address or ID of another");
      seen.add(one);
    }
    return new Device({ name, url, id });
  });
}
