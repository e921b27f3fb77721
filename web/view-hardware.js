// The header as it is now, and the newest photo.

import { Refusal, call } from "./api.js";
import { contacts, look, words } from "./contacts.js";
import { el } from "./dom.js";
import { clock } from "./format.js";
import { View, note, refusal } from "./view.js";

export class Pins extends View {
  heading = "Header";
  follows = ["raspi://gpio"];
  // Four hundred reads a minute at most, of the 600 that a caller has.
  gap = 150;

  read() {
    return call("gpio.list_pins", { all: true });
  }

  show({ pins, chip }) {
    const all = contacts(pins);
    const name = (contact, side) => el("td", { class: side },
      el("b", { class: contact.pin?.allowed === false ? "off" : "" }, contact.name),
      contact.pin ? el("span", {}, words(contact.pin)) : null);
    const dot = (contact) => el("td", { class: `contact ${look(contact)}` }, el("i", {}, String(contact.number)));
    const rows = [];
    for (let at = 0; at < all.length; at += 2) {
      const [left, right] = [all[at], all[at + 1]];
      rows.push(el("tr", { "data-contacts": `${left.number} ${right.number}` }, name(left, "left"), dot(left), dot(right), name(right, "right")));
    }
    const heads = ["Function", "Contact", "Contact", "Function"].map((text) => el("th", { scope: "col" }, text));
    return [
      el("table", { class: "header" }, el("caption", {}, `The 40-pin header, ${chip}`), el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows)),
      note("Green drives high, a full ring reads high; names in grey may not be used by tools."),
    ];
  }
}

function picture(base64, format) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], { type: `image/${format}` }));
}

export class Photo extends View {
  heading = "Newest photo";

  begin() {
    this.button = el("button", { type: "button", click: () => this.take() }, "Take a photo");
    this.head.append(this.button);
    this.said = el("div", { role: "status" });
    this.firstElementChild.append(this.said);
    // The audit's card tells of photos that others take.
    this.told = (event) => event.detail === "camera.take_photo" && this.refresh();
    document.addEventListener("called", this.told);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener("called", this.told);
    URL.revokeObjectURL(this.url);
  }

  async read() {
    try {
      return await call("camera.get_photo");
    } catch (error) {
      if (error instanceof Refusal && error.code === "not_found") return null;
      throw error;
    }
  }

  show(photo) {
    URL.revokeObjectURL(this.url);
    if (!photo) return note("There is no photo yet.");
    this.url = picture(photo.image_data, photo.format);
    const when = photo.timestamp ? clock(photo.timestamp) : "unknown time";
    return el("figure", {}, el("img", { src: this.url, alt: `Photo of ${when}` }), el("figcaption", {}, when));
  }

  async take() {
    this.button.disabled = true;
    this.said.replaceChildren(note("Taking a photo …"));
    try {
      await call("camera.take_photo");
      this.said.replaceChildren();
      this.refresh();
    } catch (error) {
      this.said.replaceChildren(refusal(error));
    }
    this.button.disabled = false;
  }
}
