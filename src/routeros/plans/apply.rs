//! Applies a plan that was made before, once a person has approved just that.

use super::{
    super::{call::RouterCall, plan::Base, routers::Router, service::RouterService, table::Answer},
    job::Runner,
    make::all_or_why,
    record::{Job, JobDevice, Plan, Step},
    store::new_id,
    work::Claim,
};
use base::{
    error::{ErrorCode, ToolError},
    task,
};
use futures::{StreamExt, stream};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// How many routers are looked at side by side.
const AT_ONCE: usize = 16;
/// After how long a caller gets the job as it is; it goes on.
const WAIT: Duration = Duration::from_secs(570);

/// What a person is asked about: each change of each router, in words, and the hash of it all.
pub fn subject<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move { Ok(plan_of(service, call)?.subject(call.text("plan_id"))) })
}

pub fn apply<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move { start(service, call, plan_of(service, call)?).await })
}

/// The plan of the call, if this tool applies it and it may still be applied.
fn plan_of(service: &RouterService, call: &RouterCall) -> Result<Plan, ToolError> {
    no_token(call)?;
    let plan = service.work.files.plan(call.text("plan_id"))?;
    let refused = |why: String| ToolError::precondition(why).with("plan_id", plan.plan_id.as_str());
    if plan.apply != call.tool.name {
        return Err(
            refused(format!("the plan {} is of {}", plan.plan_id, plan.tool)).hint(format!("call {}", plan.apply))
        );
    }
    if plan.status != "draft" {
        return Err(refused(format!("the plan {} is {} already", plan.plan_id, plan.status)).hint("make it again"));
    }
    if plan.is_expired() {
        return Err(refused(format!("the plan {} is older than 24 hours", plan.plan_id))
            .with("mcp_error_code", "PLAN_EXPIRED")
            .hint("make it again, and look at what it changes now"));
    }
    Ok(plan)
}

/// An approval is a person's, given elsewhere.
///
/// # Errors
/// `invalid_argument` for a call that brings one.
pub(super) fn no_token(call: &RouterCall) -> Result<(), ToolError> {
    if call.args.contains_key("approval_token") {
        return Err(ToolError::invalid("an approval is no argument")
            .with("parameter", "approval_token")
            .hint("leave approval_token out: a person is asked, and approves at the machine, in the page or by `raspi-mcp approve`"));
    }
    Ok(())
}

/// Checks every router, has it authorized, and runs the job.
pub(super) async fn start(
    service: &RouterService,
    call: &RouterCall,
    mut plan: Plan,
) -> Result<serde_json::Value, ToolError> {
    let ids = || plan.devices.iter().map(|device| device.device_id.clone());
    let routers: BTreeMap<String, Arc<Router>> =
        ids().map(|id| Ok((id.clone(), Arc::clone(service.router(call, &id)?)))).collect::<Result<_, ToolError>>()?;
    let claim = service.work.claim(ids())?;
    unmoved(service, &plan, &routers).await?;
    // The last thing before the first write.
    service.authorize_subject(call, &plan.subject(call.text("plan_id"))).await?;
    let job = Job {
        job_id: new_id("job")?,
        plan_id: plan.plan_id.clone(),
        state: "running".into(),
        batch_size: call.number("batch_size").max(1),
        batch_pause_seconds: call.number("batch_pause_seconds") as u64,
        devices: ids().map(waiting).collect(),
    };
    plan.status = "applying".into();
    plan.job_id = Some(job.job_id.clone());
    service.work.files.keep_job(&job)?;
    service.work.files.keep_plan(&plan)?;
    let runner = Runner {
        files: Arc::clone(&service.work.files),
        routers,
        plan,
        job,
        progress: Arc::clone(&call.progress),
        cancel: call.cancel.clone(),
        _claim: claim,
    };
    watch(service, runner).await
}

fn waiting(device_id: String) -> JobDevice {
    JobDevice {
        device_id,
        status: Step::Waiting,
        error: None,
        snapshot_before: None,
        snapshot_after: None,
        execution_time_ms: None,
    }
}

/// Runs the job to its end, whoever still waits.
async fn watch(service: &RouterService, runner: Runner) -> Result<serde_json::Value, ToolError> {
    let id = runner.job.job_id.clone();
    match tokio::time::timeout(WAIT, task::spawn(runner.run())).await {
        Ok(Ok(job)) => Ok(job?.shown()),
        Ok(Err(ended)) => Err(ToolError::internal(format!("the job {id} ended: {ended}")).maybe_changed()),
        Err(_) => Ok(service.work.files.job(&id)?.shown()),
    }
}

/// Every router is as it was when the plan was made; otherwise nothing is written to any.
async fn unmoved(
    service: &RouterService,
    plan: &Plan,
    routers: &BTreeMap<String, Arc<Router>>,
) -> Result<(), ToolError> {
    let look = |device: &super::record::DevicePlan| {
        let (device, router) = (device.clone(), Arc::clone(&routers[&device.device_id]));
        async move {
            let looked = async {
                let resource = router.client.get("system/resource").await?;
                service.work.files.tested(router.id(), resource["version"].as_str().unwrap_or_default())?;
                let now = Base::read(&router.client, &device.changes).await;
                if now.as_ref().is_ok_and(|now| now.hash() == device.base.hash()) {
                    return Ok(());
                }
                match now {
                    Err(error) if error.details.contains_key("reason") => Err(error),
                    now => Err(ToolError::new(
                        ErrorCode::Conflict,
                        format!("the router {} is not as it was when the plan was made", device.device_id),
                    )
                    .with("device_id", device.device_id.as_str())
                    .with("cause", now.err().map(|error| error.into_message()))
                    .hint("nothing was written; make the plan again, and look at what it changes now")),
                }
            };
            let looked = looked.await;
            router.note(looked.as_ref().err());
            (device.device_id.clone(), looked)
        }
    };
    let looked: Vec<_> = stream::iter(plan.devices.iter().map(look)).buffered(AT_ONCE).collect().await;
    all_or_why(looked).map(|_| ())
}

/// Goes on with the jobs that were running when this program ended: the router in doubt is read, and confirmed or taken back;
/// the others follow if it was confirmed. To be called once, before the first call.
///
/// # Errors
/// When a file of the state folder cannot be read or written.
pub async fn resume(service: &RouterService) -> Result<Vec<Job>, ToolError> {
    let mut ended = Vec::new();
    // All of them are taken before the first wait, so that no call comes between.
    let mut begun: Vec<(Job, Plan, Claim)> = Vec::new();
    for mut job in service.work.files.running() {
        let Ok(mut plan) = service.work.files.plan(&job.plan_id) else {
            // Without its plan nobody knows what it changes; what was begun takes itself back.
            job.state = "halted".into();
            service.work.files.keep_job(&job)?;
            ended.push(job);
            continue;
        };
        plan.job_id = Some(job.job_id.clone());
        let claim = service.work.claim(plan.devices.iter().map(|device| device.device_id.clone()))?;
        begun.push((job, plan, claim));
    }
    for (job, plan, claim) in begun {
        // A router that its owner has closed since is not written to.
        let open =
            |id: &String| service.routers.get(id).ok().filter(|router| router.standing.allow_professional).cloned();
        let routers =
            plan.devices.iter().filter_map(|device| Some((device.device_id.clone(), open(&device.device_id)?)));
        let runner = Runner {
            files: Arc::clone(&service.work.files),
            routers: routers.collect(),
            job,
            progress: Arc::new(|_, _, _| {}),
            cancel: CancellationToken::new(),
            _claim: claim,
            plan,
        };
        ended.push(runner.run().await?);
    }
    Ok(ended)
}
