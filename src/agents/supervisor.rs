//! Keeps the program of one type running: starts it, greets it, reports what it offers, and starts it again when it has
//! died. One that comes by itself is waited for.

use super::{
    Agents, CODE, CRASHED, SPAWN_FAILED,
    client::{AgentCall, Answer, Conversation},
    coded,
    death::{Death, DeathReason, Step, died, set_step, stderr_tail},
};
use agent::operations::{
    agents::{AgentRequest, OfferRequest, OfferTool, RunAgent},
    commands::{CommandRef, StopCommand},
};
use base::{error::ToolError, speech::quoted};
use contract::config::{
    AgentType,
    sections::agents::{AgentStart, DESCRIPTOR_BYTES, account_of},
};
use futures::FutureExt;
use serde_json::Value;
use std::{
    convert::Infallible,
    future::pending,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// For a list of tools that has changed.
const LIST: Duration = Duration::from_secs(10);
/// How long an agent that was told to end may take to do so by itself.
const GRACE: Duration = Duration::from_secs(2);
/// How long an agent may take to show that it lives, when a call that nobody waits for is not answered in its time.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// From the order to stop to its end: the privileged half takes up to 12 s.
const STOP: Duration = Duration::from_secs(15);
/// Who lives as long as this has recovered.
const STEADY: Duration = Duration::from_secs(60);
/// After so many deaths in a row it is not started again.
const DEATHS: u32 = 5;
/// Between two attempts while the privileged half is away: systemd starts that again after 2 s.
const AWAY: Duration = Duration::from_secs(3);

#[derive(Clone)]
enum Standing {
    Starting,
    Running(Arc<Conversation>),
    /// It died, and is started again soon.
    Down(ToolError),
    /// It died too often.
    Held(ToolError),
}

/// The process of one type.
pub struct Supervisor {
    standing: watch::Sender<Standing>,
    stop: CancellationToken,
    /// It hangs, and is to be ended.
    kick: Notify,
    /// From its start to its first list of tools.
    start: Duration,
}

impl Supervisor {
    /// Starts the process, and a task that looks after it.
    pub(super) fn begin(agents: &Arc<Agents>, declared: &AgentType) -> Arc<Self> {
        let standing = watch::Sender::new(match declared.start {
            AgentStart::Never => Standing::Down(not_there(agents, &declared.name)),
            _ => Standing::Starting,
        });
        let this = Arc::new(Self {
            standing,
            stop: agents.stop.child_token(),
            kick: Notify::new(),
            start: Duration::from_secs(declared.start_seconds.into()),
        });
        let (supervisor, agents, declared) = (Arc::clone(&this), Arc::downgrade(agents), declared.clone());
        base::task::spawn(async move { supervisor.keep(agents, declared).await });
        this
    }

    pub(super) fn standing(&self) -> &'static str {
        match *self.standing.borrow() {
            Standing::Starting => "starting",
            Standing::Running(_) => "running",
            Standing::Down(_) => "restarting",
            Standing::Held(_) => "held",
        }
    }

    /// Why it does not run, if it has failed.
    pub(super) fn failure(&self) -> Option<ToolError> {
        match &*self.standing.borrow() {
            Standing::Down(error) | Standing::Held(error) => Some(error.clone()),
            Standing::Starting | Standing::Running(_) => None,
        }
    }

    pub(super) fn end(&self) {
        self.stop.cancel();
    }

    /// Waits for its start.
    ///
    /// # Errors
    /// Why it does not run.
    pub(super) async fn ready(&self) -> Result<Arc<Conversation>, ToolError> {
        let mut standing = self.standing.subscribe();
        let waited =
            timeout(self.start + GRACE + STOP, standing.wait_for(|now| !matches!(now, Standing::Starting))).await;
        match waited.ok().and_then(Result::ok).as_deref() {
            Some(Standing::Running(conversation)) => Ok(Arc::clone(conversation)),
            Some(Standing::Down(error) | Standing::Held(error)) => Err(error.clone()),
            _ => Err(ToolError::unavailable("the agent does not start").with(CODE, SPAWN_FAILED)),
        }
    }

    /// Calls a tool and waits for its result. A call that is cancelled, or takes too long, ends for its caller at once, and the
    /// agent goes on: MCP lets it answer such a call never.
    /// `accepted` is the descriptor that the owner accepted.
    pub(super) async fn call(self: &Arc<Self>, call: AgentCall<'_>, accepted: &Value) -> Result<Value, ToolError> {
        let conversation = self.ready().await?;
        // A task of its own: the agent is told also when nobody waits any more.
        let (told, this, what) = (call.cancel.child_token(), Arc::clone(self), call.tool.to_owned());
        let deadline = Instant::now() + Duration::from_secs(call.timeout_seconds.into());
        let (id, mut answer) = conversation.begin(call, accepted).await?;
        let _told = told.clone().drop_guard();
        let running = base::task::spawn(async move {
            tokio::select! {
                biased;
                answer = &mut answer => answer,
                () = told.cancelled() => {
                    base::task::spawn(async move { this.forsake(&conversation, id, answer, deadline).await });
                    Err(ToolError::cancelled(&what))
                }
            }
        });
        running.await.unwrap_or_else(|_| Err(ToolError::unavailable("the server is stopping")))
    }

    /// A call that nobody waits for any more: the agent is told. If it has not answered by the time that the call had, it has to
    /// show that it lives, and is ended if it does not: it then answers nobody.
    async fn forsake(&self, conversation: &Arc<Conversation>, id: u64, answer: Answer, deadline: Instant) {
        let told = conversation.cancel(id).await;
        if told.is_ok() && timeout_at(deadline, answer).await.is_ok() {
            return;
        }
        conversation.forget(id);
        let hangs = told.is_err() || timeout(SIGN_OF_LIFE, conversation.ping()).await.is_err();
        // Another process of this type has nothing to do with it.
        let runs = matches!(&*self.standing.borrow(), Standing::Running(now) if Arc::ptr_eq(now, conversation));
        if hangs && runs {
            self.kick.notify_one();
        }
    }

    async fn keep(self: Arc<Self>, agents: Weak<Agents>, declared: AgentType) {
        let (mut deaths, comes) = (0, declared.start == AgentStart::Never);
        loop {
            let Some(owner) = agents.upgrade() else { return };
            let began = Instant::now();
            let Death { error, exit_code: code, mut reason, by_a_call } = self.run_once(&owner, &declared).await;
            if self.stop.is_cancelled() {
                return;
            }
            let ran = matches!(*self.standing.borrow(), Standing::Running(_));
            // Without the privileged half nothing can run, which is not the agent's fault.
            let lost = reason == DeathReason::Failed && (ran || owner.is_alone().await);
            if lost {
                reason = DeathReason::Lost;
            } else if !by_a_call {
                deaths = if began.elapsed() >= STEADY { 1 } else { deaths + 1 };
            }
            // Who comes by itself is waited for.
            let held = !lost && deaths >= DEATHS && !comes;
            tracing::warn!(target: "raspi_mcp::agents", agent = declared.name, %error, reason = reason.word(), held, "an agent has died");
            let error = error.with("agent", declared.name.as_str()).with("reason", reason.word());
            let error = if held { error.hint("it is not started again by itself; agents.spawn does") } else { error };
            self.standing.send_replace(if held { Standing::Held(error) } else { Standing::Down(error) });
            if (ran || !lost) && (!comes || reason != DeathReason::Failed) {
                owner.died(&declared.name, code, reason);
            }
            if held {
                return;
            }
            drop(owner);
            if comes && reason == DeathReason::Exited {
                deaths = 0;
                continue;
            }
            let pause = if lost { AWAY } else { Duration::from_secs(1 << deaths.saturating_sub(1).min(5)) };
            let pause = tokio::time::sleep(pause);
            if self.stop.run_until_cancelled(pause).await.is_none() {
                return;
            }
            if !comes {
                self.standing.send_replace(Standing::Starting);
            }
        }
    }

    /// Runs the process once, or waits for one that comes by itself until it leaves. Returns why it ended.
    async fn run_once(&self, agents: &Arc<Agents>, declared: &AgentType) -> Death {
        let (link, name) = (agents.link(), &declared.name);
        let failed = |error: ToolError| Death::of(coded(error, SPAWN_FAILED), -1, DeathReason::Failed);
        let id = match CommandRef::random() {
            Ok(CommandRef { id }) => id,
            Err(error) => return failed(error),
        };
        let (conversation, heard) = match Conversation::open(agents, declared, &id).await {
            Ok((conversation, heard)) => (Arc::new(conversation), heard),
            Err(error) => return failed(error),
        };
        let (changed, step) = (Notify::new(), Mutex::new(Step::Start));
        let comes = declared.start == AgentStart::Never;
        let run = async {
            match comes {
                true => pending().await,
                false => link.call::<RunAgent>(AgentRequest { id: id.clone(), agent: name.clone() }).await,
            }
        };
        let hear = conversation.hear(heard, || changed.notify_one());
        tokio::pin!(run, hear);
        let tell = self.tell(agents, declared, &conversation, &changed, &step);
        let mut by_a_call = false;
        // One that was meant for the process before, which ended at that moment.
        let _ = self.kick.notified().now_or_never();
        let wrong = tokio::select! {
            end = &mut run => {
                conversation.close();
                return died(name, end).at(&step);
            }
            wrong = &mut hear => wrong.map(|why| ToolError::unavailable(format!("the agent {name} was ended: {why}"))),
            Err(error) = tell => Some(error),
            () = self.kick.notified() => {
                by_a_call = true;
                conversation.shut_down(true).await;
                Some(ToolError::unavailable(format!("the agent {name} was ended: a call that was cancelled or took too long hung, and so did all others")))
            }
            () = self.stop.cancelled() => None,
        };
        let (stopped, left) = (self.stop.is_cancelled(), ToolError::unavailable(format!("the agent {name} has left")));
        let ran = matches!(*self.standing.borrow(), Standing::Running(_));
        if !stopped && ran {
            // Before the calls hear of it: none of them is to find it running.
            self.standing.send_replace(Standing::Down(wrong.as_ref().unwrap_or(&left).clone()));
        }
        if comes {
            conversation.close();
            let reason = match &wrong {
                _ if !ran => DeathReason::Failed,
                Some(_) => DeathReason::Protocol,
                None => DeathReason::Exited,
            };
            return Death { by_a_call, ..Death::of(wrong.unwrap_or(left).with(CODE, CRASHED), -1, reason) };
        }
        let told = stopped && conversation.shut_down(false).await;
        conversation.close();
        if told || wrong.is_none() && !stopped {
            // It was told to end or has closed its streams, and ends by itself or not.
            if let Ok(end) = timeout(GRACE, &mut run).await {
                return died(name, end).at(&step);
            }
        }
        // Not known any more: it has ended.
        let _ = link.call::<StopCommand>(CommandRef { id: id.clone() }).await;
        let ended = timeout(STOP, run).await;
        match (wrong, ended) {
            (Some(error), ended) => {
                // What it said may tell why.
                let error = match ended {
                    Ok(Ok(end)) => error.with("stderr", stderr_tail(&end)),
                    _ => error,
                };
                let death = Death::of(error.with(CODE, CRASHED), -1, DeathReason::Protocol);
                Death { by_a_call, ..death }.at(&step)
            }
            (None, Ok(end)) => died(name, end),
            (None, Err(_)) => Death::of(ToolError::unavailable(format!("{name} does not end")), -1, DeathReason::Lost),
        }
    }

    /// Greets the agent and reports its tools, now and whenever they have changed.
    ///
    /// # Errors
    /// When the agent does not answer, or refuses.
    async fn tell(
        &self,
        agents: &Arc<Agents>,
        declared: &AgentType,
        conversation: &Arc<Conversation>,
        changed: &Notify,
        step: &Mutex<Step>,
    ) -> Result<Infallible, ToolError> {
        // `starts`: it has not yet answered the first list of its tools.
        let late = |starts: bool| {
            let within = if starts { self.start } else { LIST };
            let error =
                ToolError::unavailable(format!("{} does not answer within {} s", declared.name, within.as_secs()));
            match conversation.non_message_line() {
                None if starts => error.hint("if it needs longer to start, raise start_seconds of the agent"),
                None => error,
                Some(line) => error.hint(format!(
                    "it writes to standard output what is no MCP message, such as {}; is it started as an MCP server on stdio?",
                    quoted(&line)
                )),
            }
        };
        let began = Instant::now();
        set_step(step, Step::Initialize);
        match declared.start {
            AgentStart::Never => conversation.greet().await?,
            _ => timeout(self.start, conversation.greet()).await.map_err(|_| late(true))??,
        }
        let mut within = match declared.start {
            AgentStart::Never => LIST,
            _ => self.start.saturating_sub(began.elapsed()),
        };
        let mut starts = declared.start != AgentStart::Never;
        loop {
            set_step(step, Step::List);
            let described = timeout(within, self.describe(agents, declared, conversation)).await;
            described.map_err(|_| late(starts))??;
            set_step(step, Step::Runs);
            (within, starts) = (LIST, false);
            self.standing.send_replace(Standing::Running(Arc::clone(conversation)));
            changed.notified().await;
        }
    }

    /// Reports the tools that the owner named, as the agent describes them.
    async fn describe(
        &self,
        agents: &Arc<Agents>,
        declared: &AgentType,
        conversation: &Conversation,
    ) -> Result<(), ToolError> {
        for descriptor in conversation.tools(|tool| declared.tools.contains_key(tool)).await? {
            if descriptor.to_string().len() > DESCRIPTOR_BYTES {
                let tool = descriptor["name"].as_str().unwrap_or_default();
                tracing::warn!(target: "raspi_mcp::agents", agent = declared.name, tool, "it describes itself in more than 8 KiB: not offered");
                continue;
            }
            let offer = OfferRequest { agent: declared.name.clone(), descriptor };
            if let Err(error) = agents.link().call::<OfferTool>(offer).await {
                // One tool that cannot be offered leaves the others as they are.
                tracing::warn!(target: "raspi_mcp::agents", agent = declared.name, %error, "a tool is not offered");
            }
        }
        Ok(())
    }
}

/// The error before one that comes by itself has come.
fn not_there(agents: &Agents, name: &str) -> ToolError {
    let account = account_of(agents.declared(), name);
    ToolError::unavailable(format!("the agent {name} is not on the system bus yet"))
        .with(CODE, CRASHED)
        .hint(format!("start its service: it runs as {account}, and takes the name org.dbusmcp.Agent.{name}"))
}
