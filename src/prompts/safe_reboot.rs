//! `safe-reboot`: restart with checks before and after, and a person's approval.

use super::{Argument, Prompt, PromptPart, Scene};
use agent::power::MAX_DELAY_SECONDS;
use base::error::ToolError;
use contract::meta::Mode;
use serde_json::json;

/// Default delay in seconds: enough for a person to cancel.
const DELAY: u32 = 60;

pub static PROMPT: Prompt = Prompt {
    name: "safe-reboot",
    title: "Restart this machine safely",
    description: "Restart this machine after checking that it may be, with a person's approval, and check that it came back well.",
    arguments: &[
        Argument {
            name: "reason",
            description: "Why: shown to the person who approves it, and kept in the audit.",
            required: true,
            longest: 200,
            suggestions: &[],
            closed: false,
        },
        Argument {
            name: "delay_seconds",
            description: "Seconds until it happens, 60 unless told; it can be cancelled meanwhile.",
            required: false,
            longest: 10,
            suggestions: &["5", "60", "300", "600"],
            closed: false,
        },
    ],
    write,
};

fn write(scene: &Scene<'_>) -> Result<Vec<PromptPart>, ToolError> {
    let Some(reason) = scene.given("reason") else {
        return Err(PROMPT.argument("reason")?.refusal("reason is empty".into()));
    };
    let delay = delay(scene.given("delay_seconds"))?;
    let reboot = scene.tool("system.reboot");
    let (info, status) = (scene.tool("system.get_basic_info"), scene.tool("manage.get_server_status"));
    if let Some(refusal) = scene.refusal("system.reboot") {
        return Ok(vec![PromptPart::Text(format!(
            "The user wants this machine restarted ({reason}), and you may not do it: {}. Tell the user so, and what the \
             owner can do about it. Try no other way.",
            refusal.advice()
        ))]);
    }
    let found = scene.registry.resolve("system.reboot");
    let approval = if found.is_ok_and(|(entry, _)| scene.services.policy.get().mode(&entry.meta()) == Mode::Ask) {
        "A person approves it with `raspi-mcp approve` at the device; tell the user that it waits for that. When it \
         answers that approval is pending, repeat the very same call later; change nothing in it."
    } else {
        "This machine asks nobody else, so ask the user before you call it."
    };
    let arguments = json!({ "reason": reason, "delay_seconds": delay });
    let text = format!(
        "Restart this machine safely. Reason: {reason}\n\n\
         1. Look first. A fresh health snapshot follows; {status} says whether a restart is scheduled already, whether \
         calls wait for a person, and whether the agent answers. With under_voltage, a full disk or an unreadable one, \
         stop and tell the user: it may not come back.\n\
         2. Note boot time and uptime from {info}.\n\
         3. Tell the user what ends with the restart: this connection, and everything that runs on the machine.\n\
         4. Call {reboot} with {arguments}. {approval} Until it happens, \
         {{\"cancel\": true}} takes it back.\n\
         5. Afterwards connect again, which may take two minutes, and check: the uptime is short, health is as before, \
         {status} names the restart as done and has no new faults. Say so, or say what is different."
    );
    Ok(vec![PromptPart::Text(text), PromptPart::Resource("raspi://health")])
}

fn delay(given: Option<&str>) -> Result<u32, ToolError> {
    let Some(text) = given else { return Ok(DELAY) };
    text.parse().ok().filter(|delay| *delay <= MAX_DELAY_SECONDS).ok_or_else(|| {
        let message = format!("delay_seconds must be a whole number from 0 to {MAX_DELAY_SECONDS}");
        ToolError::invalid(message).with("argument", "delay_seconds").hint("leave it out for a minute")
    })
}
