//! What a machine without an owner becomes when a backup is restored on it: decided in memory, written at once.

use super::{Backup, contents::unusable, files::APPROVERS};
use crate::{
    FirstApprovers, Identity, connections::SavedConnections, device_key, generation, halt, identity, revoked::Revoked,
    timezone,
};
use base::{
    base64url,
    error::{ErrorCode, ToolError},
};
use contract::{config::TokenSetting, meta::Role};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use update::slots::{MOST_ROOTS, StateRecord};

/// A backup on its way to a machine that shows a claim code, and what the person who claims it adds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    pub backup: Backup,
    /// The hash of a token that is the owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<TokenSetting>,
    /// The only approver from then on, in place of those of the backup: an object that the agent checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<Value>,
}

impl Restore {
    /// Reads its JSON, and checks the backup in it.
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn parse(json: &[u8]) -> Result<Self, ToolError> {
        let restore: Self = serde_json::from_slice(json).map_err(|error| unusable(error.to_string()))?;
        restore.backup.check().map_err(unusable)?;
        Ok(restore)
    }

    /// What it makes of an identity that has the backup's fields.
    #[must_use]
    pub fn over(&self, mut identity: Identity) -> Identity {
        if let Some(owner) = &self.owner {
            identity.belongs_to(owner.clone());
        }
        if let Some(approver) = &self.approver {
            identity.approvers =
                Some(FirstApprovers { list: vec![approver.clone()], ..FirstApprovers::of("the claim") });
        }
        identity
    }
}

/// The state of a machine with the backup on it, and what `over` makes of its identity. What only rises keeps the higher
/// number, a halt stands if either has one, what was revoked stays revoked, and nothing of the slots and of updates changes.
///
/// # Errors
/// `failed_precondition` on a machine with an owner, for a backup of another product, and for one that makes nobody the
/// owner; `invalid_argument` for an identity that this version cannot read.
pub fn restored(
    backup: &Backup,
    state: &StateRecord,
    product: &str,
    over: impl FnOnce(Identity) -> Identity,
) -> Result<StateRecord, ToolError> {
    let (was, _) = Identity::of(state);
    if was.claimed {
        return Err(crate::claim::claimed_already());
    }
    if backup.product != product {
        let (is, wanted) = (&backup.product, product);
        return Err(ToolError::precondition(format!(
            "the backup is of a machine with images of {is:?}, and this one's are of {wanted:?}"
        ))
        .hint("flash the image that the machine had, or a newer one of the same product"));
    }
    let revoked = revoked_by(backup, state);
    let backup = &backup.without_revoked(&revoked).0;
    let mut next = state.clone();
    let identity = over(merged(backup, &was)?);
    if !identity.tokens.iter().any(|token| token.role == Role::Admin && token.expires.is_none()) {
        return Err(ToolError::precondition(
            "with this backup nobody would own the machine: it has no admin token that does not expire",
        )
        .hint("a backup without the identity needs [[access.tokens]] in raspi-mcp.toml beside it, or a claim"));
    }
    next = identity.in_state(&next);
    next.counter_floor = next.counter_floor.max(backup.counter_floor);
    next.revoke_below = next.revoke_below.max(backup.revoke_below);
    next.committed_time = next.committed_time.max(backup.committed_time);
    // The machine's own halt stays, and so does one that cannot be read.
    let halts = halt::kept(&next).map_or(true, |kept| kept.is_some_and(|kept| kept.halted.is_some()));
    if !halts && backup.halt.halted.is_some() {
        next = halt::to_keep(&backup.halt, &next).unwrap_or(next);
    }
    next = revoked.to_keep(&next).unwrap_or(next);
    if let Some(zone) = &backup.timezone {
        next = timezone::to_keep(zone, &next).unwrap_or(next);
    }
    // Checked when it was read.
    if let Ok(connections) = SavedConnections::of_files(backup.connections.clone()) {
        connections.keep(&mut next);
    }
    if backup.has_identity() {
        if let Some(der) = backup.device_key.as_deref().and_then(base64url::decode) {
            next = device_key::to_keep(&der, &next);
        }
        // One that does not follow is passed over when they are read.
        next.roots.extend(backup.roots.iter().filter(|root| !state.roots.contains(root)).cloned());
        next.roots.truncate(MOST_ROOTS);
        generation::raise(&mut next, backup.generation);
    }
    backup.files.keep(&mut next);
    Ok(next)
}

/// What [`restored`] leaves out of a backup, as people name it: it was revoked on this card, or before the backup was made.
pub fn left_out(backup: &Backup, state: &StateRecord) -> Vec<String> {
    backup.without_revoked(&revoked_by(backup, state)).1
}

/// What was revoked on this card, and before the backup was made.
fn revoked_by(backup: &Backup, state: &StateRecord) -> Revoked {
    let mut revoked = Revoked::of(state);
    revoked.merge(&backup.revoked);
    revoked
}

/// The identity: the backup's fields over the machine's.
fn merged(backup: &Backup, was: &Identity) -> Result<Identity, ToolError> {
    let json = Value::Object(backup.identity.clone()).to_string().into_bytes();
    let recorded = StateRecord { kept: [(identity::KEY.to_owned(), json)].into(), ..StateRecord::default() };
    let (found, faults) = Identity::of(&recorded);
    if let Some(fault) = faults.into_iter().next() {
        return Err(ToolError::new(ErrorCode::InvalidArgument, format!("the backup cannot be used: {fault}"))
            .hint("flash the version of raspi-mcp that made it, or a newer one"));
    }
    let mut next = Identity {
        name: found.name.or_else(|| was.name.clone()),
        wifi: found.wifi.or_else(|| was.wifi.clone()),
        update: found.update,
        // Those of the backup are in a file of the agent; without one, nobody approves.
        approvers: (!backup.files.agent.contains_key(APPROVERS)).then(|| FirstApprovers::of("a backup")),
        ..was.clone()
    };
    if backup.has_identity() {
        if found.certificate.is_some() && found.key.is_some() {
            (next.certificate, next.key) = (found.certificate, found.key);
        }
        (next.tokens, next.fleet) = (found.tokens, found.fleet);
        next.more.extend(found.more);
        next.claimed = found.claimed || !next.tokens.is_empty();
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::{PURPOSE, SavedFile, SavedFiles};
    use contract::{
        config::Sha256,
        halt::{HaltState, Halted},
    };

    fn token(name: &str) -> TokenSetting {
        let (owner, expires) = (None, None);
        TokenSetting {
            name: name.into(),
            sha256: Sha256([7; 32]),
            role: Role::Admin,
            owner,
            expires,
            devices: Vec::new(),
        }
    }

    fn halted(by: &str) -> HaltState {
        let halted = Halted { by: by.into(), how: "raspi-mcp halt".into(), since_ms: 7, reason: None };
        HaltState { halted: Some(halted), lifted: None }
    }

    fn owned() -> Backup {
        let mut old = Identity { name: Some("porch".into()), ..Identity::default() };
        old.make_key().unwrap();
        old.belongs_to(token("laptop"));
        let Value::Object(identity) = serde_json::to_value(&old).unwrap() else { panic!("an object") };
        Backup {
            purpose: PURPOSE.into(),
            product: "pi".into(),
            identity,
            device_key: Some(base64url::encode(b"its key")),
            generation: 4,
            ..Backup::default()
        }
    }

    fn fresh() -> StateRecord {
        let mut identity = Identity::default();
        identity.make_key().unwrap();
        identity.in_state(&StateRecord::default())
    }

    fn on(backup: &Backup, state: &StateRecord) -> Result<StateRecord, ToolError> {
        restored(backup, state, "pi", |identity| identity)
    }

    #[test]
    fn with_the_identity_it_is_the_same_device_of_the_same_owner() {
        let (backup, state) = (owned(), fresh());
        let next = on(&backup, &state).unwrap();
        let (identity, faults) = Identity::of(&next);
        assert_eq!(faults, [""; 0]);
        assert_eq!(identity.certificate.as_deref(), backup.identity["certificate"].as_str());
        assert_ne!(identity.fingerprint(), Identity::of(&state).0.fingerprint());
        assert!(identity.claimed && identity.tokens == [token("laptop")] && identity.name.as_deref() == Some("porch"));
        assert_eq!(device_key::kept(&next).unwrap(), b"its key");
        assert_eq!(generation::of(&next), 5);
        assert!(SavedFiles::are_pending(&next));
    }

    #[test]
    fn without_the_identity_it_is_another_device_and_needs_an_owner() {
        let mut backup = owned();
        backup.device_key = None;
        backup.identity.retain(|name, _| name == "name");
        let state = fresh();
        assert!(on(&backup, &state).unwrap_err().message.contains("nobody would own"));
        let restore = Restore { backup: backup.clone(), owner: Some(token("owner")), approver: None };
        let next = restored(&backup, &state, "pi", |identity| restore.over(identity)).unwrap();
        let (was, is) = (Identity::of(&state).0, Identity::of(&next).0);
        assert_eq!((was.fingerprint(), is.tokens.len(), is.claimed), (is.fingerprint(), 1, true));
        assert_eq!((device_key::kept(&next), generation::of(&next)), (None, 0));
    }

    #[test]
    fn floors_revocations_times_and_generations_never_fall() {
        for own_is_higher in [true, false] {
            let (mut backup, mut state) = (owned(), fresh());
            let (mine, its) = if own_is_higher { (9, 3) } else { (3, 9) };
            (state.counter_floor, state.revoke_below, state.committed_time) = (mine, mine, mine);
            (backup.counter_floor, backup.revoke_below, backup.committed_time) = (its, its, its);
            backup.generation = its;
            generation::raise(&mut state, mine - 1);
            let next = on(&backup, &state).unwrap();
            assert_eq!((next.counter_floor, next.revoke_below, next.committed_time), (9, 9, 9));
            assert_eq!(generation::of(&next), 10);
        }
    }

    #[test]
    fn a_halt_stands_if_either_has_one() {
        let (plain, mut stopped) = (owned(), owned());
        stopped.halt = halted("the backup");
        let own = halt::to_keep(&halted("this machine"), &fresh()).unwrap();
        let mut damaged = fresh();
        damaged.kept.insert("halt".into(), b"{".to_vec());
        let by = |backup: &Backup, state: &StateRecord| {
            halt::kept(&on(backup, state).unwrap())
                .map(|kept| kept.and_then(|kept| kept.halted).map(|halted| halted.by))
        };
        assert_eq!(by(&plain, &fresh()), Ok(None));
        assert_eq!(by(&stopped, &fresh()), Ok(Some("the backup".into())));
        assert_eq!(by(&plain, &own), Ok(Some("this machine".into())));
        assert_eq!(by(&stopped, &own), Ok(Some("this machine".into())));
        assert!(by(&stopped, &damaged).is_err() && by(&plain, &damaged).is_err(), "it still counts as a halt");
    }

    #[test]
    fn a_machine_with_an_owner_another_product_and_a_field_it_cannot_read_are_refused() {
        let (backup, state) = (owned(), fresh());
        let mut identity = Identity::of(&state).0;
        identity.belongs_to(token("somebody"));
        assert!(on(&backup, &identity.in_state(&state)).unwrap_err().message.contains("claimed already"));
        assert!(restored(&backup, &state, "other", |identity| identity).unwrap_err().message.contains("\"other\""));
        let mut odd = backup;
        odd.identity.insert("tokens".into(), Value::from(7));
        assert_eq!(on(&odd, &state).unwrap_err().code, ErrorCode::InvalidArgument);
    }

    #[test]
    fn approvers_are_those_of_the_backup_or_of_the_claim_and_never_the_machines() {
        let approvers = |backup: &Backup| Identity::of(&on(backup, &fresh()).unwrap()).0.approvers;
        let mut backup = owned();
        assert_eq!(approvers(&backup), Some(FirstApprovers::of("a backup")), "nobody");
        backup.files.agent.insert(APPROVERS.into(), SavedFile { text: "[]".into(), mode: 0o600 });
        assert_eq!(approvers(&backup), None, "those of its file");
        let restore = Restore { backup: backup.clone(), owner: None, approver: Some(Value::from("anna")) };
        let next = restored(&backup, &fresh(), "pi", |identity| restore.over(identity)).unwrap();
        assert_eq!(Identity::of(&next).0.approvers.unwrap().list, ["anna"]);
    }
}
