//! Updates through the agent: a stream of its own, judged by its own policy, a trial with its own deadline.

use super::*;
use crate::update::{BLOCK, HARDWARE, PRODUCT, a_bundle, a_bundle_of, a_plan, a_root, an_image, envelope, opened};
use ::agent::{
    BootableCard, HealthReport, UpdateTool,
    operations::update::{InstallRequest, MarkGoodRequest, RebootIntoRequest, RollBackRequest},
    units::{Action, JobMode},
};
use ::update::{
    Slot,
    bundle::BundleContent,
    health::Missing,
    install::{Armed, InstallOutcome, InstallStream},
    simulated,
    status::{Phase, RestartPlan, SlotState, UpdateStatus},
};
use base::error::ErrorCode;
use contract::meta::Mode;

const BOOT: usize = 256 << 10;
const ROOT: usize = 1 << 20;
const TOOL: UpdateTool = UpdateTool::UpdateServer;

/// A machine with two slots, a root of trust, and a policy that lets updates through without asking.
pub fn updatable() -> Pi {
    with_slots(Mode::Allow)
}

fn with_slots(mode: Mode) -> Pi {
    let mut pi = Pi::with(|settings| {
        settings.policy.namespaces.insert("manage".into());
        for tool in ["update_server", "apply_os_updates", "rollback", "mark_good"] {
            settings.policy.modes.insert(format!("manage.{tool}"), mode);
        }
        settings.update.product = PRODUCT.into();
        settings.update.trust = "/trust.json".into();
        settings.update.health_deadline_seconds = 60;
    });
    std::fs::write(pi.dir.path().join("trust.json"), a_root()).unwrap();
    // The clock of these bundles.
    pi.now_ms.store(crate::update::NOW as i64 * 1000, Ordering::SeqCst);
    let card = BootableCard::simulated(&pi.dir.path().join("card")).unwrap();
    pi.update = CardPort { card: Ok(BootableCard { hardware: vec![HARDWARE.into()], ..card }), ..CardPort::none() };
    pi.start();
    pi
}

pub fn bundle(version: &str, counter: u64) -> Vec<u8> {
    let boot = simulated::boot_image(BOOT, version).unwrap();
    a_bundle(version, counter, &boot, &an_image(ROOT, counter), &[11, 12])
}

pub fn request(args: &Value, ask_id: Option<&str>) -> InstallRequest {
    InstallRequest { tool: TOOL, authorization: Some(authorization(args, ask_id)), restart: RestartPlan::Waits }
}

/// What the server half does: everything that is wanted is sent. Gives the numbers that were.
pub async fn install(link: &AgentLink, request: InstallRequest, bundle: &[u8]) -> Result<(Armed, Vec<u32>), ToolError> {
    let envelope = envelope(bundle);
    let stream = link.install(request).await?;
    let (mut install, judged) = InstallStream::begin(stream, &bundle[..envelope.index_at as usize]).await?;
    assert!(judged.simulated);
    install.index(&bundle[envelope.index_at as usize..envelope.blocks_at as usize]).await?;
    let index = opened(bundle).1;
    let mut wanted = install.wanted().await?;
    let mut sent = Vec::new();
    loop {
        for n in wanted.iter() {
            let block = index.block(n);
            install.block(n, &bundle[block.stored.start as usize..block.stored.end as usize]).await?;
            sent.push(n);
        }
        match install.finish().await? {
            InstallOutcome::Armed(armed) => return Ok((armed, sent)),
            InstallOutcome::More(more) => wanted = more,
        }
    }
}

pub fn restart(args: &Value) -> RebootIntoRequest {
    RebootIntoRequest { tool: TOOL, delay_seconds: 1, authorization: authorization(args, None) }
}

pub fn healthy() -> HealthReport {
    HealthReport { healthy: true, problems: Vec::new(), offline: false, missing: Missing::default() }
}

fn sick(offline: bool) -> HealthReport {
    let missing = if offline { Missing::network() } else { Missing::server() };
    HealthReport { healthy: false, problems: vec!["the default gateway: no answer".into()], offline, missing }
}

pub fn slot(status: &UpdateStatus, slot: Slot) -> (SlotState, Option<&str>, bool) {
    let found = status.slots.iter().find(|found| found.slot == slot).unwrap();
    (found.state, found.version.as_deref(), found.running)
}

#[tokio::test]
async fn an_update_from_its_stream_to_its_commit() {
    let pi = updatable();
    let (link, args) = (pi.server(), json!({}));
    let before = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert_eq!(slot(&before, Slot::A), (SlotState::Good, None, true), "{before:?}");
    let bundle = bundle("2.0.0", 2);
    let judged = link.judge_bundle(TOOL, &bundle[..envelope(&bundle).index_at as usize]).await.unwrap();
    assert_eq!((judged.version.as_str(), judged.target, judged.resumes), ("2.0.0", Slot::B, false));

    let (armed, sent) = install(&link, request(&args, None), &bundle).await.unwrap();
    assert!(armed.sent_bytes > 0 && sent.len() as u64 >= armed.sent_bytes / u64::from(BLOCK));
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert_eq!(slot(&status, Slot::B), (SlotState::Armed, Some("2.0.0"), false));
    assert_eq!(status.last_attempt.unwrap().phase, Phase::Armed);

    link.call::<op::update::RebootIntoUpdate>(restart(&args)).await.unwrap();
    restarted(&pi, 1).await;
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert_eq!(slot(&status, Slot::B), (SlotState::Trial, Some("2.0.0"), true), "{status:?}");
    assert!(status.trial_seconds_left.is_some());

    let taken = link.call::<op::update::ReportHealth>(sick(false)).await.unwrap();
    assert_eq!((taken.trial, taken.committed), (true, false));
    let taken = link.call::<op::update::ReportHealth>(healthy()).await.unwrap();
    assert!(taken.committed, "{taken:?}");
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert_eq!(slot(&status, Slot::B), (SlotState::Good, Some("2.0.0"), true));
    assert_eq!((status.counter_floor, status.trial_seconds_left), (2, None));
    assert_eq!(status.last_attempt.unwrap().phase, Phase::Committed);
    for deed in ["\"install\"", "\"reboot_into_update\"", "\"commit\""] {
        assert!(pi.log().contains(deed), "{deed} is not in {}", pi.log());
    }
}

/// Waits for the machine's restart number `count` since this agent began: its first start was that of the machine before.
pub async fn restarted(pi: &Pi, count: u32) {
    let mut starts = pi.agent().starts();
    let started = starts.wait_for(|starts| *starts > count);
    // The timers are real here, since blocking threads do the work.
    tokio::time::timeout(Duration::from_secs(30), started).await.expect("a restart").expect("an agent");
}

/// A machine that gives a trial a second to prove itself.
pub fn updatable_with_a_second() -> Pi {
    let mut pi = updatable();
    pi.settings.update.health_deadline_seconds = 1;
    pi.start();
    pi
}

/// Is about to restart into 2.0.0.
pub async fn one_second_for_2_0_0(pi: &Pi) -> (AgentLink, Value) {
    let (link, args) = (pi.server(), json!({}));
    install(&link, request(&args, None), &bundle("2.0.0", 2)).await.unwrap();
    link.call::<op::update::RebootIntoUpdate>(restart(&args)).await.unwrap();
    (link, args)
}

#[tokio::test]
async fn a_trial_that_nobody_calls_healthy_ends_at_its_deadline() {
    let pi = updatable_with_a_second();
    let (link, args) = one_second_for_2_0_0(&pi).await;
    restarted(&pi, 1).await;
    link.call::<op::update::ReportHealth>(sick(false)).await.unwrap();
    restarted(&pi, 2).await;
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert!(slot(&status, Slot::A).2, "{status:?}");
    let attempt = status.last_attempt.unwrap();
    assert_eq!(attempt.phase, Phase::RolledBack);
    assert!(attempt.reason.contains("no answer"), "{}", attempt.reason);

    // The old slot is well: the version was to blame, and does not come again.
    link.call::<op::update::ReportHealth>(healthy()).await.unwrap();
    let error = install(&link, request(&args, None), &bundle("2.0.0", 2)).await.unwrap_err();
    assert!(error.message.contains("blocked"), "{error}");
    // A mended one does.
    install(&link, request(&args, None), &bundle("2.0.1", 3)).await.unwrap();
}

#[tokio::test]
async fn an_old_slot_that_is_offline_as_well_arms_the_update_again() {
    let pi = updatable_with_a_second();
    let (link, _) = one_second_for_2_0_0(&pi).await;
    restarted(&pi, 2).await;
    link.call::<op::update::ReportHealth>(sick(true)).await.unwrap();
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert_eq!(slot(&status, Slot::B).0, SlotState::Armed, "{status:?}");
    link.get::<op::update::ResumeUpdate>().await.unwrap();
}

#[tokio::test]
async fn a_person_can_end_a_trial_and_forget_what_is_armed() {
    let pi = updatable();
    let (link, args) = (pi.server(), json!({}));
    let back = |dry_run| RollBackRequest { dry_run, authorization: authorization(&json!({}), None) };
    install(&link, request(&args, None), &bundle("2.0.0", 2)).await.unwrap();
    let plan = link.call::<op::update::RollBack>(back(true)).await.unwrap();
    assert_eq!((plan.from, plan.to, plan.restarts), (Slot::A, Slot::A, false));
    assert_eq!(
        slot(&link.get::<op::update::GetUpdateStatus>().await.unwrap(), Slot::B).0,
        SlotState::Armed,
        "a dry run changes nothing"
    );
    link.call::<op::update::RollBack>(back(false)).await.unwrap();
    assert_eq!(slot(&link.get::<op::update::GetUpdateStatus>().await.unwrap(), Slot::B).0, SlotState::Bad);
    let error = link.call::<op::update::RebootIntoUpdate>(restart(&args)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::FailedPrecondition);

    install(&link, request(&args, None), &bundle("2.0.1", 3)).await.unwrap();
    link.call::<op::update::RebootIntoUpdate>(restart(&args)).await.unwrap();
    restarted(&pi, 1).await;
    let rolled = link.call::<op::update::RollBack>(back(false)).await.unwrap();
    assert_eq!((rolled.from, rolled.to, rolled.restarts), (Slot::B, Slot::A, true));
    restarted(&pi, 2).await;
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert!(slot(&status, Slot::A).2, "{status:?}");
    assert_eq!(status.last_attempt.unwrap().phase, Phase::RolledBack);
}

#[tokio::test]
async fn nobody_can_talk_a_sick_trial_into_a_commit() {
    let pi = updatable();
    let (link, args) = (pi.server(), json!({}));
    let good = || MarkGoodRequest { authorization: authorization(&json!({}), None) };
    install(&link, request(&args, None), &bundle("2.0.0", 2)).await.unwrap();
    link.call::<op::update::RebootIntoUpdate>(restart(&args)).await.unwrap();
    restarted(&pi, 1).await;
    for report in [None, Some(sick(false))] {
        if let Some(report) = report {
            link.call::<op::update::ReportHealth>(report).await.unwrap();
        }
        let error = link.call::<op::update::MarkGood>(good()).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::FailedPrecondition, "{error}");
        assert_eq!(slot(&link.get::<op::update::GetUpdateStatus>().await.unwrap(), Slot::B).0, SlotState::Trial);
    }
    link.call::<op::update::ReportHealth>(healthy()).await.unwrap();
    let marked = link.call::<op::update::MarkGood>(good()).await.unwrap();
    assert_eq!((marked.slot, marked.version.as_deref()), (Slot::B, Some("2.0.0")));
}

#[tokio::test]
async fn the_agents_own_checks_count_as_much_as_the_servers() {
    let mut pi = updatable();
    pi.settings.update.health_commands = vec!["/usr/bin/false".into()];
    pi.start();
    let (link, args) = (pi.server(), json!({}));
    install(&link, request(&args, None), &bundle("2.0.0", 2)).await.unwrap();
    link.call::<op::update::RebootIntoUpdate>(restart(&args)).await.unwrap();
    restarted(&pi, 1).await;
    let taken = link.call::<op::update::ReportHealth>(healthy()).await.unwrap();
    assert!(!taken.committed && taken.problems[0].contains("/usr/bin/false"), "{taken:?}");
}

#[tokio::test]
async fn an_approval_is_for_the_version_it_showed_and_is_asked_for_once() {
    let pi = with_slots(Mode::Ask);
    let link = pi.server();
    let args = json!({"target_version": "2.0.0"});
    let error = install(&link, request(&args, None), &bundle("2.0.0", 2)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    let opened = link.call::<op::asks::OpenAsk>(ask("manage.update_server", args.clone())).await.unwrap();
    pi.says(&opened, true).await.unwrap();
    let other = install(&link, request(&args, Some(&opened.id)), &bundle("2.0.1", 3)).await.unwrap_err();
    assert_eq!((other.code, &other.details["differs"]), (ErrorCode::PermissionDenied, &json!("arguments")));

    let bundle = bundle("2.0.0", 2);
    let envelope = envelope(&bundle);
    // Begun, and left by a server that went.
    let stream = link.install(request(&args, Some(&opened.id))).await.unwrap();
    let begun = InstallStream::begin(stream, &bundle[..envelope.index_at as usize]).await.unwrap();
    drop(begun);
    let (_, sent) = until_free(&link, || request(&args, Some(&opened.id)), &bundle).await;
    assert!(!sent.is_empty(), "the person is not asked again for the same bundle");
    link.call::<op::update::RebootIntoUpdate>(restart(&args)).await.unwrap();
}

/// An install, once the one before has noticed that its server went.
async fn until_free(link: &AgentLink, request: impl Fn() -> InstallRequest, bundle: &[u8]) -> (Armed, Vec<u32>) {
    loop {
        match install(link, request(), bundle).await {
            Ok(done) => return done,
            Err(error) if error.code == ErrorCode::Conflict => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn the_second_is_told_who_is_busy() {
    let pi = updatable();
    let link = pi.server();
    let bundle = bundle("2.0.0", 2);
    let head = &bundle[..envelope(&bundle).index_at as usize];
    let stream = link.install(request(&json!({}), None)).await.unwrap();
    let (first, _) = InstallStream::begin(stream, head).await.unwrap();
    let error = link.install(request(&json!({}), None)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!((&error.details["who"], &error.details["version"]), (&json!("token:fleet"), &json!("2.0.0")));
    first.cancel().await.unwrap();
    until_free(&link, || request(&json!({}), None), &bundle).await;
}

#[tokio::test]
async fn heads_that_are_not_for_this_machine_are_refused_and_nothing_is_written() {
    let pi = updatable();
    let link = pi.server();
    let boot = simulated::boot_image(BOOT, "2.0.0").unwrap();
    let root = an_image(ROOT, 2);
    let made = |change: &dyn Fn(&mut BundleContent), keys: &[u8]| {
        let mut plan = a_plan("2.0.0", 2);
        change(&mut plan);
        let bundle = a_bundle_of(&plan, &boot, &root, keys);
        let length = envelope(&bundle).index_at as usize;
        bundle[..length].to_vec()
    };
    let refused = ErrorCode::FailedPrecondition;
    let cases: [(&str, Vec<u8>, ErrorCode); 8] = [
        ("hardware", made(&|plan| plan.hardware = vec!["raspberrypi,5-model-b".into()], &[11, 12]), refused),
        ("layout", made(&|plan| plan.layout = "gpt-ab-1".into(), &[11, 12]), refused),
        ("channel", made(&|plan| plan.channel = "beta".into(), &[11, 12]), refused),
        ("not to be installed", made(&|plan| (plan.created, plan.expires) = (1, 2), &[11, 12]), refused),
        ("signed by 1 of the 2", made(&|_| {}, &[11]), ErrorCode::VerificationFailed),
        ("signed by 0 of the 2", made(&|_| {}, &[]), ErrorCode::VerificationFailed),
        ("does not start as bundles do", b"<!doctype html>".to_vec(), ErrorCode::VerificationFailed),
        ("bytes, and", made(&|_| {}, &[11, 12])[..100].to_vec(), ErrorCode::InvalidArgument),
    ];
    for (words, head, code) in cases {
        let error = link.judge_bundle(TOOL, &head).await.unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.contains(words), "{words}: {error}");
        let stream = link.install(request(&json!({}), None)).await.unwrap();
        assert_eq!(InstallStream::begin(stream, &head).await.err().unwrap().code, code);
    }
    assert!(link.get::<op::update::GetUpdateStatus>().await.unwrap().last_attempt.is_none());
}

#[tokio::test]
async fn a_machine_without_slots_says_how_to_get_them() {
    let pi = Pi::with(|settings| {
        settings.policy.namespaces.insert("manage".into());
        settings.policy.modes.insert("manage.update_server".into(), Mode::Allow);
    });
    let link = pi.server();
    for error in [
        link.get::<op::update::GetUpdateStatus>().await.unwrap_err(),
        link.install(request(&json!({}), None)).await.unwrap_err(),
        link.call::<op::update::ReportHealth>(healthy()).await.unwrap_err(),
    ] {
        assert_eq!(error.code, ErrorCode::CapabilityMissing);
        assert!(error.hint.is_some());
    }
    assert!(link.get::<op::status::GetStatus>().await.unwrap().faults.is_empty(), "it is no fault of the agent's");
}

#[tokio::test]
async fn a_person_at_a_console_keeps_a_trial_once_what_was_missed_is_there() {
    let mut pi = updatable();
    pi.settings.update.health_units = vec!["backup.service".into()];
    pi.start();
    let (link, stop) = (pi.server(), tokio_util::sync::CancellationToken::new());
    let listener = agent::bind(&pi.settings.socket, false).unwrap();
    let serving = tokio::spawn(agent::serve(listener, pi.agent(), stop.clone()));
    install(&link, request(&json!({}), None), &bundle("2.0.0", 2)).await.unwrap();
    link.call::<op::update::RebootIntoUpdate>(restart(&json!({}))).await.unwrap();
    restarted(&pi, 1).await;

    let mark_good = || async {
        let mut call = tokio::process::Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
        call.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", pi.dir.path().join("home")).kill_on_drop(true);
        call.env("RASPI_MCP__PLACES__AGENT_SOCKET", &pi.settings.socket);
        let output = call.args(["slot", "mark-good"]).stdin(std::process::Stdio::null()).output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.success(), text(output.stdout), text(output.stderr))
    };
    // The server is well, the agent misses a service, and both have to agree; so does the person.
    let (done, _, why) = mark_good().await;
    assert!(!done && why.contains("the server half has not said yet"), "{why}");
    assert!(!link.call::<op::update::ReportHealth>(healthy()).await.unwrap().committed);
    let (done, _, why) = mark_good().await;
    assert!(!done && why.contains("service backup.service: it is inactive"), "{why}");
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert_eq!(slot(&status, Slot::B), (SlotState::Trial, Some("2.0.0"), true), "{status:?}");

    pi.units.act("backup.service", Action::Start, JobMode::Replace, Some(Duration::from_secs(5))).await.unwrap();
    let (done, text, why) = mark_good().await;
    assert!(done && text.contains("slot B (2.0.0) is good, and what starts from now on"), "{text}{why}");
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert_eq!(slot(&status, Slot::B), (SlotState::Good, Some("2.0.0"), true), "{status:?}");
    assert_eq!((status.last_attempt.unwrap().phase, status.trial_seconds_left), (Phase::Committed, None));
    assert_eq!(status.counter_floor, 2);
    assert!(pi.log().contains("\"mark_good\""), "{}", pi.log());
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test]
async fn a_service_of_the_owners_that_fails_is_no_reason_against_a_start_that_is_no_trial() {
    let mut pi = updatable();
    pi.settings.update.health_units = vec!["backup.service".into()];
    pi.start();
    let link = pi.server();
    let taken = link.call::<op::update::ReportHealth>(healthy()).await.unwrap();
    assert!(!taken.trial && taken.problems.is_empty(), "{taken:?}");
    // In a trial it is.
    install(&link, request(&json!({}), None), &bundle("2.0.0", 2)).await.unwrap();
    link.call::<op::update::RebootIntoUpdate>(restart(&json!({}))).await.unwrap();
    restarted(&pi, 1).await;
    let taken = link.call::<op::update::ReportHealth>(healthy()).await.unwrap();
    assert!(taken.trial && !taken.committed && taken.problems[0].contains("backup.service"), "{taken:?}");
}

/// Restarts the machine once, so that its limit of one an hour is reached.
async fn spent(pi: &Pi) -> AgentLink {
    let link = pi.server();
    install(&link, request(&json!({}), None), &bundle("2.0.0", 2)).await.unwrap();
    link.call::<op::update::RebootIntoUpdate>(restart(&json!({}))).await.unwrap();
    restarted(pi, 1).await;
    assert!(link.call::<op::update::ReportHealth>(healthy()).await.unwrap().committed);
    install(&link, request(&json!({}), None), &bundle("3.0.0", 3)).await.unwrap();
    link
}

#[tokio::test]
async fn a_restart_that_the_limit_refuses_is_planned_and_every_advice_given_works() {
    let mut pi = updatable();
    pi.settings.policy.reboots_per_hour = 1;
    pi.start();
    let link = spent(&pi).await;
    assert_eq!(link.get::<op::update::GetUpdateStatus>().await.unwrap().restart, Some(RestartPlan::Waits));
    let error = link.call::<op::update::RebootIntoUpdate>(restart(&json!({}))).await.unwrap_err();
    assert_eq!((error.code, &error.details["restarts_by_itself"]), (ErrorCode::ResourceExhausted, &json!(true)));
    assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("nothing has to be done")), "{error:?}");
    assert_eq!(link.get::<op::update::GetUpdateStatus>().await.unwrap().restart, Some(RestartPlan::Soon));
    // What the refusal of the same bundle advises: a restart by order is refused the same way, and taking it back works.
    let error = install(&link, request(&json!({}), None), &bundle("3.0.0", 3)).await.unwrap_err();
    assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("manage.rollback takes it back")), "{error:?}");
    link.call::<op::update::RollBack>(RollBackRequest {
        dry_run: false,
        authorization: authorization(&json!({}), None),
    })
    .await
    .unwrap();
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert_eq!((status.restart, slot(&status, Slot::A).0), (None, SlotState::Bad), "{status:?}");
    assert!(status.blocked.iter().all(|blocked| blocked.by_person), "{:?}", status.blocked);
    install(&link, request(&json!({}), None), &bundle("3.0.0", 3)).await.expect("a person may have it again");
}

#[tokio::test]
async fn what_a_person_took_back_is_for_a_person_only() {
    let pi = updatable();
    let link = pi.server();
    let back = || RollBackRequest { dry_run: false, authorization: authorization(&json!({}), None) };
    install(&link, request(&json!({}), None), &bundle("2.0.0", 2)).await.unwrap();
    link.call::<op::update::RebootIntoUpdate>(restart(&json!({}))).await.unwrap();
    restarted(&pi, 1).await;
    assert!(link.call::<op::update::ReportHealth>(healthy()).await.unwrap().committed);
    link.call::<op::update::RollBack>(back()).await.unwrap();
    restarted(&pi, 2).await;
    assert!(link.call::<op::update::ReportHealth>(healthy()).await.unwrap().committed);
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert!(slot(&status, Slot::A).2 && status.blocked[0].by_person, "{status:?}");
    let itself = InstallRequest {
        authorization: Some(agent::Authorization {
            principal: "update.automatic".into(),
            ..authorization(&json!({}), None)
        }),
        ..request(&json!({}), None)
    };
    let error = install(&link, itself, &bundle("2.0.0", 2)).await.unwrap_err();
    assert!(error.message.contains("took version 2.0.0 back") && error.hint.is_some(), "{error}");
    install(&link, request(&json!({}), None), &bundle("2.0.0", 2)).await.expect("forward again");
    link.call::<op::update::RebootIntoUpdate>(restart(&json!({}))).await.unwrap();
    restarted(&pi, 3).await;
    assert!(link.call::<op::update::ReportHealth>(healthy()).await.unwrap().committed);
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert_eq!((slot(&status, Slot::B).1, &status.blocked[..]), (Some("2.0.0"), &[][..]));
}

#[tokio::test]
async fn a_condemned_release_is_not_offered_while_the_old_slot_is_being_looked_at() {
    let pi = updatable_with_a_second();
    let (link, _) = one_second_for_2_0_0(&pi).await;
    restarted(&pi, 2).await;
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert!(status.blocked.iter().any(|one| one.version == "2.0.0" && one.reason.contains("found out")), "{status:?}");
    // Offline as well: it was not to blame, and is armed again.
    link.call::<op::update::ReportHealth>(sick(true)).await.unwrap();
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert_eq!((status.blocked, status.restart), (Vec::new(), Some(RestartPlan::Soon)));
}

#[tokio::test]
async fn a_future_release_leaves_no_floor_behind_and_the_machine_takes_the_next_one() {
    let pi = updatable();
    let link = pi.server();
    let before = link.get::<op::update::GetUpdateStatus>().await.unwrap().time_floor;
    let made = |created: u64| {
        let mut plan = a_plan("2.0.0", 2);
        (plan.created, plan.expires) = (created, created + 1000);
        a_bundle_of(&plan, &simulated::boot_image(BOOT, "2.0.0").unwrap(), &an_image(ROOT, 2), &[11, 12])
    };
    let day = 86_400;
    let error = install(&link, request(&json!({}), None), &made(crate::update::NOW + 400 * day)).await.unwrap_err();
    assert!(error.message.contains("was made at"), "{error}");
    install(&link, request(&json!({}), None), &made(crate::update::NOW + day)).await.unwrap();
    assert_eq!(link.get::<op::update::GetUpdateStatus>().await.unwrap().time_floor, before, "armed");
    link.call::<op::update::RollBack>(RollBackRequest {
        dry_run: false,
        authorization: authorization(&json!({}), None),
    })
    .await
    .unwrap();
    assert_eq!(link.get::<op::update::GetUpdateStatus>().await.unwrap().time_floor, before, "taken back");
    install(&link, request(&json!({}), None), &bundle("2.0.1", 3)).await.unwrap();
}
