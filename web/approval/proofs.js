// Proofs that this key may read what waits: one signature for all devices at once, since a passkey asks its user each time.

import { final } from "./device.js";
import { base64url, join, listChallenge, listPart, listsChallenge } from "./protocol.js";

/** Good for five minutes; made anew before. */
const GOOD_MS = 240_000;
/** How long one device may keep the others waiting. */
const PATIENCE_MS = 4000;

/** The proofs for these devices with their facts, in their order. `sign` is called once; `random` gives a salt. */
export async function prove(facts, sign, random) {
  const own = await Promise.all(facts.map(listChallenge));
  if (facts.length === 1) return [{ time_ms: facts[0].time_ms, ...(await sign(own[0])) }];
  // Each device is told its own salt alone, so none can use the proof at another.
  const salts = facts.map(() => random());
  const parts = join(...(await Promise.all(own.map((one, at) => listPart(one, salts[at])))));
  const signed = await sign(await listsChallenge(parts));
  return facts.map(({ time_ms }, at) => ({ time_ms, ...signed, parts: base64url(parts), salt: base64url(salts[at]) }));
}

export class Proofs {
  #kept = new Map();
  #signing = null;

  /** `devices`: those that one signature is for. */
  constructor(devices, sign) {
    Object.assign(this, { devices, sign });
  }

  /** The proof for a device that answered with these facts. */
  async of(device, facts) {
    for (;;) {
      const kept = this.#kept.get(device);
      if (kept?.boot === facts.boot && Math.abs(facts.time_ms - kept.time_ms) < GOOD_MS) return kept.proof;
      this.#signing ??= this.#make(device, facts).finally(() => { this.#signing = null; });
      await this.#signing;
    }
  }

  async #make(device, facts) {
    const others = this.devices.filter((other) => other !== device && !other.gone);
    const answers = await Promise.allSettled(others.map((other) => other.describe(PATIENCE_MS)));
    const all = [[device, facts], ...others.map((other, at) => [other, answers[at].value])].filter(([, known]) => known);
    const salt = () => crypto.getRandomValues(new Uint8Array(32));
    const proofs = await prove(all.map(([, known]) => known), this.sign, salt).catch((error) => {
      throw final(`Nothing was signed: ${error.message}`);
    });
    all.forEach(([one, { boot, time_ms }], at) => this.#kept.set(one, { boot, time_ms, proof: proofs[at] }));
  }
}
