//! `raspi-mcp approve --url`: the same from another computer, signed with an approver's key.

use super::{Args, Keyboard, question, say};
use crate::{
    cli::exit::{Exit, Failure},
    client::{Approvals, OpenedAsk},
};
use agent::{approvers::Decision, asks::normal_id};
use contract::audit::rfc3339;
use std::io::Write;

/// Shows the device's asks and signs the answers.
pub(super) async fn converse(
    device: &Approvals,
    args: &Args,
    input: &mut dyn Keyboard,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let mut waiting = device.list().await?;
    if let Some(id) = &args.id {
        let wanted = normal_id(id);
        waiting.retain(|opened| opened.ask.ask == wanted);
        if waiting.is_empty() {
            return Err(Failure::new(Exit::Failed, format!("ask {wanted} does not wait on that device")));
        }
    }
    if waiting.is_empty() {
        return say(output, "nothing waits for an approval\n");
    }
    for opened in &waiting {
        show(opened, output)?;
        if args.list {
            continue;
        }
        let ask = &opened.ask;
        let Some(yes) = (if args.deny { Some(false) } else { question(&ask.ask, &ask.tool, input, output)? }) else {
            say(output, "left as it is\n\n")?;
            continue;
        };
        device.answer(opened, if yes { Decision::Approve } else { Decision::Deny }).await?;
        say(output, if yes { "approved: good for one such call\n\n" } else { "denied\n\n" })?;
    }
    Ok(())
}

/// Shows what the device has signed, with control characters escaped once more: a device may be taken over.
fn show(opened: &OpenedAsk, output: &mut dyn Write) -> Result<(), Failure> {
    let ask = &opened.ask;
    let lines: String = ask.lines.iter().map(|line| format!("{}\n", crate::terminal::printable(line))).collect();
    say(output, &format!("ask {}\n{lines}  expires   {}\n", ask.ask, rfc3339(ask.expires_ms)))
}
