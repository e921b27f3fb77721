// The conversation that JavaScript clients hold, told once; story.py is the same for Python. A client is an adapter: an object with
// the methods below. `offers` is what its API has beside calls: progress, cancel, resource, subscription, prompt, log, approval (its user can
// be asked), and unlisted (tools that are not listed can be called). What it does not have is printed as such; what it has must work.
import { readFileSync } from "node:fs";

const STORY = JSON.parse(readFileSync(new URL("story.json", import.meta.url)));
const STEPS = ["unlisted", "progress", "cancel", "resource", "subscription", "prompt", "log", "approval"];
const PATIENCE_MS = 20000;

export const token = process.env.CLIENTS_TOKEN;
export const headers = token ? { Authorization: `Bearer ${token}` } : {};
/** A refused call: the text that the client gives its caller or its model. */
export class Refused extends Error {}

export function check(holds, otherwise) {
  if (!holds) throw new Error(String(otherwise).slice(0, 600));
}

const within = (what) => {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("nothing within 20 s")), PATIENCE_MS)));
  return Promise.race([what, late]).finally(() => clearTimeout(timer));
};

/** Tells the story; whether all of it went well. */
export async function tell(client) {
  let failed = 0;
  const shown = async (name, what) => {
    try {
      const said = await within(what());
      console.log(`ok      ${name}${said ? `: ${said}` : ""}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}: ${error.message}`);
    }
  };

  await shown("initialize", async () => {
    const [name, version] = await client.server();
    check(name === "raspi-mcp", name);
    return version;
  });
  await shown("list: every name fits a model's API", async () => {
    const names = await client.tools();
    const bad = names.filter((name) => !/^[A-Za-z0-9_-]{1,64}$/.test(name));
    check(names.length > 20 && bad.length === 0, `${names.length} tools, refused: ${bad}`);
    return `${names.length} tools`;
  });
  for (const [name, args] of STORY.calls) {
    await shown(`call ${name}`, async () => {
      const content = await client.call(name, args);
      check(content && typeof content === "object", "no structured content");
    });
  }
  for (const { tool, arguments: args, code, hinted, listed } of STORY.refusals) {
    if (!listed && !client.offers.includes("unlisted")) {
      console.log(`absent  refusal of ${tool}: this client calls listed tools only`);
      continue;
    }
    await shown(`refusal of ${tool}`, async () => {
      const text = await client.call(tool, args).then(
        () => check(false, "it was not refused"),
        (error) => {
          check(error instanceof Refused, error.message);
          return error.message;
        },
      );
      if (tool === "gpio_write_pin") console.log(`shown   ${JSON.stringify(text)}`);
      const error = JSON.parse(text.slice(text.indexOf("{")));
      check(error.error_code === code, text);
      check(error.message.length > 8 && (!hinted || error.hint.length > 8), text);
      return error.message;
    });
  }
  for (const step of STEPS) {
    if (client.offers.includes(step)) await shown(step, () => steps[step](client));
    else console.log(`absent  ${step}: not offered by this client`);
  }
  return failed === 0;
}

const steps = {
  async unlisted(client) {
    const error = await client.call("gpio_wrote_pin", {}).then(() => undefined, (error) => error);
    check(error !== undefined, "it was taken");
    check(/gpio.write_pin/.test(error.message), error.message);
    return error.message;
  },
  async progress(client) {
    const reports = await client.progress("network_ping", { address: "127.0.0.1", count: 4, interval_ms: 300 });
    check(reports.length >= 2 && reports.at(-1) > reports[0], `reports of progress: ${reports}`);
    return `${reports.length} reports`;
  },
  async cancel(client) {
    const stop = new AbortController();
    const wait = client.call("gpio_wait_for_edge", { pin: 27, timeout_ms: 60000 }, stop.signal).then(
      () => undefined,
      (error) => error,
    );
    // It is under way once the next call, sent after it, is answered.
    await client.call("system_get_basic_info", {});
    stop.abort("enough");
    check((await wait) !== undefined, "it went on");
    const until = Date.now() + 10000;
    for (;;) {
      const { entries } = await client.call("logs_get_recent_audit_logs", { tool: "gpio.wait_for_edge" });
      if (entries[0]?.outcome === "cancelled") return;
      check(Date.now() < until, `the audit says ${JSON.stringify(entries[0])}`);
    }
  },
  async resource(client) {
    const text = await client.read("raspi://health");
    check(JSON.parse(text).load_average.length === 3, text);
  },
  async subscription(client) {
    let heard = false;
    let tell;
    const news = new Promise((resolve) => (tell = resolve));
    const end = await client.subscribe("raspi://audit", () => tell((heard = true)));
    const until = Date.now() + 10000;
    // Not faster than a caller may call: mcp-remote takes up to two seconds to listen anew.
    while (!heard && Date.now() < until) {
      await client.call("system_get_basic_info", {});
      await Promise.race([news, new Promise((resolve) => setTimeout(resolve, 100))]);
    }
    await end?.();
    check(heard, "no update within 10 s");
  },
  async prompt(client) {
    const texts = await client.prompt("diagnose");
    check(/system_get_basic_info/.test(texts[0]), texts[0]);
    check(texts.length === 2 && /load_average/.test(texts[1]), texts[1]);
  },
  async log(client) {
    // The privileged half logs that it was asked for an approval.
    const heard = await client.log("info", () =>
      client.call("system_reboot", { reason: "a line of the log" }).then(
        () => check(false, "it was not refused"),
        () => undefined,
      ),
    );
    check(heard.some((data) => data.message.startsWith("ask opened")), JSON.stringify(heard));
    return `${heard.length} messages`;
  },
  /** The user of a client that the owner listed says no to one call and yes to another. */
  async approval(client) {
    client.userSays({ action: "decline" });
    const refused = await client.call("system_reboot", { reason: "declined" }).then(() => undefined, (error) => error);
    check(refused instanceof Refused && JSON.parse(refused.message).error_code === "permission_denied", refused?.message);
    client.userSays({ action: "accept", content: { allow: true } });
    const scheduled = await client.call("system_reboot", { reason: "approved", delay_seconds: 600 });
    check(scheduled.simulated !== false && JSON.stringify(scheduled).length > 2, JSON.stringify(scheduled));
    client.userSays({ action: "cancel" });
    return JSON.parse(refused.message).message;
  },
};
