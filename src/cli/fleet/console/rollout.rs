//! `raspi-mcp fleet rollout`: a release in stages, by a plan that a person signed (docs/rollouts.md).

use super::connected;
use crate::{
    cli::{
        bundle::files,
        exit::{Exit, Failure},
        runtime,
        say::{errln, outln},
    },
    daemon::told_to_stop,
    fleet::{
        console::Console,
        rollout::{
            ChannelPlace, Controller, IndexPlace, OrderNews, SignedSteps, file,
            live::{self, BrokerStore, LiveStatuses, RolloutNews, StatusFeed},
        },
    },
    terminal::printable,
};
use base::{
    clock::{Stamp, Wall},
    error::ToolError,
};
use fleet_protocol::rollout::{Decision, RolloutPhase, RolloutRecord, record::Decider};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    time::Instant,
};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Sign the index of every stage and its pause, with the channel's key
    ///
    /// The channel must have the release already: `raspi-mcp channel publish --percent 0`. Prints the hash that `start` requires.
    Sign(SignArgs),
    /// Begin the rollout, or follow the controller that acts; ends when the rollout is over
    ///
    /// Needs no key. Exit codes: 0 done; 1 stopped or aborted; 3 the folder or the plan is invalid; 4 the broker or the channel
    /// does not answer; 5 refused.
    Start(StartArgs),
    /// Show the state of a rollout, the last decision, and the devices that failed
    ///
    /// Exit codes: 0 it runs, is paused or done; 1 stopped or aborted; 4 the broker does not answer.
    Status(StatusArgs),
    /// Pause the rollout and the channel: devices install nothing until it is resumed
    Pause(OrderArgs),
    /// Resume a paused rollout; possible once in each stage
    Resume(PlanArgs),
    /// End the rollout; the channel stays paused
    Abort(OrderArgs),
}

#[derive(clap::Args)]
pub struct Signed {
    /// The plan: a TOML file (docs/rollouts.md)
    plan: PathBuf,
    /// The folder of the signed indexes; default: the plan's name with the ending .signed
    #[arg(long, value_name = "DIR")]
    signed: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct SignArgs {
    #[command(flatten)]
    signed: Signed,
    /// A secret key of the root of trust's channel role; give as many as the threshold requires
    #[arg(long = "key", value_name = "FILE", required = true)]
    keys: Vec<PathBuf>,
    /// The root of trust that devices have, and its successors
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    trust: Vec<PathBuf>,
    /// The time of creation, as seconds since 1970 or like 2027-01-01T00:00:00Z; default: SOURCE_DATE_EPOCH or now
    #[arg(long, value_name = "TIME", value_parser = files::time)]
    created: Option<u64>,
    /// Days until the indexes expire: the rollout has to be over before
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3650))]
    days: u64,
}

#[derive(clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    signed: Signed,
    /// The folder of the fleet
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

#[derive(clap::Args)]
pub struct StartArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// The hash of the plan that was approved, as `sign` printed it
    #[arg(long, value_name = "HASH")]
    hash: String,
}

#[derive(clap::Args)]
pub struct StatusArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct OrderArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// Why, for the log
    reason: String,
}

pub fn run(command: &Command) -> Result<(), Failure> {
    let order = |args: &PlanArgs, change: &dyn Fn(RolloutRecord, Decider<'_>) -> Result<RolloutRecord, ToolError>| {
        runtime()?.block_on(ordered(args, change))
    };
    match command {
        Command::Sign(args) => runtime()?.block_on(sign(args)),
        Command::Start(args) => runtime()?.block_on(start(args)),
        Command::Status(args) => runtime()?.block_on(status(args)),
        Command::Pause(args) => order(&args.plan, &|record, by| record.paused(&args.reason, by)),
        Command::Resume(args) => order(args, &|record, by| record.resumed(by)),
        Command::Abort(args) => order(&args.plan, &|record, by| record.aborted(&args.reason, by)),
    }
}

impl Signed {
    fn folder(&self) -> PathBuf {
        self.signed.clone().unwrap_or_else(|| self.plan.with_extension("signed"))
    }

    fn plan(&self) -> Result<fleet_protocol::rollout::RolloutPlan, Failure> {
        file::read(&self.plan).map_err(|faults| Failure::new(Exit::Config, format!("the plan is wrong:\n{faults}")))
    }

    fn place(&self, plan: &fleet_protocol::rollout::RolloutPlan) -> Result<ChannelPlace, Failure> {
        let folder = self.plan.parent().unwrap_or(Path::new("."));
        Ok(ChannelPlace::open(&plan.target, &plan.channel, folder)?)
    }

    fn steps(&self) -> Result<SignedSteps, Failure> {
        Ok(SignedSteps::read(self.plan()?, &self.folder(), None)?)
    }

    /// The steps as they were signed. A plan that was edited since keeps nobody from looking at the rollout, or from ending it.
    fn signed_steps(&self) -> Result<SignedSteps, Failure> {
        let Some(steps) = SignedSteps::as_signed(&self.folder())? else { return self.steps() };
        let plan = file::read(&self.plan);
        if plan.as_ref().ok() != Some(&steps.plan) {
            let why = if plan.is_ok() { "was changed after it was signed" } else { "cannot be read" };
            errln!(
                "{} {why}: the rollout follows the plan as it was signed, {}/plan.json",
                self.plan.display(),
                self.folder().display()
            );
        }
        Ok(steps)
    }
}

async fn sign(args: &SignArgs) -> Result<(), Failure> {
    let plan = args.signed.plan()?;
    let present = args.signed.place(&plan)?.present().await?;
    let created = files::created(args.created).unwrap_or_else(|_| files::now());
    let keys = args.keys.iter().map(|path| files::secret_key(path)).collect::<Result<Vec<_>, _>>()?;
    let times = (created, created.saturating_add(args.days * 86_400));
    let steps = SignedSteps::sign(plan, present, times, &keys, &files::chain(&args.trust)?)?;
    let folder = args.signed.folder();
    steps.write(&folder)?;
    outln!("release   {}, manifest {}", steps.plan.version, steps.manifest);
    outln!("stages    {}, with indexes {} to {}", steps.plan.stages.len(), steps.sequence + 1, steps.last_sequence());
    outln!("expires   {}", files::shown(steps.expires));
    outln!("written   {}", folder.display());
    outln!("hash      {}", steps.hash);
    Ok(())
}

/// The controller of this process.
fn controller(
    args: &PlanArgs,
    console: &Console,
    steps: SignedSteps,
    statuses: LiveStatuses,
) -> Result<Controller<BrokerStore, ChannelPlace, LiveStatuses>, Failure> {
    Ok(live::controller(console, &args.signed.plan, &args.signed.folder(), steps, statuses)?)
}

async fn start(args: &StartArgs) -> Result<(), Failure> {
    let steps = args.plan.signed.steps()?;
    if steps.hash != args.hash {
        let (is, wanted) = (&steps.hash, printable(&args.hash));
        return Err(ToolError::denied(format!("this plan has the hash {is}, and {wanted} was approved"))
            .hint("read the plan, then name its hash with --hash")
            .into());
    }
    if steps.expires <= files::now() {
        return Err(ToolError::precondition(format!("the signed indexes expired at {}", files::shown(steps.expires)))
            .hint("sign the plan again, into a new folder")
            .into());
    }
    let console = connected(&args.plan.dir).await?;
    let mut feed = StatusFeed::begin(&console).await?;
    let mut controller = controller(&args.plan, &console, steps, feed.statuses())?;
    controller.start(live::clock(&console.wall, Instant::now())).await?;
    let over = live::run(&mut controller, &mut feed, told_to_stop(), |news| match news {
        RolloutNews::Decided(decision) => shown(decision),
        RolloutNews::Follows => outln!("{}  another controller acts; this one follows", base::clock::now()),
        RolloutNews::Trouble(error) => eprintln!("{}  {}", base::clock::now(), printable(&error.advice())),
    })
    .await?;
    if !over {
        return Err(Failure::new(Exit::Failed, "interrupted: the rollout stays as it is until a controller goes on"));
    }
    ended(&controller.record().await?.1)
}

async fn status(args: &StatusArgs) -> Result<(), Failure> {
    let steps = args.plan.signed.signed_steps()?;
    let console = connected(&args.plan.dir).await?;
    let statuses = StatusFeed::begin(&console).await?.statuses().assumed();
    let controller = controller(&args.plan, &console, steps, statuses)?;
    let (revision, record) = controller.record().await?;
    let plan = &controller.steps.plan;
    let judgement = controller.judged(&record, live::clock(&console.wall, Instant::now()));
    if args.json {
        outln!(
            "{}",
            json!({
                "plan": record.plan, "version": plan.version, "channel": plan.channel, "phase": record.phase,
                "stage": record.stage + 1, "stages": plan.stages.len(), "step": record.step(), "holder": record.holder,
                "revision": revision, "last": record.last, "now": judgement.evidence, "why": judgement.why,
            })
        );
    } else {
        let phase = serde_json::to_value(record.phase).unwrap_or_default();
        let counts = judgement.evidence;
        outln!("rollout    {} of {}, {}", plan.version, plan.channel, phase.as_str().unwrap_or_default());
        outln!("plan       {}", record.plan);
        outln!("stage      {} of {}", record.stage + 1, plan.stages.len());
        outln!("controller {}", record.holder.as_deref().map_or("none".into(), printable));
        outln!(
            "devices    {} in the stage's rings, about {} in its share: {} committed, {} trying, {} failed; {} fell silent",
            counts.group,
            counts.reach,
            counts.committed,
            counts.trying,
            counts.failed,
            counts.silent
        );
        if !record.phase.is_over() {
            outln!("now        {}", printable(&judgement.why));
        }
        shown(&record.last);
    }
    ended(&record)
}

async fn ordered(
    args: &PlanArgs,
    change: impl Fn(RolloutRecord, Decider<'_>) -> Result<RolloutRecord, ToolError>,
) -> Result<(), Failure> {
    let steps = args.signed.signed_steps()?;
    let console = connected(&args.dir).await?;
    let mut controller = controller(args, &console, steps, LiveStatuses::none(&console))?;
    controller.order(live::clock(&Wall::system(), Instant::now()), change, told).await?;
    Ok(())
}

/// What an order did so far. The decision is printed once the record has it: whatever follows, it counts.
fn told(news: OrderNews<'_>) {
    match news {
        OrderNews::Recorded(decision) => shown(decision),
        OrderNews::Waits(error) => {
            errln!("recorded, and not published yet: {}", printable(&error.advice()));
        }
        OrderNews::NotLogged(error) => {
            errln!(
                "published, and not in the log yet, which the next controller completes: {}",
                printable(&error.advice())
            );
        }
    }
}

/// One decision for people.
fn shown(decision: &Decision) {
    let kind = serde_json::to_value(decision.kind).unwrap_or_default();
    let Decision { stage, step, time_ms, .. } = decision;
    let why = printable(&decision.why);
    outln!("{}  stage {stage}, index {step}: {}: {why}", Stamp(*time_ms), kind.as_str().unwrap_or_default());
    for device in &decision.devices {
        outln!("  {}: {}", printable(&device.name), printable(&device.why));
    }
}

fn ended(record: &RolloutRecord) -> Result<(), Failure> {
    match record.phase {
        RolloutPhase::Stopped | RolloutPhase::Aborted => Err(Failure::new(Exit::Failed, "")),
        _ => Ok(()),
    }
}
