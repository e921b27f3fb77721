//! An entry of the list of approvers, as people see it: one that counts, or one that only another release can read.

use super::{Approver, KeyKind};
use contract::audit::rfc3339;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Enrolled {
    Known(Approver),
    /// Its key does not count here.
    Unread {
        /// The name by which it is revoked.
        unread: String,
    },
}

impl Enrolled {
    /// The approver, if this release can read it.
    pub fn known(&self) -> Option<&Approver> {
        match self {
            Self::Known(approver) => Some(approver),
            Self::Unread { .. } => None,
        }
    }

    /// For programs.
    pub(crate) fn shown(&self) -> Value {
        match self {
            Self::Known(approver) => approver.shown(),
            Self::Unread { unread } => json!({ "name": unread, "unread": true }),
        }
    }

    /// All of them and the device's id: `text` for people, and fields for programs.
    pub fn listed(device: &str, list: &[Self]) -> Value {
        let mut text = format!("device {device}");
        for one in list {
            text.push_str(&match one {
                Self::Known(Approver { name, kind, key, origin, added_ms, added_by, .. }) => {
                    let at = origin.as_ref().map(|origin| format!(" at {origin}")).unwrap_or_default();
                    let (kind, key, added) = (kind.name(), key.id(), rfc3339(*added_ms));
                    format!("\n{name}  {kind}{at}  key {key}  added {added} by {added_by}")
                }
                Self::Unread { unread } => {
                    format!("\n{unread}  enrolled by another release; this one cannot read the entry, and its key does not count here")
                }
            });
        }
        let shown: Vec<Value> = list.iter().filter_map(Self::known).map(Approver::shown).collect();
        let unread: Vec<Value> = list.iter().filter(|one| one.known().is_none()).map(Self::shown).collect();
        json!({ "device": device, "approvers": shown, "unread": unread, "text": text })
    }

    /// What its revocation means, for people. `left` are those who remain.
    pub fn revoked(&self, left: &[Self]) -> String {
        let Self::Known(gone) = self else {
            return format!("{} is no longer enrolled; this release could not read its key", self.name());
        };
        let mut text = format!("{} no longer answers; key {}", gone.name, gone.key.id());
        if left.iter().filter_map(Self::known).all(|left| left.kind == KeyKind::Browser) {
            text.push_str(
                "\nit was the last key that may sign orders of the owner: from now on they are given at the machine's console \
                 only. An appliance without one then has to be reset and claimed again",
            );
        }
        text
    }

    fn name(&self) -> &str {
        match self {
            Self::Known(approver) => &approver.name,
            Self::Unread { unread } => unread,
        }
    }
}
