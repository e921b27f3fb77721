// One order: what it says, its signature, and what the device answered.

import { element } from "./ask.js";
import { sign } from "./keys.js";
import { describe, orderDocument, tokenOf } from "./order.js";
import { orderChallenge } from "./protocol.js";

const random = () => crypto.getRandomValues(new Uint8Array(32));

/** Signs an order with a passkey and sends it. The result, and the secret of a token that it made. */
async function give(order, key, device) {
  const facts = await device.describe();
  const made = order.operation === "make_token" ? await tokenOf(random()) : null;
  const whole = made ? { ...order, args: { ...order.args, sha256: made.sha256 } } : order;
  const document = orderDocument(whole, facts, random(), Date.now());
  const signature = await sign(key, await orderChallenge(document));
  return { result: await device.request("owner", { document, ...signature }), secret: made?.secret };
}

function done({ result, secret }) {
  const parts = [element("h3", { textContent: "Done" })];
  if (secret) {
    const text = element("textarea", { readOnly: true, value: secret, ariaLabel: "Token", rows: 2 });
    const copy = element("button", { type: "button", textContent: "Copy", onclick: () => navigator.clipboard.writeText(secret).catch(() => text.select()) });
    parts.push(element("p", { textContent: "The token, shown only now. Nobody else has it, also not the device." }), text, copy);
  }
  // Lines for people, or what a device of another version answers.
  parts.push(element("pre", { textContent: result.text ?? JSON.stringify(result, null, 2), tabIndex: 0 }));
  return parts;
}

/** Which of many devices an order is for: a link names none. */
function choice(devices) {
  const options = devices.map(({ name }, at) => element("option", { value: at, textContent: name }));
  return element("select", {}, element("option", { value: "", textContent: "Choose one" }), ...options);
}

/** `key`: the passkey that signs, or nothing if there is none yet. `tell` says how it stands. */
export function orderView(order, key, devices, tell) {
  const select = devices[0].name ? choice(devices) : null;
  const { title, effect, rows } = describe(order);
  const status = element("div", { role: "status" });
  const list = element("dl", {}, ...rows.flatMap(([label, texts]) => [
    element("dt", { textContent: label }),
    ...texts.map((text) => element("dd", { textContent: text })),
  ]));
  const leave = element("button", { type: "button", textContent: key ? "Discard" : "Back", onclick: () => { location.hash = ""; } });
  const yes = element("button", {
    type: "button", textContent: "Sign and send", className: "yes",
    onclick: async () => {
      const device = select ? devices[select.value || -1] : devices[0];
      if (!device) return status.replaceChildren("Choose the device that it is for.");
      yes.disabled = true;
      status.replaceChildren("Signing …");
      try {
        status.replaceChildren(...done(await give(order, key, device)));
        yes.remove();
        leave.textContent = "Show what waits";
        tell("The device has done what you signed.");
        status.scrollIntoView();
      } catch (error) {
        status.replaceChildren(element("p", { textContent: error.message }));
        yes.disabled = false;
      }
    },
  });
  const view = element("article", { ariaLabel: "Order" }, element("h2", { textContent: title }), element("p", { textContent: effect }), list);
  view.append(element("p", { className: "quiet", textContent: "Sign it only if you wanted exactly this: whoever made the link chose every line." }));
  if (select) view.append(element("label", {}, "For the device ", select));
  view.append(...(key ? [yes] : []), status, leave);
  return view;
}
