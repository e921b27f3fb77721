//! Which asks are told: each once, and so many in an hour, of one party and of all.

use contract::access::{
    caller::Caller,
    shares::{Rule, is_admin},
};
use std::{collections::VecDeque, time::Duration};
use tokio::time::Instant;

/// Maximum number of messages about asks in an hour. A caller that asks without end would else fill the owner's phone.
pub const MOST_AN_HOUR: usize = 30;
/// Half of them for one party, since most devices have one that asks; an eighth is for admins, so that the others cannot
/// keep an admin's ask from the owner.
const RULE: Rule = Rule::half(MOST_AN_HOUR);
const HOUR: Duration = Duration::from_secs(3600);

/// The asks of the last hour, oldest first.
#[derive(Debug, Default)]
pub struct AskWindow(VecDeque<ToldAsk>);

#[derive(Debug)]
struct ToldAsk {
    at: Instant,
    id: String,
    party: String,
    admin: bool,
}

/// What to do about an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskVerdict {
    Tell,
    /// It was told: a caller repeats its call to look for the answer.
    Known,
    TooMany,
}

impl AskWindow {
    /// Judges the ask with this id, of a call by `caller`, and remembers it if it is to be told.
    pub fn judge(&mut self, id: &str, caller: &Caller, now: Instant) -> AskVerdict {
        while self.0.front().is_some_and(|told| now.duration_since(told.at) >= HOUR) {
            self.0.pop_front();
        }
        if self.0.iter().any(|told| told.id == id) {
            return AskVerdict::Known;
        }
        let (party, admin) = (caller.party(), is_admin(caller));
        let count = |of: &dyn Fn(&ToldAsk) -> bool| self.0.iter().filter(|told| of(told)).count();
        let (own, weak) = (count(&|told| told.party == party), count(&|told| !told.admin));
        if RULE.admits(admin, own, weak, self.0.len()).is_err() {
            return AskVerdict::TooMany;
        }
        self.0.push_back(ToldAsk { at: now, id: id.to_owned(), party: party.into_owned(), admin });
        AskVerdict::Tell
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{access::caller::Transport, meta::Role};

    fn who(name: &str, role: Role) -> Caller {
        Caller::new(name, role, Transport::Http)
    }

    #[test]
    fn an_ask_is_told_once_and_thirty_in_an_hour() {
        let (mut window, now, root) = (AskWindow::default(), Instant::now(), who("uid:0", Role::Admin));
        for number in 0..MOST_AN_HOUR {
            assert_eq!(window.judge(&number.to_string(), &root, now), AskVerdict::Tell);
        }
        assert_eq!(window.judge("0", &root, now), AskVerdict::Known);
        assert_eq!(window.judge("one more", &root, now), AskVerdict::TooMany);
        assert_eq!(window.judge("one more", &root, now + HOUR - Duration::from_millis(1)), AskVerdict::TooMany);
        assert_eq!(window.judge("one more", &root, now + HOUR), AskVerdict::Tell);
    }

    #[test]
    fn one_party_has_half_of_them_and_an_admin_is_told_of_behind_all_others() {
        let (mut window, now) = (AskWindow::default(), Instant::now());
        let [one, other, boss] =
            [("token:a", Role::OpsRw), ("token:b", Role::OpsRw), ("token:c", Role::Admin)].map(|(n, r)| who(n, r));
        let mut next = 0;
        let mut told = |window: &mut AskWindow, callers: [&Caller; 2]| {
            let mut told = 0;
            // As a flood does: by the token and by its session of the page in turn.
            for caller in callers.into_iter().cycle().take(2 * MOST_AN_HOUR) {
                next += 1;
                told += usize::from(window.judge(&next.to_string(), caller, now) == AskVerdict::Tell);
            }
            told
        };
        assert_eq!(told(&mut window, [&one, &one.at_the_page()]), 15);
        assert_eq!(told(&mut window, [&other, &other.at_the_page()]), 11, "all but the reserve");
        assert_eq!(told(&mut window, [&boss, &boss.at_the_page()]), 4);
    }
}
