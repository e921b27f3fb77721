// Shows what waits at one device, as long as it takes this page's key.

import { askView } from "./ask.js";
import { sign } from "./keys.js";
import { challenge, open } from "./protocol.js";

const AGAIN_MS = 3000;

async function show(asks, { device, key, place, tell }) {
  const views = [];
  for (const signed of asks) {
    const ask = await open(signed, device.id);
    const old = place.querySelector(`[data-ask="${CSS.escape(ask.ask)}"]`);
    views.push(old ?? askView(ask, key.kind, device.name, async (decision) => {
      const signature = await sign(key, await challenge(decision, signed.document));
      await device.request("approvals/answer", { ask: ask.ask, nonce: ask.nonce, decision, ...signature });
    }));
  }
  place.replaceChildren(...views);
  tell(views.length ? `${views.length} waiting` : "Nothing waits for you.");
}

/**
 * The device answers when something changes; nothing is asked while the page is hidden. `proofs` prove who asks, `place` gets the
 * requests, `tell` says how it stands. Ends with the error that ended it.
 */
export async function follow(view) {
  const { device, proofs, tell } = view;
  let boot, known;
  for (;;) {
    if (document.hidden) await new Promise((seen) => document.addEventListener("visibilitychange", seen, { once: true }));
    try {
      const facts = await device.describe();
      if (facts.boot !== boot) [boot, known] = [facts.boot, undefined];
      const proof = await proofs.of(device, facts);
      const asks = await device.request("approvals/list", known ? { proof, known } : { proof });
      known = asks.map((ask) => JSON.parse(ask.document).ask);
      await show(asks, view);
    } catch (error) {
      if (error.final) throw error;
      tell(`No answer: ${error.message}. Trying again.`, true);
      known = undefined;
      await new Promise((later) => setTimeout(later, AGAIN_MS));
    }
  }
}
