//! The enrolled approvers of this device, the asks that it has signed, and the judgement of answers.

mod order;

use self::order::UsedNonces;
use super::list_file::ApproverList;
use super::{
    Approver, ApproverKey, ApproverSecret, Decision, Enrolled, KeyKind, ListProof, MAX_APPROVERS, NewApprover,
    SignedAnswer, SignedAsk, Vouched, challenge, device_key, list_challenge, passkey, vouched_bytes,
};
use crate::{
    asks::{Ask, AskState},
    clock::Clock,
    installer::System,
};
use base::{
    base64url,
    error::{ErrorCode, ToolError},
};
use contract::config::ApproverKinds;
use ring::rand::{SecureRandom, SystemRandom};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Documents of one key in one minute that are signed right and wrong otherwise (of another boot, used before). Further
/// ones get no reason. What is right counts at any time: somebody else may have sent the wrong ones again.
const MAX_WRONG: u32 = 20;
/// How long a proof is good, before and after its time.
const PROOF_MS: i64 = 300_000;

/// What has a signature to be checked.
struct Signature<'a> {
    key: &'a str,
    kind: KeyKind,
    signature: &'a str,
    authenticator_data: Option<&'a str>,
    client_data: Option<&'a str>,
}

pub(crate) struct Approvers {
    folder: PathBuf,
    /// The machine with two slots, if this is one whose record can be used.
    pub(super) system: Option<Arc<System>>,
    clock: Clock,
    /// Another one after each start.
    boot: String,
    state: Mutex<State>,
}

struct State {
    list: ApproverList,
    /// The device's key: read, or made, when it is first needed.
    device: Option<(ApproverSecret, ApproverKey)>,
    /// Asks that were signed since the start, by their id.
    signed: BTreeMap<String, (String, SignedAsk)>,
    /// By enrolled key: the minute of its last wrong documents, and their number. A signature that is not a key's own is
    /// not counted here: anybody can send one, in anybody's name.
    wrong: BTreeMap<String, (i64, u32)>,
    nonces: UsedNonces,
}

impl Approvers {
    /// Loads the approvers. Those that cannot be read are a fault: nobody is let in by a damaged file.
    pub(crate) fn load(folder: &Path, system: Option<Arc<System>>, clock: &Clock, faults: &mut Vec<String>) -> Self {
        let list = ApproverList::load(folder, faults);
        let boot = random(16).unwrap_or_default();
        let (signed, nonces) = (BTreeMap::new(), UsedNonces::default());
        let state = State { list, device: None, signed, wrong: BTreeMap::new(), nonces };
        Self { folder: folder.to_owned(), system, clock: clock.clone(), boot, state: Mutex::new(state) }
    }

    /// The enrolled approvers, in the order of their enrolment.
    pub(crate) fn list(&self) -> Vec<Approver> {
        self.lock().list.known().to_vec()
    }

    /// As [`Approvers::list`], and then the entries that only another release can read.
    pub(crate) fn all(&self) -> Vec<Enrolled> {
        self.lock().list.all()
    }

    /// Whether nobody is enrolled. Not where something is there that this version cannot read.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().list.is_empty()
    }

    /// Whether an enrolled key is used at this origin.
    pub(crate) fn knows_origin(&self, origin: &str) -> bool {
        self.lock().list.known().iter().any(|known| known.origin.as_deref() == Some(origin))
    }

    /// The device's public key and the current boot. Makes the key if there is none.
    ///
    /// # Errors
    /// `unavailable` when the key cannot be read or stored.
    pub(crate) fn device(&self) -> Result<(ApproverKey, String), ToolError> {
        let mut state = self.lock();
        Ok((self.key(&mut state)?.1.clone(), self.boot.clone()))
    }

    /// What `sign` makes with the device's ID, the current boot and the device's key.
    ///
    /// # Errors
    /// As [`Approvers::device`], and those of `sign`.
    pub(crate) fn sign_as_device(
        &self,
        sign: impl FnOnce(String, String, &ApproverSecret) -> Result<String, ToolError>,
    ) -> Result<String, ToolError> {
        let mut state = self.lock();
        let (secret, public) = self.key(&mut state)?;
        sign(public.id(), self.boot.clone(), secret)
    }

    /// Enrols an approver.
    ///
    /// # Errors
    /// `invalid_argument` naming the field; `conflict` for a name or key that is enrolled; `resource_exhausted` beyond
    /// 16; `unavailable` when it cannot be stored.
    pub(crate) fn add(&self, new: NewApprover, by: &str) -> Result<Approver, ToolError> {
        let added = new.checked((self.clock)(), by)?;
        let mut state = self.lock();
        if let Some(same) = state.list.known().iter().find(|known| known.name == added.name || known.key == added.key) {
            return Err(ToolError::new(
                ErrorCode::Conflict,
                format!("{} is enrolled already, with key {}", same.name, same.key.id()),
            )
            .hint("revoke it first: raspi-mcp approver revoke NAME"));
        }
        if state.list.has_unread(&added.name) {
            let message =
                format!("{} is enrolled already, by another release; this one cannot read the entry", added.name);
            return Err(
                ToolError::new(ErrorCode::Conflict, message).hint("revoke it first: raspi-mcp approver revoke NAME")
            );
        }
        if state.list.len() >= MAX_APPROVERS {
            return Err(ToolError::exhausted(format!("a device has {MAX_APPROVERS} approvers at most"))
                .with("limit", MAX_APPROVERS)
                .hint("revoke one first: raspi-mcp approver revoke NAME"));
        }
        // Made now, so that the person at the console learns the device's id with the first approver.
        self.key(&mut state)?;
        let approvers = state.list.known().iter().cloned().chain([added.clone()]).collect();
        state.list.store(approvers)?;
        self.keys_enrolled(std::slice::from_ref(&added));
        Ok(added)
    }

    /// Revokes an approver, and what another release enrolled by that name. What it approved before stays approved.
    ///
    /// # Errors
    /// `not_found`; `unavailable` when that cannot be stored: then it still counts.
    pub(crate) fn revoke(&self, name: &str) -> Result<Enrolled, ToolError> {
        let mut state = self.lock();
        let keys = state.list.keys_of(name);
        let gone = state.list.revoke(name)?.ok_or_else(|| {
            ToolError::not_found(format!("there is no approver {name}")).hint("`raspi-mcp approver list` shows all")
        })?;
        self.keys_revoked(keys);
        Ok(gone)
    }

    /// Enrols these approvers in place of all others. Those that are enrolled already stay as they are.
    ///
    /// # Errors
    /// `invalid_argument` naming the field; `unavailable` when it cannot be stored: then nothing changed.
    pub(crate) fn replace(&self, new: Vec<NewApprover>, by: &str) -> Result<(), ToolError> {
        let mut state = self.lock();
        let mut approvers = Vec::new();
        for new in new.into_iter().take(MAX_APPROVERS) {
            let added = new.checked((self.clock)(), by)?;
            let same = state.list.known().iter().find(|known| known.name == added.name && known.key == added.key);
            approvers.push(same.cloned().unwrap_or(added));
        }
        state.list.replace(approvers.clone())?;
        self.keys_enrolled(&approvers);
        Ok(())
    }

    /// Signs for a code that was right and the approver's key that came with it.
    ///
    /// # Errors
    /// `unavailable` without the device's key.
    pub(crate) fn vouch(&self, code: &str, approver: Option<&str>) -> Result<Vouched, ToolError> {
        let mut state = self.lock();
        let (secret, key) = self.key(&mut state)?;
        let signature = base64url::encode(&secret.sign(&vouched_bytes(code, approver)));
        Ok(Vouched { key: key.clone(), signature })
    }

    /// Asks as signed documents. An ask has the same bytes as long as it is pending.
    ///
    /// # Errors
    /// `unavailable` without the device's key.
    pub(crate) fn signed(&self, pending: &[Ask], narrowed: &ApproverKinds) -> Result<Vec<SignedAsk>, ToolError> {
        let mut state = self.lock();
        state.signed.retain(|id, _| pending.iter().any(|ask| ask.id == *id));
        pending.iter().map(|ask| self.sign(&mut state, ask, narrowed)).collect()
    }

    /// The approver whose signature `answer` carries, if it may answer `ask` so.
    ///
    /// # Errors
    /// `permission_denied` naming what is wrong, `failed_precondition` for an ask that no longer waits,
    /// `resource_exhausted` for a wrong answer of a key that signed 20 others in this minute.
    pub(crate) fn judge(
        &self,
        ask: &Ask,
        answer: &SignedAnswer,
        narrowed: &ApproverKinds,
    ) -> Result<Approver, ToolError> {
        if ask.state != AskState::Pending {
            return Err(ToolError::precondition(format!("ask {} no longer waits for an answer", ask.id))
                .with("ask_id", ask.id.clone()));
        }
        let mut state = self.lock();
        // Without the nonce that its document has there is nothing that its signature could be verified over.
        let (nonce, signed) = match state.signed.get(&ask.id) {
            Some((nonce, signed)) => (nonce.clone(), signed.clone()),
            None => return Err(unverified("nobody was shown this ask")),
        };
        if nonce != answer.nonce {
            return Err(unverified("it is for another ask: the nonce differs"));
        }
        if answer.decision == Decision::Approve && !answer.kind.counts_for(&ask.request.tool, narrowed) {
            return Err(ToolError::denied(format!(
                "a key of kind {} does not count for {}",
                answer.kind.name(),
                ask.request.tool
            ))
            .with("ask_id", ask.id.clone())
            .hint("answer with a key of another kind or at the console; approval.kinds may narrow them"));
        }
        let signature = Signature {
            key: &answer.key,
            kind: answer.kind,
            signature: &answer.signature,
            authenticator_data: answer.authenticator_data.as_deref(),
            client_data: answer.client_data.as_deref(),
        };
        let (approver, counter) = verified(&state, &signature, &challenge(answer.decision, &signed.document))?;
        self.counted(&mut state, &approver, counter)?;
        Ok(approver)
    }

    /// The approver that proves who it is, to read asks.
    ///
    /// # Errors
    /// As [`Approvers::judge`]; `failed_precondition` when the proof is older than five minutes.
    pub(crate) fn prove(&self, proof: &ListProof) -> Result<Approver, ToolError> {
        let now = (self.clock)();
        if (now - proof.time_ms).abs() > PROOF_MS {
            return Err(ToolError::precondition("the proof is more than five minutes old by this device's clock")
                .with("time_ms", now)
                .hint("ask for the device's time and sign that"));
        }
        let mut state = self.lock();
        let device = self.key(&mut state)?.1.id();
        let Some(challenge) = proof.challenge(list_challenge(&device, &self.boot, proof.time_ms)) else {
            return Err(unverified("its parts have none for this device"));
        };
        let signature = Signature {
            key: &proof.key,
            kind: proof.kind,
            signature: &proof.signature,
            authenticator_data: proof.authenticator_data.as_deref(),
            client_data: proof.client_data.as_deref(),
        };
        // A proof is used again for five minutes, so its counter does not have to rise.
        verified(&state, &signature, &challenge).map(|(who, _)| who)
    }

    /// Keeps the counter of an authenticator.
    fn counted(&self, state: &mut State, approver: &Approver, counter: u32) -> Result<(), ToolError> {
        // A counter that does not rise tells of a copied authenticator (WebAuthn Level 3, section 6.1.1).
        if (counter, approver.counter) != (0, 0) && counter <= approver.counter {
            return Err(self.wrong(
                state,
                approver,
                "its counter did not rise: the authenticator may have been copied",
            ));
        }
        if counter != approver.counter {
            let mut approvers = state.list.known().to_vec();
            for known in &mut approvers {
                if known.key == approver.key {
                    known.counter = counter;
                }
            }
            state.list.store(approvers)?;
        }
        Ok(())
    }

    fn sign(&self, state: &mut State, ask: &Ask, narrowed: &ApproverKinds) -> Result<SignedAsk, ToolError> {
        if let Some((_, signed)) = state.signed.get(&ask.id) {
            return Ok(signed.clone());
        }
        let nonce = random(32)?;
        let signed = SignedAsk::of(ask, &self.boot, &nonce, self.key(state)?, narrowed)?;
        state.signed.insert(ask.id.clone(), (nonce, signed.clone()));
        Ok(signed)
    }

    fn key<'a>(&self, state: &'a mut State) -> Result<&'a (ApproverSecret, ApproverKey), ToolError> {
        match &mut state.device {
            Some(key) => Ok(key),
            empty => Ok(empty.insert(device_key::load_or_make(&self.folder, self.system.as_deref())?)),
        }
    }

    /// Refuses what `approver` signed and what is wrong otherwise, and counts it for that key alone.
    fn wrong(&self, state: &mut State, approver: &Approver, why: &str) -> ToolError {
        let (minute, key) = ((self.clock)() / 60_000, approver.key.id());
        // Of earlier minutes nothing is kept, nor of keys that were revoked since.
        state.wrong.retain(|_, (at, _)| *at == minute);
        let (_, count) = state.wrong.entry(key).or_insert((minute, 0));
        *count = count.saturating_add(1);
        if *count <= MAX_WRONG {
            return unverified(why);
        }
        let of = &approver.name;
        ToolError::exhausted(format!("{MAX_WRONG} wrong documents with a signature of {of} came within a minute"))
            .with("limit", MAX_WRONG)
            .hint("fetch it again and sign that, which counts at once; somebody may send again what this key signed before")
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Verifies a signature over `challenge` by an enrolled key. Also returns the counter of its authenticator.
///
/// Keeps no count: who sends wrong ones is not known here, and whoever named a key in them must not cost its owner a
/// thing. The listener counts them by the network that they come from.
fn verified(state: &State, given: &Signature<'_>, challenge: &[u8]) -> Result<(Approver, u32), ToolError> {
    let found = state.list.known().iter().find(|known| known.key.id() == given.key && known.kind == given.kind);
    let Some(approver) = found.cloned() else {
        return Err(unverified("its key is not enrolled, or was revoked"));
    };
    let Some(signature) = base64url::decode(given.signature) else {
        return Err(unverified("its signature is not base64url"));
    };
    if given.kind != KeyKind::Passkey {
        if given.authenticator_data.is_some() || given.client_data.is_some() {
            return Err(unverified("only passkeys have authenticator_data and client_data"));
        }
        return match approver.key.verifies(challenge, &signature) {
            true => Ok((approver, 0)),
            false => Err(unverified("its signature is wrong")),
        };
    }
    let (Some(authenticator), Some(client), Some(origin)) =
        (given.authenticator_data, given.client_data, approver.origin.as_deref())
    else {
        return Err(unverified("a passkey's answer has authenticator_data and client_data"));
    };
    let checked = passkey::check(authenticator, client, challenge, origin)?;
    if !approver.key.verifies(&checked.message, &signature) {
        return Err(unverified("its signature is wrong"));
    }
    Ok((approver, checked.counter))
}

fn unverified(why: &str) -> ToolError {
    ToolError::denied(format!("what was signed does not count: {why}"))
        .hint("fetch it again and sign that; `raspi-mcp approver list` shows the enrolled keys")
}

/// `count` random bytes, base64url.
pub(super) fn random(count: usize) -> Result<String, ToolError> {
    let mut bytes = vec![0; count];
    SystemRandom::new().fill(&mut bytes).map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
    Ok(base64url::encode(&bytes))
}
