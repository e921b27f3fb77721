// The page: who this browser is, what waits, and its answers. With an order in the address: that order, and nothing else.

import { askView, element } from "./ask.js";
import { showEnrolment } from "./enrol.js";
import { load, sign } from "./keys.js";
import { orderView } from "./order-view.js";
import { orderIn } from "./order.js";
import { challenge, listChallenge, open } from "./protocol.js";

const at = (id) => document.getElementById(id);
const tell = (text) => { at("status").textContent = text; };

/** An answer of the device; an error has its words. */
async function request(path, body) {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`/${path}`, options);
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const { message, data } = answer.error ?? {};
  const words = [message ?? `the device answered ${response.status}`, data?.hint].filter(Boolean).join(". ");
  throw Object.assign(new Error(words), { refused: true });
}

async function show(asks, key) {
  const views = [];
  for (const signed of asks) {
    const ask = await open(signed, key.device);
    const old = at("asks").querySelector(`[data-ask="${CSS.escape(ask.ask)}"]`);
    views.push(old ?? askView(ask, key.kind, async (decision) => {
      const signature = await sign(key, await challenge(decision, signed.document));
      await request("approvals/answer", { ask: ask.ask, nonce: ask.nonce, decision, ...signature });
    }));
  }
  at("asks").replaceChildren(...views);
  at("enrol").hidden = true;
  tell(views.length ? `${views.length} waiting` : "Nothing waits for you.");
  document.title = views.length ? `(${views.length}) Approvals` : "Approvals";
}

let watching = false;

/** Shows what waits until the key is refused. The device answers when something changes; nothing is asked while the page is hidden. */
async function watch(key) {
  if (watching) return;
  watching = true;
  try {
    await follow(key);
  } finally {
    watching = false;
  }
}

async function follow(key) {
  let proof, signedAt, boot, known;
  for (;;) {
    if (document.hidden) await new Promise((seen) => document.addEventListener("visibilitychange", seen, { once: true }));
    try {
      const device = await request("approvals/device");
      if (device.id !== key.device) throw Object.assign(new Error("This is another device than the one this key was made for."), { refused: true });
      if (!proof || device.boot !== boot || device.time_ms - signedAt > 240_000) {
        proof = { time_ms: device.time_ms, ...(await sign(key, await listChallenge(device))) };
        [signedAt, boot, known] = [device.time_ms, device.boot, undefined];
      }
      const asks = await request("approvals/list", known ? { proof, known } : { proof });
      known = asks.map((ask) => JSON.parse(ask.document).ask);
      await show(asks, key);
    } catch (error) {
      if (error.refused) throw error;
      tell(`No answer: ${error.message}. Trying again.`);
      known = undefined;
      await new Promise((later) => setTimeout(later, 3000));
    }
  }
}

function showOrder(order, key, device) {
  const passkey = key?.kind === "passkey" ? key : null;
  at("asks").replaceChildren(orderView(order, passkey, request, tell));
  tell(passkey ? "An order waits for your signature." : "An order needs a passkey. A key that a browser keeps signs none; at a terminal, a cli key does.");
  if (!passkey) showEnrolment(at("enrol"), { key: null, device: device.id, kinds: ["passkey"], tell, go });
}

/** What this browser can do now. Called again after a key was made, enrolled or forgotten. */
async function go() {
  const device = await request("approvals/device");
  at("device").textContent = `Device ${device.id}`;
  at("enrol").hidden = true;
  const [order, key] = [orderIn(location.hash), await load()];
  if (order) return showOrder(order, key, device);
  if (!key) {
    tell("This browser has no key yet.");
    return showEnrolment(at("enrol"), { key, device: device.id, kinds: ["browser", "passkey"], tell, go });
  }
  return watch(key).catch((error) => {
    tell(error.message);
    showEnrolment(at("enrol"), { key, device: device.id, kinds: [key.kind], tell, go });
  });
}

addEventListener("hashchange", () => location.reload());
await go().catch((error) => tell(error.message));
