//! Every tool that the server offers, as data: the entries feed the listing, the dispatcher, the schemas on disk, the policy
//! table and the tests. Those of this program are there from the start; others come and go while the server runs.

pub mod added;
mod admission;
pub mod answer_meta;
mod authorization;
pub mod bounds;
mod budget;
pub mod cache;
#[cfg(not(schemas_from_types))]
mod carried;
pub mod compat;
pub mod context;
pub mod deed;
pub mod entry;
mod gates;
pub mod listing;
pub mod names;
pub mod pipeline;
pub mod places;
pub mod progress;
mod rate;
mod refusal;
pub mod row;
pub mod tool;
mod trail;

use base::error::ToolError;
use entry::Entry;
use names::{Dialect, Names, ToolNameError};
use row::ToolRow;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::watch;

/// Whether this build makes its schemas from types. A release has them from the files, so it is no witness for the files.
pub const FROM_TYPES: bool = cfg!(schemas_from_types);

/// The tools of one server.
pub struct Registry {
    rows: Vec<&'static ToolRow>,
    tools: RwLock<Arc<ToolTable>>,
    /// Held while the tools are replaced, which takes longer than the lock above may.
    change: Mutex<()>,
    changes: watch::Sender<()>,
}

/// The tools at one time. They do not change: a change makes others.
pub struct ToolTable {
    entries: Vec<Arc<Entry>>,
    names: Names,
}

impl ToolTable {
    fn new(entries: Vec<Arc<Entry>>) -> Result<Self, String> {
        Ok(Self { names: Names::new(&entries)?, entries })
    }

    /// Older versions too.
    pub fn all(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// In the order of the listing, without older versions.
    pub fn newest(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter().filter(|entry| !entry.is_older())
    }
}

impl Registry {
    /// A registry of these tables, in this order. The product's are `tools::NAMESPACES`; who starts a server may add others.
    ///
    /// # Panics
    /// If two rows have the same spelling, which the contract test rules out.
    pub fn new(namespaces: &[&'static [ToolRow]]) -> Self {
        let rows: Vec<_> = namespaces.iter().copied().flatten().collect();
        let entries = rows.iter().map(|row| Arc::new(Entry::from(*row))).collect();
        let tools = ToolTable::new(entries).expect("the names of the tables are unique");
        Self { rows, tools: RwLock::new(Arc::new(tools)), change: Mutex::default(), changes: watch::Sender::new(()) }
    }

    /// The tools of this program, older versions too: what schema files, policy and configuration are about.
    pub fn rows(&self) -> impl Iterator<Item = &'static ToolRow> + '_ {
        self.rows.iter().copied()
    }

    /// The tools as they are now.
    pub fn tools(&self) -> Arc<ToolTable> {
        Arc::clone(&self.tools.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every tool as of now, in the order of the listing, without older versions.
    pub fn entries(&self) -> impl Iterator<Item = Arc<Entry>> + use<> {
        self.tools().newest().map(Arc::clone).collect::<Vec<_>>().into_iter()
    }

    /// See [`Names::resolve`].
    ///
    /// # Errors
    /// [`ToolNameError`], with the nearest name when there is a likely one.
    pub fn resolve(&self, written: &str) -> Result<(Arc<Entry>, Dialect), ToolNameError> {
        self.tools().names.resolve(written)
    }

    /// Makes `entries` the tools of `namespace`, in the place of those it had: none removes it. Calls that run go on. Returns
    /// whether anything has changed. Waiters of [`Registry::changes`] are told.
    ///
    /// # Errors
    /// `invalid_argument`: the namespace is one of this program's own, a tool belongs to another namespace, or a name has the
    /// spelling of another tool. Nothing has changed then.
    pub fn set_namespace(&self, namespace: &str, entries: Vec<Entry>) -> Result<bool, ToolError> {
        if self.rows.iter().any(|row| row.meta.namespace() == namespace) {
            return Err(ToolError::invalid(format!("the namespace {namespace} is this server's own")));
        }
        if let Some(stray) = entries.iter().find(|entry| entry.meta().namespace() != namespace) {
            return Err(ToolError::invalid(format!("{} is not in the namespace {namespace}", stray.name())));
        }
        let _change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.tools();
        let is_other = |entry: &&Arc<Entry>| entry.meta().namespace() != namespace;
        let mut tools: Vec<_> = before.entries.iter().filter(is_other).cloned().collect();
        if entries.is_empty() && tools.len() == before.entries.len() {
            return Ok(false);
        }
        tools.extend(entries.into_iter().map(Arc::new));
        let tools = ToolTable::new(tools).map_err(ToolError::invalid)?;
        *self.tools.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tools);
        self.changes.send_replace(());
        Ok(true)
    }

    /// Is told of every change; changes that come quickly are told once.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }
}
