import assert from "node:assert/strict";
import test from "node:test";
import { problems } from "../problems.js";

const well = {
  status: { config_faults: [], agent: { reachable: true, faults: [] }, audit: { ok: true } },
  health: { throttling_flags: { under_voltage: false }, file_systems: [{ mount_point: "/" }], clock_synchronized: true, cards: [{ life_used_percent: 10, spare_blocks: "normal" }], last_reset: { cause: "power_on", crash_records: 0 } },
  update: { faults: [], last_attempt: { phase: "committed", reason: "" } },
};
const texts = (parts) => problems({ ...well, ...parts }).map(({ text }) => text);

test("a machine that is well has no problem, and what could not be read is none", () => {
  assert.deepEqual(problems(well), []);
  assert.deepEqual(problems({ status: null, health: null, update: null }), []);
});

test("what is worst comes first", () => {
  const health = { warnings: ["/ is nearly full"], throttling_flags: { under_voltage: true, throttled_occurred: true } };
  const found = problems({ ...well, health });
  assert.deepEqual(found.map(({ level }) => level), ["bad", "warn", "warn"]);
  assert.equal(found[0].text, "the supply is too weak (under-voltage)");
  assert.equal(found[2].text, "since the start: the processor was throttled");
});

test("each source of problems is heard", () => {
  assert.match(texts({ status: { halted: { by: "token:a", reason: "a leak" } } })[0], /halted.*a leak/);
  assert.match(texts({ status: { halted: { by: "button" } } })[0], /by button/);
  assert.match(texts({ status: { agent: { reachable: false, reason: "no socket" } } })[0], /no socket/);
  assert.match(texts({ status: { audit: { ok: false, reason: "disk full" } } })[0], /no write is done.*disk full/);
  assert.match(texts({ status: { config_faults: ["gpio.allow"] } })[0], /gpio\.allow/);
  assert.match(texts({ health: { cards: [{ device: "mmcblk0", life_used_percent: 110 }] } })[0], /replace the card/);
  assert.match(texts({ health: { last_reset: { cause: "watchdog" } } })[0], /watchdog/);
  assert.match(texts({ health: { clock_synchronized: false } })[0], /clock/);
  assert.match(texts({ update: { last_attempt: { version: "1.2", phase: "rolled_back", reason: "no network" } } })[0], /1\.2 was rolled back: no network/);
});
