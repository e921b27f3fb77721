//! One connection of a caller to the bus: who it is, what it has under way, and what ends with it.

use crate::{rpc::router::Server, transport::local::LocalAccess};
use base::{
    error::ToolError,
    os::{Root, bus, groups},
};
use contract::{
    access::{
        caller::{Caller, Transport},
        presence::Presence,
    },
    meta::Role,
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use zbus::Connection;

/// Unfinished method calls of one connection, calls that `Start` began included.
pub const UNFINISHED: usize = 8;

/// A connection that has called something.
pub struct Client {
    /// Its unique name, like `:1.42`. The bus gives no name twice.
    pub name: String,
    caller: OnceCell<Arc<Caller>>,
    presence: Presence,
    /// Cancelled when the connection ends.
    pub gone: CancellationToken,
    /// Its number among the subscribers.
    pub conversation: u64,
    /// Signals of changed resources so far.
    pub sequence: AtomicU64,
    unfinished: AtomicUsize,
}

/// One of the [`UNFINISHED`]; freed when dropped.
pub struct Unfinished(Arc<Client>);

impl Client {
    pub fn new(name: &str, server: &Server) -> Self {
        Self {
            name: name.to_owned(),
            caller: OnceCell::new(),
            presence: Presence::default(),
            gone: CancellationToken::new(),
            conversation: server.subscriptions.conversation(),
            sequence: AtomicU64::new(0),
            unfinished: AtomicUsize::new(0),
        }
    }

    /// Takes one of the connection's places; `None` if all are taken.
    pub fn begin(self: &Arc<Self>) -> Option<Unfinished> {
        let free = |taken| (taken < UNFINISHED).then_some(taken + 1);
        let taken = self.unfinished.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free);
        taken.is_ok().then(|| Unfinished(Arc::clone(self)))
    }

    /// Who it is, as the bus says. Asked once; it cannot change.
    ///
    /// # Errors
    /// `unauthenticated` if the bus does not know the connection or its user; `unavailable` if it does not answer.
    pub async fn caller(&self, bus: &Connection, server: &Server) -> Result<Arc<Caller>, ToolError> {
        self.caller.get_or_try_init(|| self.identify(bus, server)).await.map(Arc::clone)
    }

    async fn identify(&self, connection: &Connection, server: &Server) -> Result<Arc<Caller>, ToolError> {
        let credentials = bus::credentials(connection, self.name.as_str()).await?;
        let Some((uid, credentials)) = credentials.and_then(|found| Some((found.unix_user_id()?, found))) else {
            return Err(ToolError::new(
                base::error::ErrorCode::Unauthenticated,
                format!("the bus does not say which user {} is", self.name),
            ));
        };
        let gids = credentials.into_unix_group_ids().unwrap_or_default();
        let settings = &server.pipeline.services.settings;
        let access = LocalAccess { admin_group: &settings.access.admin_group, owners: &settings.access.owners };
        let root = Root::system();
        let caller = access.caller(uid, &gids, Transport::Dbus, &root);
        let mut caller = caller.map_err(|refused| ToolError::denied(refused.to_string()))?;
        if caller.role < Role::Admin
            && let Some(role) = groups::user_name(&root, uid).and_then(|user| settings.dbus.roles.get(&user))
        {
            caller.role = *role;
        }
        caller.presence = Some(self.presence.clone());
        Ok(Arc::new(caller))
    }

    /// The connection has ended, and with it its calls, subscriptions and leases.
    pub fn leave(&self, server: &Server) {
        self.gone.cancel();
        server.subscriptions.forget(self.conversation);
        self.presence.leave();
        server.pipeline.services.left(&self.presence);
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.unfinished.fetch_sub(1, Ordering::Relaxed);
    }
}
