//! Who asks, as far as shares go: how many asks may wait of one party, and of all.

use super::AskRequest;
use base::error::ToolError;
use contract::access::{
    caller::party_of,
    shares::{ASKS, PoolFull},
};

/// Whose share an ask takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asker {
    party: String,
    admin: bool,
}

impl Asker {
    /// Takes it out of the request: it is no part of what is shown, and is written to no card.
    pub(super) fn of(request: &mut AskRequest) -> Self {
        let party = request.party.take().unwrap_or_else(|| party_of(&request.principal).into_owned());
        Self { party, admin: std::mem::take(&mut request.admin) }
    }

    /// Whether one more ask of this party may wait beside those of `waiting`.
    ///
    /// # Errors
    /// `resource_exhausted` saying what is full.
    pub(super) fn has_room<'a>(&self, waiting: impl Iterator<Item = &'a Self>) -> Result<(), ToolError> {
        let (mut own, mut weak, mut all) = (0, 0, 0);
        for other in waiting {
            all += 1;
            weak += usize::from(!other.admin);
            // What somebody's programs without the role ask for does not shut out that person as an admin.
            own += usize::from(other.party == self.party && (other.admin || !self.admin));
        }
        // Admins have no more than others here.
        let full = match ASKS.admits(self.admin, own, weak, all) {
            _ if own >= ASKS.share => PoolFull::Share(ASKS.share),
            Ok(()) => return Ok(()),
            Err(full) => full,
        };
        let refusal = match full {
            PoolFull::Share(share) => ToolError::exhausted(format!(
                "{share} approvals that {} asked for already wait, which is the share of one caller",
                self.party
            ))
            .with("limit", share)
            .with("limit_of", "caller"),
            PoolFull::Whole(whole) if all < whole => ToolError::exhausted(format!(
                "{all} approvals already wait; the last {} of {whole} places are for admins",
                ASKS.reserve
            ))
            .with("limit", whole - ASKS.reserve)
            .with("limit_of", "agent"),
            PoolFull::Whole(whole) => ToolError::exhausted(format!("{whole} approvals already wait, of all callers"))
                .with("limit", whole)
                .with("limit_of", "agent"),
        };
        Err(refusal.hint("wait until a person has answered some with `raspi-mcp approve`, or until they expire"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(party: &str, admin: bool) -> Asker {
        Asker { party: party.into(), admin }
    }

    fn refusal(who: &Asker, waiting: &[Asker]) -> Option<(String, u64)> {
        let error = who.has_room(waiting.iter()).err()?;
        Some((error.message.clone(), error.details["limit"].as_u64().unwrap()))
    }

    #[test]
    fn a_page_takes_the_share_of_its_token_and_what_is_taken_is_told_to_nobody_else() {
        for (principal, party, expected) in [
            ("page:porch", None, "token:porch"),
            ("page:porch", Some("owner:ann"), "owner:ann"),
            ("token:porch", None, "token:porch"),
            ("page:jwt:a", None, "jwt:a"),
        ] {
            let mut request = AskRequest {
                principal: principal.into(),
                party: party.map(str::to_owned),
                admin: true,
                ..Default::default()
            };
            assert_eq!(Asker::of(&mut request), asker(expected, true));
            assert_eq!((request.party, request.admin), (None, false));
        }
    }

    #[test]
    fn one_party_has_four_and_all_that_are_no_admins_leave_four_to_admins() {
        let mut waiting = Vec::new();
        for n in 0..28 {
            let who = asker(&format!("token:{}", n / 4), false);
            assert_eq!(refusal(&who, &waiting), None, "{n}");
            waiting.push(who);
            if n == 3 {
                let (text, limit) = refusal(&asker("token:0", false), &waiting).unwrap();
                assert!(text.contains("4 approvals that token:0 asked for"), "{text}");
                assert_eq!(limit, 4);
            }
        }
        let (text, limit) = refusal(&asker("token:new", false), &waiting).unwrap();
        assert!(text.contains("28 approvals already wait") && text.contains("for admins"), "{text}");
        assert_eq!(limit, 28);
        // An admin has its own four places, also beside its owner's other tokens that have theirs full.
        let admin = asker("token:0", true);
        for _ in 0..4 {
            assert_eq!(refusal(&admin, &waiting), None);
            waiting.push(admin.clone());
        }
        for (who, words) in [(&admin, "token:0 asked for"), (&asker("token:boss", true), "32 approvals already wait")] {
            assert!(refusal(who, &waiting).unwrap().0.contains(words), "{who:?}");
        }
    }

    #[test]
    fn one_admin_too_has_four_while_there_is_room() {
        let waiting = vec![asker("token:boss", true); 4];
        let (text, limit) = refusal(&waiting[0], &waiting).unwrap();
        assert!(text.contains("token:boss asked for"), "{text}");
        assert_eq!(limit, 4);
        assert_eq!(refusal(&asker("token:other", false), &waiting), None);
    }
}
