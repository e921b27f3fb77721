//! The objects of calls that `Start` began: `/org/raspimcp/calls/N`.

use super::{
    door::{Door, Reply},
    fault::Fault,
    methods::{CALL, path_of},
    values::text,
};
use base::error::ToolError;
use serde_json::value::RawValue;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio_util::sync::CancellationToken;
use zbus::Variant;

/// Results that are kept for `Result`, of all callers together; beyond that the oldest objects go. `Finished` has
/// brought each result to its caller before.
const KEPT: usize = 64;
/// The same in bytes.
const KEPT_BYTES: usize = 16 * 1024 * 1024;

/// All of them, by number.
#[derive(Default)]
pub struct Jobs(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    last: u64,
    jobs: BTreeMap<u64, Job>,
}

struct Job {
    /// The unique name of the connection that began it.
    owner: String,
    cancel: CancellationToken,
    /// Once it has ended.
    end: Option<Result<Box<RawValue>, ToolError>>,
}

impl Jobs {
    /// A new object; returns its number.
    pub fn add(&self, owner: &str, cancel: CancellationToken) -> u64 {
        let mut inner = self.lock();
        inner.last += 1;
        let number = inner.last;
        inner.jobs.insert(number, Job { owner: owner.to_owned(), cancel, end: None });
        number
    }

    /// Whether there is such an object for this connection.
    pub fn is_of(&self, number: u64, owner: &str) -> bool {
        self.lock().jobs.get(&number).is_some_and(|job| job.owner == owner)
    }

    /// The numbers of a connection's objects.
    pub fn of(&self, owner: &str) -> Vec<u64> {
        self.lock().jobs.iter().filter(|(_, job)| job.owner == owner).map(|(number, _)| *number).collect()
    }

    /// Removes the objects of a connection that has ended.
    pub fn forget(&self, owner: &str) {
        self.lock().jobs.retain(|_, job| job.owner != owner);
    }

    /// The call has ended. Makes room by removing the oldest objects of calls that have ended.
    pub fn end(&self, number: u64, end: Result<Box<RawValue>, ToolError>) {
        let mut inner = self.lock();
        // Gone with its connection.
        let Some(job) = inner.jobs.get_mut(&number) else { return };
        job.end = Some(end);
        let bytes = |job: &Job| match &job.end {
            Some(Ok(json)) => json.get().len(),
            _ => 0,
        };
        let ended: Vec<(u64, usize)> =
            inner.jobs.iter().filter(|(_, job)| job.end.is_some()).map(|(number, job)| (*number, bytes(job))).collect();
        let mut kept = (ended.len(), ended.iter().map(|(_, bytes)| bytes).sum::<usize>());
        for (number, bytes) in ended {
            if kept.0 <= KEPT && kept.1 <= KEPT_BYTES {
                return;
            }
            inner.jobs.remove(&number);
            kept = (kept.0 - 1, kept.1 - bytes);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Door {
    /// `Cancel`.
    pub(super) fn cancel(&self, number: u64) -> Reply {
        if let Some(job) = self.jobs.lock().jobs.get(&number) {
            job.cancel.cancel();
        }
        Reply::Fields(Vec::new())
    }

    /// `Result`.
    ///
    /// # Errors
    /// That of the call.
    pub(super) fn result(&self, number: u64) -> Result<Reply, Fault> {
        let inner = self.jobs.lock();
        let (done, json) = match inner.jobs.get(&number).and_then(|job| job.end.as_ref()) {
            None => (false, String::new()),
            Some(Ok(json)) => (true, json.get().to_owned()),
            Some(Err(error)) => return Err(error.clone().into()),
        };
        Ok(Reply::Fields(vec![Variant::from(done), text(json)]))
    }

    /// Sends `Progress` or `Finished` of a call to its caller.
    pub(super) async fn report(&self, to: &str, number: u64, signal: &'static str, fields: Vec<Variant<'static>>) {
        self.signal(Some(to), &path_of(number), CALL, signal, fields).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(bytes: usize) -> Result<Box<RawValue>, ToolError> {
        Ok(RawValue::from_string(format!("\"{}\"", "x".repeat(bytes - 2))).unwrap())
    }

    #[test]
    fn results_are_kept_up_to_a_number_and_a_size_and_calls_that_run_stay() {
        let jobs = Jobs::default();
        let running = jobs.add(":1.1", CancellationToken::new());
        for _ in 0..KEPT + 3 {
            let number = jobs.add(":1.2", CancellationToken::new());
            jobs.end(number, json(10));
        }
        assert_eq!(jobs.of(":1.2").len(), KEPT);
        assert!(!jobs.is_of(running + 3, ":1.2") && jobs.is_of(running + 4, ":1.2"), "the oldest went");
        assert!(!jobs.is_of(running + 4, ":1.1"), "it is another's");
        let big = jobs.add(":1.3", CancellationToken::new());
        jobs.end(big, json(KEPT_BYTES));
        assert_eq!((jobs.of(":1.2").len(), jobs.of(":1.3")), (0, vec![big]), "exactly as much as fits");
        let small = jobs.add(":1.3", CancellationToken::new());
        jobs.end(small, json(2));
        assert_eq!(jobs.of(":1.3"), [small]);
        assert_eq!(jobs.of(":1.1"), [running]);
        jobs.forget(":1.1");
        jobs.end(running, json(2));
        assert!(jobs.of(":1.1").is_empty());
    }
}
