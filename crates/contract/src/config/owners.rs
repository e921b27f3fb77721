//! `access.owners`: the owner of each account. Tokens have their own setting for it ([`super::TokenSetting::owner`]).

use super::words::is_name;
use serde::{Deserialize, Serialize};

/// The entries, in the form `ACCOUNT=OWNER`, checked when they are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owners(Vec<String>);

/// Maximum bytes of an owner's name, the same as for a token's.
pub const NAME_BYTES: usize = 64;
/// Maximum bytes of an account: the subject of a JWT has at most 128.
const ACCOUNT_BYTES: usize = 160;

impl Owners {
    /// The owner of an account: `uid:1000`, `user:ann`, `jwt:SUBJECT` or `stdio`. The last entry of an account applies.
    pub fn of(&self, account: &str) -> Option<&str> {
        self.0.iter().rev().filter_map(|entry| parse(entry)).find(|(of, _)| *of == account).map(|(_, owner)| owner)
    }

    /// From these entries; malformed ones are ignored.
    pub fn from_entries(entries: impl IntoIterator<Item = String>) -> Self {
        Self(entries.into_iter().collect())
    }
}

/// The account and its owner; `None` for a malformed entry. Anonymous callers on loopback have no owner, because they
/// cannot be told apart.
pub fn parse(text: &str) -> Option<(&str, &str)> {
    let (account, owner) = text.rsplit_once('=')?;
    let known = match account.split_once(':') {
        None => account == "stdio",
        Some(("uid", number)) => number.parse::<u32>().is_ok_and(|uid| uid.to_string() == number),
        Some(("user", name)) => is_name(name, 32),
        Some(("jwt", subject)) => !subject.is_empty() && !subject.contains(char::is_control),
        Some(_) => false,
    };
    (known && account.len() <= ACCOUNT_BYTES && is_name(owner, NAME_BYTES)).then_some((account, owner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_the_owner_that_was_written_last() {
        let list = ["uid:1000=ann", "stdio=ann", "jwt:a=b@example.org=bob", "uid:1000=bob", "loopback=eve"];
        let owners = Owners::from_entries(list.map(str::to_owned));
        let found = ["uid:1000", "stdio", "jwt:a=b@example.org", "uid:100", "loopback", "ann"]
            .map(|account| owners.of(account));
        assert_eq!(found, [Some("bob"), Some("ann"), Some("bob"), None, None, None]);
    }

    #[test]
    fn what_is_no_account_or_no_owner_is_refused() {
        for good in ["uid:0=root", "user:pi=ann", "jwt:x y=ann", "stdio=a-1_b"] {
            assert!(parse(good).is_some(), "{good}");
        }
        for bad in [
            "uid:01=a",
            "uid:-1=a",
            "uid:=a",
            "user:=a",
            "jwt:=a",
            "token:a=a",
            "loopback=a",
            "stdio=",
            "stdio=A",
            "stdio",
            "",
        ] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
