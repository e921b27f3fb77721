//! A backup beside `raspi-mcp.toml`: restored at the first start of a card, with everything else that the file says.

use super::{PrepareResult, PrepareSite, Record};
use crate::{
    Identity,
    backup::{Backup, Credential, FILE, SavedFiles, left_out, restored, sealed::MAX_FILE},
    connections::SavedConnections,
    network::data_lost,
    partition::{self, FileContent},
    provisioning::{self, Provisioning},
};
use base::error::ToolError;
use update::{disk::Disk, slots::StateRecord};

/// The state with the backup beside the file on it, and a note; `None` if there is no backup.
///
/// # Errors
/// Those of opening and restoring it; `failed_precondition` for a backup without a passphrase, and the reverse.
pub(super) fn beside(
    site: &PrepareSite<'_>,
    state: &StateRecord,
    said: &Provisioning,
) -> Result<Option<(StateRecord, String)>, ToolError> {
    let file = provisioning::FILE;
    let (bytes, passphrase) = match (find(site.disk)?, said.passphrase()) {
        (FileContent::Nothing | FileContent::Blank, None) => return Ok(None),
        (FileContent::Nothing | FileContent::Blank, Some(_)) => {
            return Err(ToolError::precondition(format!(
                "{file} has backup.passphrase, and there is no {FILE} beside it: nothing was taken"
            ))
            .hint(format!("copy the backup to partition 1 under the name {FILE}, or take out [backup]")));
        }
        (FileContent::Unreadable(why), _) => {
            return Err(ToolError::precondition(format!("{FILE} cannot be read: {why}")).hint("copy it again"));
        }
        (FileContent::Bytes(_), None) => return Err(ToolError::precondition(needs_passphrase()).hint(NEEDS)),
        (FileContent::Bytes(bytes), Some(passphrase)) => (bytes, passphrase),
    };
    let about = |error: ToolError| {
        let message = format!("{FILE} was not restored, and nothing was taken: {}", error.message);
        error.with_message(message)
    };
    let backup = (site.open_backup)(&bytes, passphrase).map_err(about)?;
    let over = |identity: Identity| {
        let (approvers, next) = (identity.approvers.clone(), said.over(&identity));
        if said.has_approvers() { next } else { Identity { approvers, ..next } }
    };
    let mut next = restored(&backup, state, site.product, over).map_err(about)?;
    if said.has_trust() {
        // They followed the root that is replaced.
        next.roots.clear();
    }
    let what = if backup.has_identity() { "with its identity" } else { "without an identity" };
    let note = format!("{FILE} of device {} was restored, {what}; {}", backup.device, let_in(&backup, state));
    Ok(Some((next, note)))
}

/// Whom a backup lets in again, and whom not.
fn let_in(backup: &Backup, state: &StateRecord) -> String {
    let gone = left_out(backup, state);
    let all = backup.credentials();
    let again: Vec<String> = all.iter().map(Credential::label).filter(|label| !gone.contains(label)).collect();
    let list = |labels: Vec<String>| if labels.is_empty() { "nobody".to_owned() } else { labels.join(", ") };
    let revoked = if gone.is_empty() { String::new() } else { format!("; revoked before: {}", list(gone)) };
    format!("it lets in again: {}{revoked}", list(again))
}

/// What to say of a backup without a file beside it, on a machine without an owner.
pub(super) fn alone(site: &PrepareSite<'_>, identity: &Identity) -> Option<String> {
    let there = !identity.claimed && matches!(find(site.disk), Ok(FileContent::Bytes(_) | FileContent::Unreadable(_)));
    there.then(|| format!("{}; {NEEDS}", needs_passphrase()))
}

/// Does what a restore left to be done: erases the backup, whose passphrase was beside it, writes its files, and only then
/// takes them out of the record. After a power cut or an error the next start does all of it again.
///
/// # Errors
/// Those of the record.
pub(super) fn finish(
    site: &PrepareSite<'_>,
    record: &mut Record<'_>,
    done: &mut PrepareResult,
) -> Result<(), ToolError> {
    let files = match SavedFiles::pending(&record.state) {
        Ok(None) => return Ok(()),
        Ok(Some(files)) => files,
        Err(why) => {
            done.faults.push(format!("files of a backup wait to be written, and this version cannot read them: {why}"));
            return Ok(());
        }
    };
    let before = done.faults.len();
    let faults = &mut done.faults;
    faults.extend(partition::forget(site.disk, FILE).err().map(|error| error.advice()));
    let connections = SavedConnections::kept(&record.state).restore(site.root);
    faults.extend(connections.err().map(|error| format!("connections of the backup cannot be written: {error}")));
    match files.write(site.site_dir, site.agent_dir) {
        Ok(count) => done.notes.push(format!("{count} files of the backup were written")),
        Err(why) => {
            faults.push(format!("a file of the backup cannot be written, and is tried again at the next start: {why}"))
        }
    }
    if done.faults.len() > before || data_lost(site.root).is_some() {
        return Ok(());
    }
    let mut next = record.state.clone();
    SavedFiles::forget(&mut next);
    record.save(next)?;
    // From a copy that still has them, later changes of the same files would be undone.
    let again = record.store.save_again(record.disk, &record.state, |other| !SavedFiles::are_pending(other));
    done.faults.extend(again.err().map(|error| error.advice()));
    Ok(())
}

const NEEDS: &str = "write [backup] and passphrase = \"...\" into it, and start the machine again";

fn needs_passphrase() -> String {
    format!(
        "{FILE} is on partition 1, and {} has no passphrase that opens it: nothing was restored",
        provisioning::FILE
    )
}

fn find(disk: &dyn Disk) -> Result<FileContent, ToolError> {
    partition::find_up_to(disk, FILE, MAX_FILE as u64)
}
