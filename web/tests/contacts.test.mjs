import assert from "node:assert/strict";
import test from "node:test";
import { contacts, look, words } from "../contacts.js";

test("the header has 40 contacts, pins where they are", () => {
  const all = contacts([{ pin: 17, header: 11, mode: "output", value: "high" }]);
  assert.equal(all.length, 40);
  assert.deepEqual([all[0].name, all[1].name, all[5].name, all[10].name, all[12].name], ["3V3", "5V", "GND", "GPIO17", "–"]);
  assert.equal(all.filter(({ kind }) => kind === "ground").length, 8);
  assert.equal(all.filter(({ kind }) => kind === "power").length, 4);
});

test("a pin is described by what it does, and who has it", () => {
  assert.equal(words({ mode: "output", value: "high", lease: { principal: "token:a", yours: false } }), "out high by token:a");
  assert.equal(words({ mode: "output", value: "low", lease: { principal: "page:a", yours: true } }), "out low by you");
  assert.equal(words({ mode: "input", value: null, consumer: "fan" }), "in ? by fan");
  assert.equal(words({ mode: "none", value: null }), "unused");
  assert.equal(words({ mode: "alt", function: "SDA1", value: "high" }), "SDA1");
  assert.equal(words({ mode: "output", value: "high", pwm: { duty_cycle_percent: 39.6, frequency_hz: 1000.2 } }), "PWM 40 %, 1000 Hz");
});

test("what a contact looks like follows from it", () => {
  assert.equal(look({ kind: "ground" }), "ground");
  assert.equal(look({ kind: "pin", pin: { mode: "output", value: "low" } }), "low");
  assert.equal(look({ kind: "pin", pin: { mode: "input", value: null } }), "in-unknown");
  assert.equal(look({ kind: "pin", pin: { mode: "none", value: null } }), "in-unknown");
  assert.equal(look({ kind: "pin", pin: { mode: "output", value: "low", pwm: {} } }), "pwm");
});
