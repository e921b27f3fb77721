// The page: who this browser is, what waits, and its answers.

import { askView, element } from "./ask.js";
import { forget, load, makeBrowserKey, makePasskey, passkeysWork, sign } from "./keys.js";
import { challenge, listChallenge, open } from "./protocol.js";

const at = (id) => document.getElementById(id);
const tell = (text) => { at("status").textContent = text; };

/** An answer of the device; an error has its words. */
async function request(path, body) {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`/approvals/${path}`, options);
  const answer = await response.json();
  if (response.ok) return answer;
  throw Object.assign(new Error(answer.error?.message ?? `the device answered ${response.status}`), { refused: true });
}

function showEnrolment(key, device) {
  const name = element("input", { value: "phone", maxLength: 64, autocomplete: "off" });
  const command = element("textarea", { readOnly: true, ariaLabel: "Command" });
  const write = (made) => {
    command.value = `raspi-mcp approver add --name ${name.value} --kind ${made.kind} --origin ${location.origin} --key ${made.spki}`;
  };
  const make = (text, maker) => element("button", {
    type: "button", textContent: text,
    onclick: () => maker().then((made) => showEnrolment(made, device), (error) => tell(error.message)),
  });
  const parts = [element("h2", { textContent: key ? "Enrol this key" : "Make a key" })];
  if (key) {
    name.oninput = () => write(key);
    write(key);
    parts.push(
      element("p", { textContent: "Run this on the device, as root. It must print the same device ID as above." }),
      element("label", {}, "Name ", name), command,
      make("I have done that", async () => { await watch(key); return key; }),
      make("Start over", async () => { await forget(); return null; }),
    );
  } else {
    parts.push(
      element("p", { textContent: "The key stays in this browser. Without it, nothing is shown here." }),
      element("label", {}, "Name ", name),
      make("Make a browser key", () => makeBrowserKey(device)),
    );
    if (passkeysWork()) parts.push(make("Use a passkey", () => makePasskey(device, name.value)));
  }
  at("enrol").replaceChildren(...parts);
  at("enrol").hidden = false;
}

async function show(asks, key) {
  const views = [];
  for (const signed of asks) {
    const ask = await open(signed, key.device);
    const old = at("asks").querySelector(`[data-ask="${CSS.escape(ask.ask)}"]`);
    views.push(old ?? askView(ask, key.kind, async (decision) => {
      const signature = await sign(key, await challenge(decision, signed.document));
      await request("answer", { ask: ask.ask, nonce: ask.nonce, decision, ...signature });
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
  let proof, signedAt, boot, known;
  try {
    for (;;) {
      if (document.hidden) await new Promise((seen) => document.addEventListener("visibilitychange", seen, { once: true }));
      try {
        const device = await request("device");
        if (device.id !== key.device) throw Object.assign(new Error("This is another device than the one this key was made for."), { refused: true });
        if (!proof || device.boot !== boot || device.time_ms - signedAt > 240_000) {
          proof = { time_ms: device.time_ms, ...(await sign(key, await listChallenge(device))) };
          [signedAt, boot, known] = [device.time_ms, device.boot, undefined];
        }
        const asks = await request("list", known ? { proof, known } : { proof });
        known = asks.map((ask) => JSON.parse(ask.document).ask);
        await show(asks, key);
      } catch (error) {
        if (error.refused) throw error;
        tell(`No answer: ${error.message}. Trying again.`);
        known = undefined;
        await new Promise((later) => setTimeout(later, 3000));
      }
    }
  } finally {
    watching = false;
  }
}

const device = await request("device").catch((error) => tell(error.message));
if (device) {
  at("device").textContent = `Device ${device.id}`;
  const key = await load();
  if (!key) {
    tell("This browser has no key yet.");
    showEnrolment(null, device.id);
  } else {
    await watch(key).catch((error) => {
      tell(error.message);
      showEnrolment(key, device.id);
    });
  }
}
