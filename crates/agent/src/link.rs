//! The server's link to the agent, wherever the agent runs.

mod open_install;

use super::{
    client::{Answered, Client},
    context::Agent,
    installer::UpdateTool,
    operations::{
        AnyRequest, Operation,
        agents::{AttachAgent, AttachRequest},
        update::{Install, InstallRequest},
    },
    peer::{Callers, Peer},
    server::converse,
};
use base::{error::ToolError, os::blocking};
use futures::future::BoxFuture;
use std::{sync::Arc, time::Duration};
use tokio::net::UnixStream;
use update::{
    install::{InstallStream, Judged},
    status::RestartPlan,
};

/// The server's link to its agent. Cheap to clone.
#[derive(Clone)]
pub enum AgentLink {
    /// A separate process, behind its socket.
    Socket(Client),
    /// In this process, on a simulated board.
    InProcess(Arc<Agent>),
    /// Could not be started here; every operation returns this error.
    Offline(ToolError),
}

impl AgentLink {
    /// Requests the operation `O` ([`super::operations`]) from the agent.
    ///
    /// # Errors
    /// The operation's; `unavailable` when the agent does not answer; `cancelled` when this call was cancelled before
    /// anything began that cannot be stopped.
    pub fn call<O: Operation>(&self, request: O::Request) -> impl Future<Output = Result<O::Answer, ToolError>> + Send {
        let wait = O::patience(&request);
        self.call_within::<O>(request, wait)
    }

    /// As [`AgentLink::call`], for an operation whose request has no fields.
    ///
    /// # Errors
    /// As there.
    pub fn get<O: Operation<Request: Default>>(&self) -> impl Future<Output = Result<O::Answer, ToolError>> + Send {
        self.call::<O>(O::Request::default())
    }

    /// As [`AgentLink::call`], for an operation whose request does not state its wait: at most `wait` plus some
    /// seconds.
    ///
    /// # Errors
    /// As there.
    pub fn call_within<O: Operation>(
        &self,
        request: O::Request,
        wait: Duration,
    ) -> impl Future<Output = Result<O::Answer, ToolError>> + Send {
        let name = O::name(&request);
        let asked = self.ask(AnyRequest::of::<O>(request), name, wait);
        async move { asked.await?.read::<O>() }
    }

    /// The part that does not depend on the operation, compiled once.
    fn ask(
        &self,
        request: AnyRequest,
        name: &'static str,
        wait: Duration,
    ) -> BoxFuture<'_, Result<Answered, ToolError>> {
        Box::pin(async move {
            if request.row().changes {
                blocking::go_on(name)?;
            }
            match self {
                Self::Socket(client) => client.ask(request, name, wait).await,
                Self::InProcess(agent) => {
                    // In one process nothing keeps the two apart; over a socket, the kernel does.
                    let peer = match request.row().callers {
                        Callers::Routers => Peer::routers_in_process(),
                        _ => Peer::in_process(),
                    };
                    agent.handle(&peer, request).await.map(Answered::here)
                }
                Self::Offline(error) => Err(error.clone()),
            }
        })
    }

    /// Has the agent judge the head of a bundle; nothing is written.
    ///
    /// # Errors
    /// Those of [`AgentLink::install`]; the agent's refusal.
    pub async fn judge_bundle(&self, tool: UpdateTool, head: &[u8]) -> Result<Judged, ToolError> {
        let stream = self.install(InstallRequest { tool, authorization: None, restart: RestartPlan::Waits }).await?;
        InstallStream::begin(stream, head).await.map(|(_, judged)| judged)
    }

    /// Opens an install stream, for [`InstallStream::begin`].
    ///
    /// # Errors
    /// `conflict` when an update is under way.
    pub async fn install(&self, request: InstallRequest) -> Result<UnixStream, ToolError> {
        open_install::open(self.stream().await?, AnyRequest::of::<Install>(request)).await
    }

    /// Opens the stream that becomes the standard input and output of the agent that is started under `id`.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn attach(&self, id: &str) -> Result<UnixStream, ToolError> {
        let request = AnyRequest::of::<AttachAgent>(AttachRequest { id: id.to_owned() });
        open_install::open(self.stream().await?, request).await
    }

    /// A connection of its own.
    async fn stream(&self) -> Result<UnixStream, ToolError> {
        match self {
            Self::Socket(client) => client.connect().await,
            Self::InProcess(agent) => {
                let (ours, theirs) = UnixStream::pair()
                    .map_err(|error| ToolError::unavailable(format!("no pair of sockets: {error}")))?;
                base::task::spawn(converse(Arc::clone(agent), Peer::in_process(), theirs));
                Ok(ours)
            }
            Self::Offline(error) => Err(error.clone()),
        }
    }

    /// Counts the starts of the simulated machine, where it is in this process.
    pub fn starts(&self) -> Option<tokio::sync::watch::Receiver<u32>> {
        match self {
            Self::InProcess(agent) => Some(agent.starts()),
            Self::Socket(_) | Self::Offline(_) => None,
        }
    }
}
