// The 40 contacts of the header, and what to say of each.

const POWER = { 1: "3V3", 17: "3V3", 2: "5V", 4: "5V" };

// [{ number, kind: "power" | "ground" | "pin" | "none", name, pin }], by number; `pins` are those of gpio.list_pins.
export function contacts(pins) {
  const at = new Map(pins.map((pin) => [pin.header, pin]));
  const all = [];
  for (let number = 1; number <= 40; number += 1) {
    const pin = at.get(number);
    if (pin) all.push({ number, kind: "pin", name: `GPIO${pin.pin}`, pin });
    else if (POWER[number]) all.push({ number, kind: "power", name: POWER[number] });
    else if ([6, 9, 14, 20, 25, 30, 34, 39].includes(number)) all.push({ number, kind: "ground", name: "GND" });
    else all.push({ number, kind: "none", name: "–" });
  }
  return all;
}

// The class that a contact is coloured by.
export function look({ kind, pin }) {
  if (kind !== "pin") return kind;
  if (pin.pwm) return "pwm";
  if (pin.mode === "output") return pin.value === "high" ? "high" : "low";
  return pin.mode === "input" || pin.mode === "none" ? `in-${pin.value ?? "unknown"}` : "alt";
}

// How a pin is, in a few words.
export function words(pin) {
  const parts = [];
  if (pin.pwm) parts.push(`PWM ${Math.round(pin.pwm.duty_cycle_percent)} %, ${Math.round(pin.pwm.frequency_hz)} Hz`);
  else if (pin.mode === "none") parts.push("unused");
  else if (pin.mode === "alt") parts.push(pin.function ?? "alt");
  else parts.push(pin.mode === "output" ? "out" : pin.mode === "input" ? "in" : "unknown", pin.value ?? "?");
  if (pin.lease) parts.push(`by ${pin.lease.yours ? "you" : pin.lease.principal}`);
  else if (pin.consumer) parts.push(`by ${pin.consumer}`);
  return parts.join(" ");
}
