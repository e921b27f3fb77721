// The page: sign in, then one card after the other, what matters most first.

import { call, session, signIn, signOut, whoAmI } from "./api.js";
import { byId, el } from "./dom.js";
import { clock, duration } from "./format.js";
import { follow, leave, live } from "./live.js";
import { Audit, Callers } from "./view-access.js";
import { Asks } from "./view-asks.js";
import { Photo, Pins } from "./view-hardware.js";
import { Health, Problems, Slots } from "./view-machine.js";
import { Backup, Grants, Halt, Tokens } from "./view-owner.js";
import { Log, Samples, Services } from "./view-system.js";

const VIEWS = [
  ["rm-problems", Problems],
  ["rm-asks", Asks],
  ["rm-halt", Halt],
  ["rm-slots", Slots],
  ["rm-pins", Pins],
  ["rm-photo", Photo],
  ["rm-health", Health],
  ["rm-samples", Samples],
  ["rm-services", Services],
  ["rm-log", Log],
  ["rm-audit", Audit],
  ["rm-callers", Callers],
  ["rm-grants", Grants],
  ["rm-tokens", Tokens],
  ["rm-backup", Backup],
];
for (const [name, view] of VIEWS) customElements.define(name, view);

function say(text, kind = "") {
  byId("state").textContent = text;
  byId("state").className = kind;
}

async function introduce() {
  const about = await call("system.get_basic_info");
  byId("name").textContent = about.hostname ?? "raspi-mcp";
  byId("about").textContent = [about.model, about.os_name, Number.isFinite(about.uptime_seconds) ? `up ${duration(about.uptime_seconds)}` : ""].filter(Boolean).join(" · ");
  document.title = `${about.hostname ?? "raspi-mcp"} – raspi-mcp`;
}

function show(who) {
  byId("enter").hidden = true;
  byId("views").hidden = byId("leave").hidden = false;
  byId("leave").title = `${who.principal}, ${who.role}, until ${clock(who.until)}`;
  byId("views").replaceChildren(...VIEWS.map(([name]) => el(name, { principal: who.principal })));
  introduce().catch(() => {});
  follow();
}

function ask(why = "") {
  leave();
  byId("views").replaceChildren();
  byId("views").hidden = byId("leave").hidden = true;
  byId("enter").hidden = false;
  byId("refused").textContent = why;
  say("");
  byId("token").focus();
}

async function enter(event) {
  event.preventDefault();
  const field = byId("token");
  try {
    await signIn(field.value.trim());
    const who = await whoAmI();
    field.value = "";
    if (who.open) show(who);
    else ask("This browser did not keep the session's cookie. Over plain HTTP some browsers keep none: use https.");
  } catch (error) {
    ask([error.message, error.hint].filter(Boolean).join(". "));
  }
}

// A stream that the server ended for good: is it the session, or the server?
async function lost(event) {
  say("not connected", "bad");
  if (!event.detail) return;
  leave();
  const who = await whoAmI().catch(() => ({ open: true }));
  if (!who.open) ask("The session has ended.");
  else setTimeout(() => byId("views").hidden || follow(), 5000);
}

byId("enter").addEventListener("submit", enter);
byId("leave").addEventListener("click", () => signOut().then(() => ask(), (error) => ask(error.message)));
session.addEventListener("over", () => byId("enter").hidden && ask("The session has ended."));
live.addEventListener("connected", () => say("live", "good"));
live.addEventListener("lost", lost);

whoAmI().then((who) => (who.open ? show(who) : ask()), (error) => ask(error.message));
