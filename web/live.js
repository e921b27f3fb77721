// Changes, as the server's own subscriptions tell them. A page that nobody looks at lets go of them.

import { anew } from "./api.js";

// How long a hidden page stays connected, in milliseconds: switching between two tabs costs nothing.
const HIDDEN = 30000;

// Dispatches "updated" (detail: the resource), "connected" after a connection, and "lost".
export const live = new EventTarget();

let source = null;
let hiding = 0;

function tell(event) {
  anew();
  live.dispatchEvent(event);
}

function open() {
  if (source) return;
  source = new EventSource("/page/events");
  source.addEventListener("following", () => tell(new Event("connected")));
  source.addEventListener("updated", (event) => tell(new CustomEvent("updated", { detail: event.data })));
  source.addEventListener("error", () => live.dispatchEvent(new CustomEvent("lost", { detail: source?.readyState === EventSource.CLOSED })));
}

function close() {
  source?.close();
  source = null;
}

function turned() {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(close, HIDDEN);
  else open();
}

export function follow() {
  document.addEventListener("visibilitychange", turned);
  open();
}

export function leave() {
  document.removeEventListener("visibilitychange", turned);
  clearTimeout(hiding);
  close();
}
