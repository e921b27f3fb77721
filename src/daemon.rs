//! The wiring of `raspi-mcp serve`, in order: settings, machine, agent, audit, pipeline, listeners, ready, stop.

use crate::{
    approval::Asking,
    audit::Audit,
    instance::{self, Instance},
    live,
    log::Ring,
    metrics::Metrics,
    notifications::NewsSources,
    observed::Observed,
    process_setup,
    registry::{Registry, bounds::ServerLimits, deed::REPORT, listing::CallLimits, pipeline::Pipeline},
    resources::subscriptions::Subscriptions,
    rpc::{
        connection::PARTING,
        mcp::{listeners::Listeners, provider::Provider},
        router::{RouterOptions, Server},
    },
    sampling::DefaultJob,
    services::Services,
    store::Store,
    transport::{bus::BusDoor, http, stdio, unix},
};
use agent::AgentLink;
use base::{
    os::{bus::DBus, clock, notify::ServiceManager},
    reload_on_change::ReloadOnChange,
};
use contract::{
    access::policy::Policy,
    config::{Reload, Settings},
    meta::Role,
};
use futures::future::BoxFuture;
use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Settings and command line of `serve`.
pub struct Serve {
    pub settings: Settings,
    pub registry: Registry,
    /// Serve only the parent process, over stdio.
    pub stdio: bool,
    pub log: Ring,
    /// How changes by `raspi-mcp allow` are reloaded.
    pub reload: Reload,
    /// The part of MCP beyond tools.
    pub provider: Arc<dyn Provider>,
    /// What else its tools need; awaited before anything listens.
    pub prepare: Option<Prepare>,
}

/// Prepares a server. A failure is a sentence for the person who started it.
pub type Prepare = Box<dyn FnOnce(Arc<Server>) -> BoxFuture<'static, Result<(), String>> + Send>;

/// Serves until it is told to stop, or its stdio client disconnects. `manager` is notified of the state, except by a
/// stdio server, which is no service.
///
/// # Errors
/// A sentence for the person who started it.
pub async fn serve(serve: Serve, manager: ServiceManager) -> Result<(), String> {
    let told = told_to_stop();
    if serve.stdio {
        return serve_stdio(serve, told).await;
    }
    let running = start(serve).await?;
    let serving = async {
        manager.ready(&running.doors());
        told.await;
        manager.stopping("finishing the calls in flight");
        running.stop().await
    };
    // On the thread that does all the work: if it hangs, the watchdog notifications stop.
    tokio::select! {
        served = serving => served,
        never = manager.watchdog() => match never {},
    }
}

async fn serve_stdio(serve: Serve, told: impl Future<Output = ()>) -> Result<(), String> {
    let running = start(serve).await?;
    let (server, access) = (Arc::clone(&running.server), &running.server.pipeline.services.settings.access);
    tokio::select! {
        served = stdio::serve(server, access.stdio_role, access.owners.of("stdio")) => {
            served.map_err(|error| format!("standard input or output cannot be used: {error}"))?;
        }
        () = told => {}
    }
    running.stop().await
}

/// A server that accepts connections.
pub struct RunningServer {
    pub server: Arc<Server>,
    /// The bound address of HTTP (the port may have been 0); `None` if it is off.
    pub http: Option<SocketAddr>,
    _instance: Instance,
}

/// Starts everything except stdio, which is served separately.
///
/// # Errors
/// A sentence for the person who started it.
pub async fn start(serve: Serve) -> Result<RunningServer, String> {
    let Serve { mut settings, registry, stdio, log, reload, provider, prepare } = serve;
    let instance = instance::claim(&mut settings)?;
    let settings = Arc::new(settings);
    let stop = CancellationToken::new();
    let tasks = TaskTracker::new();

    let machine = process_setup::machine(&settings)?;
    let agent = process_setup::link(&settings, &machine.board, &reload, &stop)?;
    if let AgentLink::Socket(_) = &agent {
        base::task::spawn_on(&tasks, process_setup::compare(agent.clone(), settings.places.clone(), stop.clone()));
    }
    let store = Store::open(&settings.places.state_dir.join("store.db")).map_err(|error| error.to_string())?;
    let audit = Audit::new(store.clone(), settings.audit.max_bytes, Some(agent.clone()));
    let mut services = Services::new(Arc::clone(&settings), machine, agent.clone(), store, audit.clone(), log);
    services.site = reload.folder().map(Path::to_owned);
    services.policy = ReloadOnChange::after(Policy::of(&settings), reload.files.clone(), move |_| {
        reload.read().map(|settings| Policy::of(&settings))
    });
    let server = Arc::new(server(Arc::new(services), registry, agent, &audit, stop, tasks, provider));
    server.pipeline.services.gpio.begin();
    server.pipeline.services.halt.learn().await;
    live::follow(&server);
    #[cfg(feature = "routeros")]
    offer_routers(&server)?;
    if let Some(prepare) = prepare {
        prepare(Arc::clone(&server)).await?;
    }
    live::agents::follow(&server);
    let (http, _app) = if stdio { (None, None) } else { open_doors(&server, &settings).await? };
    #[cfg(feature = "fleet")]
    crate::fleet_device::begin(&server, _app);
    let services = &server.pipeline.services;
    let sources = NewsSources {
        sampling: services.sampling.clone(),
        updates: services.updates.clone(),
        agent: services.agent.clone(),
        halt: services.halt.changes(),
    };
    services.notifications.begin(sources, &server.stop);
    services.indexing.begin(&server.stop);
    services.sampling.resume(&services.machine, default_job(services, stdio));
    server.pipeline.services.updates.begin(&server.pipeline.services.machine, server.stop.clone());
    Ok(RunningServer { server, http, _instance: instance })
}

/// Offers the tools for routers where there are some.
#[cfg(feature = "routeros")]
fn offer_routers(server: &Server) -> Result<(), String> {
    let (registry, services) = (&server.pipeline.registry, &server.pipeline.services);
    let Some(link) = process_setup::routers(&services.settings, &services.agent, &server.stop)? else { return Ok(()) };
    crate::tools::routeros::offer(registry, services, link).map_err(|error| error.advice())
}

/// Only the service on a real board samples by default; a stdio server works only for its client.
fn default_job(services: &Services, stdio: bool) -> DefaultJob {
    match services.settings.metrics.default_job {
        false => DefaultJob::End,
        true if stdio || services.machine.board.is_simulated() => DefaultJob::Leave,
        true => DefaultJob::Run,
    }
}

impl RunningServer {
    /// The addresses it listens on, as one line.
    fn doors(&self) -> String {
        let settings = &self.server.pipeline.services.settings;
        let socket = &settings.socket;
        let http = self.http.map(|address| url(settings, address));
        let doors: Vec<String> =
            http.into_iter().chain(socket.enabled.then(|| socket.path.display().to_string())).collect();
        format!("listening on {}", doors.join(" and "))
    }

    /// Closes the listeners, lets running calls finish within the grace period, and writes the last audit records.
    ///
    /// # Errors
    /// If those could not be stored.
    pub async fn stop(self) -> Result<(), String> {
        let server = &self.server;
        tracing::info!("stopping");
        server.stop.cancel();
        server.tasks.close();
        // Every task is limited by the grace period, its closing and a write's last report; longer means a bug, and
        // must not block the stop.
        let patience = server.options.grace + PARTING * 3 + REPORT;
        if tokio::time::timeout(patience, server.tasks.wait()).await.is_err() {
            tracing::error!("some work did not end in time and is dropped");
        }
        let Services { audit, sampling, gpio, serial, agents, .. } = &*server.pipeline.services;
        gpio.end();
        serial.end();
        agents.end();
        if let Err(fault) = sampling.close().await {
            tracing::error!(fault, "the last samples were not kept");
        }
        audit.close().await.map_err(|error| format!("the last audit records were not kept: {error}"))
    }
}

fn server(
    services: Arc<Services>,
    registry: Registry,
    agent: AgentLink,
    audit: &Audit,
    stop: CancellationToken,
    tasks: TaskTracker,
    provider: Arc<dyn Provider>,
) -> Server {
    let (limits, approval) = (services.settings.limits.clone(), services.settings.approval.clone());
    let options = RouterOptions {
        naming: services.settings.tool_names.into(),
        max_depth: limits.max_depth,
        request_bytes: limits.max_request_bytes,
        grace: Duration::from_secs(limits.shutdown_grace_seconds),
        elicitation_clients: approval.elicitation_clients.clone(),
    };
    let bounds = ServerLimits {
        limits: CallLimits::of(&limits),
        concurrent: limits.max_concurrent_requests,
        waiting: limits.max_waiting_requests,
        streams: limits.max_streams,
        response_bytes: limits.max_response_bytes,
    };
    let gate = Asking {
        agent,
        patience: Duration::from_secs(approval.wait_seconds),
        elicitation_clients: approval.elicitation_clients,
        agents: services.settings.agents.clone(),
        notifications: services.notifications.clone(),
    };
    let (metrics, subscriptions) = (Arc::new(Metrics::new(&registry)), Arc::new(Subscriptions::default()));
    let ledger =
        Observed { ledger: audit.clone(), metrics: Arc::clone(&metrics), subscriptions: Arc::clone(&subscriptions) };
    let pipeline = Arc::new(Pipeline::new(services, Arc::new(registry), bounds, Arc::new(ledger), Arc::new(gate)));
    Server { pipeline, options, stop, tasks, provider, listeners: Listeners::default(), subscriptions, metrics }
}

/// The URL of the HTTP listener for clients.
fn url(settings: &Settings, address: SocketAddr) -> String {
    let scheme = if settings.tls.enabled { "https" } else { "http" };
    format!("{scheme}://{address}/mcp")
}

/// Binds all listeners before opening any: once one address is logged, all can be used.
async fn open_doors(
    server: &Arc<Server>,
    settings: &Settings,
) -> Result<(Option<SocketAddr>, Option<Arc<http::App>>), String> {
    let (mut http, mut socket) = (None, None);
    if settings.http.enabled {
        // Only a warning: an isolated network has no time server (decision 34).
        if settings.jwt.is_on() && clock::synchronized(&server.pipeline.services.machine.root) == Some(false) {
            tracing::warn!("the clock is not set from the network yet; until then a JWT may pass that has expired");
        }
        let (options, entrance) = (http::HttpOptions::of(settings), http::Entrance::of(settings)?);
        let listener = http::HttpListener::bind(&options)
            .await
            .map_err(|error| format!("cannot listen on {}: {error}", url(settings, options.listen)))?;
        let address = listener.address().map_err(|error| error.to_string())?;
        let app = http::App::new(Arc::clone(server), &options, entrance);
        http = Some((listener, app, address));
    }
    if settings.socket.enabled {
        let listener = unix::SocketListener::bind(unix::SocketOptions::of(settings))
            .map_err(|error| format!("cannot listen on {}: {error}", settings.socket.path.display()))?;
        socket = Some(listener);
    }
    let open = http.map(|(listener, app, address)| {
        base::task::spawn_on(&server.tasks, listener.run(Arc::clone(&app)));
        tracing::info!("listening on {}", url(settings, address));
        (address, app)
    });
    if settings.dbus.serve {
        // No reason not to start: the other doors do without a bus.
        match BusDoor::open(DBus::system(), settings.has_dbus_mcp()).await {
            Ok(door) => {
                base::task::spawn_on(&server.tasks, door.run(Arc::clone(server)));
                tracing::info!("serving org.raspimcp on the system bus");
            }
            Err(error) => tracing::error!("calls over the bus are not served: {}", error.advice()),
        }
    }
    if let Some(listener) = socket {
        base::task::spawn_on(&server.tasks, listener.run(Arc::clone(server)));
        tracing::info!("listening on {}", settings.socket.path.display());
    }
    Ok(open.unzip())
}

/// Resolves at SIGTERM (systemd, kill) or SIGINT (Ctrl-C). The handlers are installed by this call, not by the first
/// poll: call it before the process is visible to others.
pub(crate) fn told_to_stop() -> impl Future<Output = ()> {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async {
        match signals {
            (Ok(mut terminate), Ok(mut interrupt)) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            // Without handlers the signals end the process at once; the audit tolerates that.
            (Err(error), _) | (_, Err(error)) => {
                tracing::error!(%error, "cannot listen for signals");
                std::future::pending().await
            }
        }
    }
}

/// Gives the role of the command line's `--role` to local callers.
pub fn grant(settings: &mut Settings, role: Option<Role>) {
    if let Some(role) = role {
        settings.access.stdio_role = role;
        settings.access.loopback_role = role;
    }
}
