// Many devices on one page: each in a section of its own, with what waits there.

import { element } from "./ask.js";
import { devicesIn } from "./device.js";
import { follow } from "./follow.js";

/** The devices of the list beside the page. */
export async function listed(path) {
  const response = await fetch(path, { cache: "no-cache" });
  if (!response.ok) throw new Error(`${path} cannot be read: the web server answered ${response.status}`);
  return devicesIn(await response.json().catch(() => null));
}

/** A browser tells a page nothing of why another origin did not answer. */
function whatToDo({ url }) {
  const link = element("a", { href: url, target: "_blank", rel: "noopener", textContent: url });
  return element("p", { className: "quiet" },
    "Is it on? May this page reach the local network? Does this browser trust the certificate: open ", link, " once. Is this browser enrolled there?");
}

/** Follows all of them. `tell` says how many requests wait; `enrol` shows the command for a device that does not know this browser. */
export function showFleet(place, { devices, key, proofs, tell, enrol }) {
  // Those that have not answered, or not in time.
  const silent = new Set(devices);
  const count = () => {
    const waiting = place.querySelectorAll("article").length;
    const unknown = silent.size ? ` No answer from ${silent.size} of ${devices.length}.` : "";
    tell((waiting ? `${waiting} waiting.` : "Nothing waits for you.") + unknown);
    document.title = waiting ? `(${waiting}) Approvals` : "Approvals";
  };
  place.replaceChildren(...devices.map((device) => {
    const [state, more, asks] = [element("p", { className: "quiet", textContent: "Asking …" }), element("div"), element("div")];
    const say = (text, isTrouble) => {
      state.textContent = text;
      silent[isTrouble ? "add" : "delete"](device);
      if (!isTrouble) more.replaceChildren();
      else if (!more.firstChild) more.append(whatToDo(device), element("button", { type: "button", textContent: "Enrol this browser there", onclick: enrol }));
      count();
    };
    follow({ device, key, proofs, place: asks, tell: say }).catch((error) => {
      // Its requests cannot be answered any more, and no signature is needed for it.
      device.gone = true;
      asks.replaceChildren();
      say(error.message, true);
    });
    return element("section", { ariaLabel: device.name, className: "device" }, element("h2", { textContent: device.name }), state, more, asks);
  }));
}
