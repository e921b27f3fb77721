// The page: who this browser is, what waits, and its answers. With an order in the address: that order, and nothing else.

import { Device } from "./device.js";
import { showEnrolment } from "./enrol.js";
import { listed, showFleet } from "./fleet.js";
import { follow } from "./follow.js";
import { load, sign } from "./keys.js";
import { orderView } from "./order-view.js";
import { orderIn } from "./order.js";
import { Proofs } from "./proofs.js";

const at = (id) => document.getElementById(id);
const tell = (text) => { at("status").textContent = text; };
/** The list of the devices that this page asks; a device's own page has none. */
const list = document.querySelector("meta[name=devices]")?.content;

function enrolment(key, kinds, device) {
  showEnrolment(at("enrol"), { key, device, kinds, isFleet: Boolean(list), tell, go: list ? () => location.reload() : go });
}

function showOrder(order, key, devices, own) {
  const passkey = key?.kind === "passkey" ? key : null;
  at("asks").replaceChildren(orderView(order, passkey, devices, tell));
  tell(passkey ? "An order waits for your signature." : "An order needs a passkey. A key that a browser keeps signs none; at a terminal, a cli key does.");
  if (!passkey) enrolment(null, ["passkey"], own);
}

let watching = false;

async function showOwn(device, key, own) {
  if (watching) return;
  watching = true;
  const say = (text) => {
    const waiting = at("asks").childElementCount;
    tell(text);
    at("enrol").hidden = true;
    document.title = waiting ? `(${waiting}) Approvals` : "Approvals";
  };
  try {
    await follow({ device, key, proofs: new Proofs([device], (challenge) => sign(key, challenge)), place: at("asks"), tell: say });
  } catch (error) {
    tell(error.message);
    enrolment(key, [key.kind], own);
  } finally {
    watching = false;
  }
}

/** What this browser can do now. Called again after a key was made, enrolled or forgotten. */
async function go() {
  if (top !== self) throw new Error("This page does not work inside another page.");
  const [order, key] = [orderIn(location.hash), await load()];
  // The ID that answers here: with a key, the one that it was made for counts.
  const own = list ? "" : (await new Device({}).request("approvals/device")).id;
  const devices = list ? await listed(list) : [new Device({ id: key?.device ?? own })];
  at("device").textContent = list ? `${devices.length} devices` : `Device ${own}`;
  at("enrol").hidden = true;
  if (order) return showOrder(order, key, devices, own);
  if (!key) {
    tell("This browser has no key yet.");
    return enrolment(key, ["browser", "passkey"], own);
  }
  if (!list) return showOwn(devices[0], key, own);
  // A browser's own key asks nobody, so no device has to wait for the others.
  const proofs = new Proofs(key.kind === "passkey" ? devices : [], (challenge) => sign(key, challenge));
  return showFleet(at("asks"), { devices, key, proofs, tell, enrol: () => enrolment(key, [key.kind], own) });
}

addEventListener("hashchange", () => location.reload());
await go().catch((error) => tell(error.message));
