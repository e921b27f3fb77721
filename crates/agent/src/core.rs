//! The agent: its parts assembled at start, and operations performed for a peer.

use super::{
    agents::Agents,
    approvers::Approvers,
    asks::Asks,
    button::Button,
    claims::{ClaimService, settle_approvers},
    connections::NetworkChanges,
    context::{Agent, Context},
    exec::Commands,
    files,
    fleet::FleetRecord,
    halt::Latch,
    heads::Heads,
    installer::{Installer, Means},
    log::OpLog,
    operations::{self, Answer, AnyRequest, Operation, commands::open_to_others},
    peer::Peer,
    platform::Platform,
    power::Power,
    settings::AgentSettings,
};
use appliance::generation;
use base::{error::ToolError, reload_on_change::ReloadOnChange};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

impl Agent {
    /// Loads the state of the previous agent and continues from it. Must be called inside the runtime.
    ///
    /// # Errors
    /// `unavailable` when its folder cannot be used, `conflict` when another agent uses it.
    pub fn start(settings: AgentSettings, platform: Platform) -> Result<Arc<Self>, ToolError> {
        let Platform { clock, boot_clock, machine, runner, processes, units, network, header, gpio, update } = platform;
        let folder = settings.state_dir.as_path();
        files::make_folder(folder)?;
        let lock = files::lock(folder)?;
        let mut faults = Vec::new();
        let simulated = machine.is_simulated();
        if !runner.is_simulated() {
            faults.extend(open_to_others(&settings.exec));
        }
        let button = Button::take(&settings, gpio, &mut faults);
        let card = Installer::open(&settings, update, &clock, &mut faults);
        let policy = {
            let (reload, start) = (settings.reload.clone(), settings.policy.clone());
            let make = move |_: &[PathBuf]| reload.read().map(|settings| start.renewed(&settings));
            ReloadOnChange::after(settings.policy.clone(), settings.reload.files.clone(), make)
        };
        let asks = Asks::load(folder, &clock, &boot_clock, settings.policy.ask_expiry, &mut faults);
        let per_hour = settings.policy.reboots_per_hour;
        let power = Power::load(folder, Arc::clone(&clock), Arc::clone(&machine), per_hour, &mut faults)?;
        let connections = NetworkChanges::load(folder, Arc::clone(&clock), network, &mut faults)?;
        let heads = Heads::load(folder, Arc::clone(&clock), settings.audit_max_bytes, settings.simulated)?;
        let means = Means { power: power.clone(), units: Arc::clone(&units), runner: Arc::clone(&runner), simulated };
        let installer = Installer::load(&settings, card, means, Arc::clone(&clock), &mut faults)?;
        let approvers = Approvers::load(folder, installer.system().ok(), &clock, &mut faults);
        let (asks, log) = (Arc::new(asks), Arc::new(OpLog::new(folder, Arc::clone(&clock))));
        // At the first start after a claim or a provisioning file; on an appliance the screen shows the device's ID.
        let mut first = settle_approvers(&installer, &approvers, &log, &Peer::in_process());
        if settings.identity.standing().is_ok_and(|standing| standing.is_some()) {
            first = first.and(approvers.device().and_then(|(key, _)| settings.identity.put_device(&key.id())));
        }
        faults.extend(first.err().map(|error| error.into_message()));
        let told = (Arc::clone(&asks), Arc::clone(&log));
        let halt = Latch::load(folder, &installer, Arc::clone(&clock), power.clone(), told, &mut faults);
        let generation = installer.system().map_or(0, |system| generation::of(system.record.ledger().state()));
        let fleet = FleetRecord::load(folder, generation, &mut faults);
        let agents = Agents::load(folder, settings.agents.clone(), &mut faults);
        let agent = Arc::new(Self {
            policy,
            asks,
            approvers,
            machine,
            power,
            runner,
            commands: Commands::default(),
            agents,
            processes,
            units,
            connections,
            heads,
            log,
            halt: Arc::new(halt),
            fleet,
            claims: ClaimService::new(settings.identity.clone(), boot_clock),
            installer,
            started_ms: clock(),
            simulated,
            clock,
            faults,
            header,
            button: OnceLock::new(),
            _lock: lock,
            settings,
        });
        for fault in &agent.faults {
            tracing::error!(target: "agent", fault, "found at start");
        }
        if let Some(button) = button {
            agent.button.get_or_init(|| button.watch(&agent.halt));
        }
        agent.installer.begin();
        Ok(agent)
    }

    pub fn settings(&self) -> &AgentSettings {
        &self.settings
    }

    /// Performs the operation `O` for `peer`.
    ///
    /// # Errors
    /// Those of the operation; `permission_denied` when `peer` may not ask for it.
    pub async fn perform<O: Operation>(
        self: &Arc<Self>,
        peer: &Peer,
        request: O::Request,
    ) -> Result<O::Answer, ToolError> {
        operations::perform::<O>(&self.context(peer), request).await
    }

    /// Performs any operation for `peer`.
    ///
    /// # Errors
    /// As [`Agent::perform`].
    pub async fn handle(self: &Arc<Self>, peer: &Peer, request: AnyRequest) -> Result<Answer, ToolError> {
        request.perform(self.context(peer)).await
    }

    pub(super) fn context<'a>(self: &'a Arc<Self>, peer: &'a Peer) -> Context<'a> {
        Context { agent: self, peer }
    }

    /// Receives each later start of the machine: only a simulated one, which this process outlives, has any.
    pub fn starts(&self) -> tokio::sync::watch::Receiver<u32> {
        self.installer.starts()
    }

    /// Keeps a copy of the network's connections as long as it is polled.
    pub async fn keep_connections(&self) {
        self.installer.keep_connections().await;
    }

    /// Whether this agent serves only its own user, on a simulated board.
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }
}
