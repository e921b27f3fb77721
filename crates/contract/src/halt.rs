//! The halt: while it is set, whatever changes the machine is refused (docs/halt.md). The agent keeps it; the server
//! half follows.
//!
//! The same type is on the card, on the wire between the halves, and in the server's copy.

use crate::{
    actions::{self, Does},
    audit::rfc3339,
    config::sections::routeros::write_tier,
    meta::Declaration,
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

/// Longest reason, in characters: a line for people.
pub const MAX_REASON: usize = 200;

/// Whether the machine is halted, and who lifted the last halt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HaltState {
    // Must be there: what does not say that it is no halt is none of ours.
    #[serde(deserialize_with = "Option::deserialize")]
    pub halted: Option<Halted>,
    /// How the last halt ended. Kept while another one stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifted: Option<Lifted>,
}

/// A halt that stands. Unknown fields of a newer version are ignored: it stays a halt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halted {
    /// Who set it: a principal, a user's name, or the button.
    pub by: String,
    /// By what means: `raspi-mcp halt`, `manage.halt`, `button`.
    pub how: String,
    /// Milliseconds since 1970, by the machine's clock.
    pub since_ms: i64,
    /// At most [`MAX_REASON`] characters, none of them a control character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The end of a halt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifted {
    pub by: String,
    pub how: String,
    /// Milliseconds since 1970, by the machine's clock.
    pub at_ms: i64,
}

impl Halted {
    /// The halt of a copy that cannot be read. What may have been halted stays halted (decision 296).
    pub fn unreadable(what: &str, why: &str, now_ms: i64) -> Self {
        let reason = format!("{what} cannot be read: {why}");
        let reason = reason.chars().filter(|c| !c.is_control()).take(MAX_REASON).collect();
        Self { by: "nobody known".into(), how: "unreadable".into(), since_ms: now_ms, reason: Some(reason) }
    }

    /// For people: `since 2026-11-25T12:00:00Z by pi (raspi-mcp halt): the pump leaks`.
    pub fn story(&self) -> String {
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("since {} by {} ({}){reason}", rfc3339(self.since_ms), self.by, self.how)
    }

    /// The refusal of a call of `tool`, the same from both halves.
    pub fn refusal(&self, tool: &str) -> ToolError {
        let error = ToolError::precondition(format!("{tool} is refused: the machine is halted {}", self.story()))
            .with("halted", true)
            .with("tool", tool)
            .with("by", self.by.clone())
            .with("how", self.how.clone())
            .with("since", rfc3339(self.since_ms))
            .hint(HINT);
        error.with_some("reason", self.reason.clone())
    }
}

/// How it is lifted.
pub const HINT: &str = "a person lifts it on the machine, as root or as an approver: raspi-mcp halt --lift. Reads, updates, \
                        rollback, network.confirm_connection and gpio.release_pin go on; an admin gives it \"force\": true to make \
                        a pin safe that is lent to somebody else";

/// Checks the text of a reason.
///
/// # Errors
/// `invalid_argument` for an empty or too long one, or one with control characters.
pub fn check_reason(reason: &str) -> Result<(), ToolError> {
    let length = reason.chars().count();
    let fault = if length == 0 || length > MAX_REASON {
        format!("{length} characters where 1 to {MAX_REASON} are allowed")
    } else if reason.contains(char::is_control) {
        "control characters, such as a line break, are not allowed".to_owned()
    } else {
        return Ok(());
    };
    Err(ToolError::invalid(format!("reason: {fault}")).with("parameter", "reason"))
}

/// Whether calls of this tool are refused during a halt: those of tools that change something, unless the table of
/// actions excepts them.
pub fn stops(meta: &Declaration<'_>) -> bool {
    meta.effect.is_write() && Does::of(meta.name).is_none_or(|does| does.halts)
}

/// The same by the name alone, as the agent knows tools. A tool without actions does not change anything, writes to
/// routers, or is one of the server half's, which judges it.
pub fn stops_named(tool: &str) -> bool {
    actions::Does::of(tool).map_or_else(|| write_tier(tool).is_some(), |does| does.halts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::Meta;

    #[test]
    fn a_reason_is_one_bounded_line() {
        for good in ["x", "the pump leaks", &"ä".repeat(MAX_REASON)] {
            check_reason(good).unwrap();
        }
        for bad in ["", "a\nb", "\u{1b}[31m", "a\u{7f}", &"ä".repeat(MAX_REASON + 1)] {
            let error = check_reason(bad).unwrap_err();
            assert_eq!(error.details["parameter"], "reason", "{bad:?}");
        }
        let told = Halted::unreadable("halt.json", &"a\nb".repeat(200), 0).reason.unwrap();
        check_reason(&told).unwrap();
    }

    #[test]
    fn a_refusal_says_who_when_why_and_how_it_ends() {
        let halted = Halted {
            by: "pi".into(),
            how: "raspi-mcp halt".into(),
            since_ms: 1_700_000_000_000,
            reason: Some("the pump leaks".into()),
        };
        let error = halted.refusal("gpio.write_pin");
        for part in ["gpio.write_pin", "since 2023-11-14T22:13:20", "by pi (raspi-mcp halt)", "the pump leaks"] {
            assert!(error.message.contains(part), "{part}: {error}");
        }
        assert_eq!(error.details["halted"], true);
        assert!(error.hint.as_ref().unwrap().contains("raspi-mcp halt --lift"));
    }

    #[test]
    fn an_unknown_write_is_stopped_and_a_read_is_not() {
        assert!(stops(&Meta { name: "added.write", ..Meta::WRITE }));
        assert!(!stops(&Meta { name: "added.read", ..Meta::READ }));
        assert!(!stops(&Meta { name: "gpio.release_pin", ..Meta::WRITE }));
        assert!(stops_named("gpio.write_pin") && !stops_named("manage.rollback") && !stops_named("files.read"));
    }
}
