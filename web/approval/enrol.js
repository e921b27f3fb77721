// Making this browser's key, and the command that enrols it.

import { element } from "./ask.js";
import { forget, makeBrowserKey, makePasskey, passkeysWork } from "./keys.js";

/** `key`: the one to enrol, if it was made already; `kinds`: those that may be made; `go`: shows the page anew. */
export function showEnrolment(place, { key, device, kinds, isFleet, tell, go }) {
  const name = element("input", { value: "phone", maxLength: 64, autocomplete: "off" });
  const again = (made) => showEnrolment(place, { key: made, device, kinds, isFleet, tell, go });
  const button = (text, act) => element("button", {
    type: "button", textContent: text,
    onclick: () => Promise.resolve(act()).catch((error) => tell(error.message)),
  });
  const parts = [element("h2", { textContent: key ? "Enrol this key" : "Make a key" })];
  if (key) {
    const command = element("textarea", { readOnly: true, ariaLabel: "Command" });
    name.oninput = () => {
      command.value = `raspi-mcp approver add --name ${name.value} --kind ${key.kind} --origin ${location.origin} --key ${key.spki}`;
    };
    name.oninput();
    parts.push(
      element("p", { textContent: `Run this on ${isFleet ? "each device, as root. It must print the device ID of the list" : "the device, as root. It must print the same device ID as above"}.` }),
      element("label", {}, "Name ", name), command,
      button("I have done that", go),
      button("Start over", async () => { await forget(); await go(); }),
    );
  } else {
    const replaced = kinds.includes("browser") ? "" : " It takes the place of the key that this browser has now, if it has one.";
    parts.push(
      element("p", { textContent: `The key stays in this browser. Without it, nothing is shown here.${replaced}` }),
      element("label", {}, "Name ", name),
    );
    if (kinds.includes("browser")) parts.push(button("Make a browser key", async () => again(await makeBrowserKey(device))));
    if (passkeysWork()) parts.push(button("Use a passkey", async () => again(await makePasskey(device, name.value))));
    else if (!kinds.includes("browser")) parts.push(element("p", { textContent: "Browsers have passkeys only where the address is a name with a certificate that they trust." }));
  }
  place.replaceChildren(...parts);
  place.hidden = false;
}
