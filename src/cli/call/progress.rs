//! What a call reports before it is answered, on standard error: standard output has the result only.

use crate::{
    cli::{bar::Bar, say::errln, target::Target},
    terminal::printable,
};
use serde_json::Value;

/// The parts that a bar has of steps whose number a tool gives as a fraction.
const PARTS: f64 = 1000.0;

/// Shows each `notifications/progress` of one call.
pub struct CallProgress<'a> {
    pub bar: Bar,
    pub target: &'a Target,
}

impl CallProgress<'_> {
    /// That a person is waited for is always said, with the command that answers. Other steps are for a person who watches:
    /// a bar if the tool says how many there are, otherwise a line each.
    pub fn show(&self, message: &Value) {
        let params = &message["params"];
        let Some(text) = params["message"].as_str().filter(|_| message["method"] == "notifications/progress") else {
            return;
        };
        let phase = params["_meta"]["phase"].as_str().unwrap_or_default();
        if phase == "approval" {
            return self.waits(text);
        }
        if !self.bar.is_shown() {
            return;
        }
        match (params["progress"].as_f64(), params["total"].as_f64()) {
            (Some(done), Some(total)) if total > 0.0 => {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to PARTS")]
                let done = (PARTS * done / total).clamp(0.0, PARTS) as u64;
                self.bar.show(&printable(phase), done, PARTS as u64, text);
            }
            _ => {
                self.bar.clear();
                errln!("{}", printable(text));
            }
        }
    }

    /// That a person is waited for, and where the answer is given.
    fn waits(&self, text: &str) {
        self.bar.clear();
        errln!("{}", printable(text));
        if let Some(url) = &self.target.url {
            let pin = self.target.pin.map(|pin| format!(" --pin {pin}")).unwrap_or_default();
            errln!(
                "  run that on the machine, or here with --url {url}{pin} --key FILE --device ID\n  or answer on its approval page (docs/approvals.md)"
            );
        }
    }
}
