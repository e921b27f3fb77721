//! Commands: the agent's own list, the guard, and an orphan maker that does all it can to stay.

use super::*;
use ::agent::{
    bind,
    exec::{Ending, Guarded},
    operations::commands::{CommandEnd, CommandRef, CommandRequest, without_input},
    serve,
};
use base::{base64url, error::ErrorCode};
use contract::{
    config::{CommandSetting, Exec},
    meta::Mode,
};
use std::{collections::BTreeMap, path::PathBuf, time::Instant};
use tokio_util::sync::CancellationToken;

/// Nothing here takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Leaves its session and its parent, twice, and wants no signal. Its last child says so when all of it is there.
const ORPHANS: &str = r#"trap "" TERM HUP INT
( setsid sh -c 'trap "" TERM HUP; ( setsid sh -c "trap \"\" TERM HUP; echo here; while :; do sleep 600; done" & ); while :; do sleep 600; done' & )
while :; do sleep 600; done"#;

pub(super) fn commands() -> Exec {
    let sh = CommandSetting {
        name: "sh".into(),
        program: "/bin/sh".into(),
        args: vec![],
        more_args: Some("(?s).*".into()),
        options: vec!["-c".into()],
        env: vec!["COLOUR".into()],
        stdin: true,
        network: true,
        timeout_seconds: 600,
        user: None,
        cwd_roots: None,
    };
    Exec { user: "runner".into(), commands: vec![sh], max_output_bytes: 1024, ..Exec::default() }
}

/// An agent whose machine is simulated but for its runner, which is the guard of this build.
pub(super) fn real(change: impl FnOnce(&mut AgentSettings)) -> Pi {
    let mut pi = Pi::with(|settings| {
        settings.policy.namespaces.insert("exec".into());
        settings.policy.modes.insert("exec.run".into(), Mode::Allow);
        settings.exec = commands();
        change(settings);
    });
    // As root the guard changes to another account; otherwise it runs commands under this one.
    let own = rustix::process::geteuid().as_raw();
    let uid = if own == 0 { 65534 } else { own };
    std::fs::create_dir_all(pi.dir.path().join("etc")).unwrap();
    std::fs::write(pi.dir.path().join("etc/passwd"), format!("root:x:0:0::/:\nrunner:x:{uid}:{uid}::/:\n")).unwrap();
    pi.agent = None;
    let platform = Platform {
        runner: Arc::new(Guarded::with(env!("CARGO_BIN_EXE_raspi-mcp").into())),
        ..Platform::new(agent::system_clock(), Arc::new(SimulatedMachine::new("first boot")))
    };
    pi.agent = Some(Agent::start(pi.settings.clone(), platform).unwrap());
    pi
}

fn id() -> String {
    let bytes: [u8; 16] = rand();
    canonical_hex(&bytes)
}

fn rand() -> [u8; 16] {
    use std::io::Read;
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    bytes
}

fn canonical_hex(bytes: &[u8]) -> String {
    canonical::hex(bytes)
}

fn sh(script: &str) -> CommandRequest {
    CommandRequest {
        id: id(),
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: None,
        env: BTreeMap::new(),
        stdin: None,
        shell: false,
        timeout_ms: 60_000,
        authorization: authorization(&json!({}), None),
    }
}

async fn run(pi: &Pi, request: CommandRequest) -> Result<CommandEnd, ToolError> {
    tokio::time::timeout(PATIENCE, pi.server().call_within::<op::commands::RunCommand>(request, PATIENCE))
        .await
        .expect("the command ends")
}

/// The processes that have this command's id in their environment.
pub(super) fn alive(id: &str) -> Vec<PathBuf> {
    let marker = format!("RASPI_MCP_EXEC_ID={id}");
    let has = |path: &PathBuf| {
        let environ = std::fs::read(path.join("environ")).unwrap_or_default();
        environ.windows(marker.len()).any(|part| part == marker.as_bytes())
    };
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(|path| path.join("environ").exists()).filter(has).collect()
}

pub(super) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_command_answers() {
    let pi = real(|_| {});
    let end = run(&pi, sh("echo out; echo err >&2; exit 3")).await.unwrap();
    assert_eq!((end.ending, end.timed_out, end.simulated), (Ending::Exited(3), false, false));
    assert_eq!((end.stdout.text().as_str(), end.stderr.text().as_str()), ("out\n", "err\n"));
    let end = run(&pi, sh("kill -KILL $$")).await.unwrap();
    assert_eq!(end.ending, Ending::Killed(9));
    let reads = CommandRequest { stdin: Some(base64url::encode(b"given")), ..sh("cat") };
    assert_eq!(run(&pi, reads).await.unwrap().stdout.text(), "given");
    assert!(pi.log().contains("\"command ended\""));
}

#[tokio::test]
async fn its_environment_is_clean_and_it_runs_under_its_own_account() {
    let pi = real(|_| {});
    let env = BTreeMap::from([("COLOUR".to_owned(), "$HOME".to_owned())]);
    let said = run(&pi, CommandRequest { env, ..sh("env; id -u; umask; pwd") }).await.unwrap().stdout.text();
    let names: Vec<&str> = said.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let known =
        ["PATH", "LANG", "HOME", "USER", "LOGNAME", "COLOUR", "RASPI_MCP_EXEC_ID", "PWD", "SHLVL", "_", "OLDPWD"];
    assert!(names.iter().all(|name| known.contains(name)), "{said}");
    assert!(said.contains("COLOUR=$HOME\n") && said.ends_with("0077\n/\n"), "{said}");
    assert!(!said.lines().any(|line| line == "0"), "not as root: {said}");
}

#[tokio::test]
async fn long_output_keeps_both_ends() {
    let pi = real(|_| {});
    let end = run(&pi, sh("echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last")).await.unwrap();
    let text = end.stdout.text();
    assert!(text.starts_with("first\n") && text.ends_with("\nlast\n") && text.len() < 1100, "{}", text.len());
    assert_eq!((end.stdout.total, end.stdout.cut()), (5_000_012, 5_000_012 - 1024));
}

#[tokio::test]
async fn orphans_end_with_their_time() {
    let pi = real(|_| {});
    let request = CommandRequest { timeout_ms: 1000, ..sh(ORPHANS) };
    let id = request.id.clone();
    let end = run(&pi, request).await.unwrap();
    assert!(end.timed_out && end.limit_ms == 1000 && end.duration_ms < 10_000, "{end:?}");
    assert_eq!(end.stdout.text(), "here\n", "the last of them was there");
    assert_eq!(alive(&id), [] as [PathBuf; 0], "when the answer comes they are gone");
}

#[tokio::test]
async fn orphans_end_when_their_caller_withdraws() {
    let pi = real(|_| {});
    let request = sh(ORPHANS);
    let (id, server) = (request.id.clone(), pi.server());
    let running = tokio::spawn({
        let server = server.clone();
        async move { server.call_within::<op::commands::RunCommand>(request, PATIENCE).await }
    });
    until("three processes and their sleeps", || alive(&id).len() >= 6).await;
    let output = server.call_within::<op::commands::ReadOutput>(CommandRef { id: id.clone() }, PATIENCE).await.unwrap();
    assert_eq!(output.chunks[0].text, "here\n");
    server.call::<op::commands::StopCommand>(CommandRef { id: id.clone() }).await.unwrap();
    let end = tokio::time::timeout(PATIENCE, running).await.unwrap().unwrap().unwrap();
    assert!(end.stopped && !end.timed_out);
    assert_eq!(alive(&id), [] as [PathBuf; 0]);
    assert_eq!(
        server.call::<op::commands::StopCommand>(CommandRef { id }).await.unwrap_err().code,
        ErrorCode::NotFound
    );
}

#[tokio::test]
async fn orphans_end_when_the_main_process_does() {
    let pi = real(|_| {});
    let request = sh("(setsid sh -c 'trap \"\" TERM; while :; do sleep 600; done' &) ; sleep 0.2; echo done");
    let id = request.id.clone();
    assert_eq!(run(&pi, request).await.unwrap().ending, Ending::Exited(0));
    assert_eq!(alive(&id), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn orphans_end_with_the_connection() {
    let pi = real(|_| {});
    let stop = CancellationToken::new();
    let listener = bind(&pi.settings.socket, false).unwrap();
    let serving = tokio::spawn(serve(listener, pi.agent(), stop.clone()));
    // A server that is killed leaves nothing but a closed connection.
    let server = AgentLink::Socket(agent::Client::new(&pi.settings.socket));
    let request = sh(ORPHANS);
    let id = request.id.clone();
    let running = tokio::spawn(async move { server.call_within::<op::commands::RunCommand>(request, PATIENCE).await });
    until("three processes and their sleeps", || alive(&id).len() >= 6).await;
    running.abort();
    until("none is left", || alive(&id).is_empty()).await;
    until("the log says so", || pi.log().contains("command abandoned")).await;
    stop.cancel();
    serving.await.unwrap();
}

/// The other half of the next test: an agent that is killed.
#[tokio::test]
#[ignore = "started by orphans_end_with_the_agent"]
async fn an_agent_to_be_killed() {
    let Ok(id) = std::env::var("ORPHANS_ID") else { return };
    let pi = real(|_| {});
    let _ = pi
        .server()
        .call_within::<op::commands::RunCommand>(CommandRequest { id, ..sh(ORPHANS) }, Duration::from_secs(600))
        .await;
}

#[tokio::test]
async fn orphans_end_with_the_agent() {
    let id = id();
    let mut agent = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "agent::exec::an_agent_to_be_killed"])
        .env("ORPHANS_ID", &id)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("three processes and their sleeps", || alive(&id).len() >= 6).await;
    // SIGKILL
    agent.kill().unwrap();
    agent.wait().unwrap();
    until("none is left", || alive(&id).is_empty()).await;
}

#[tokio::test]
async fn the_agents_own_list_decides() {
    let pi = real(|settings| settings.exec.commands[0].more_args = Some("echo [a-z]+".into()));
    for bad in [
        CommandRequest { command: "/bin/echo".into(), ..sh("echo a") },
        CommandRequest { command: "raspi-mcp".into(), ..sh("echo a") },
        sh("echo a; id"),
        sh("echo a\n"),
        sh("echo a\0b"),
        CommandRequest { args: vec!["-e".into()], ..sh("") },
        CommandRequest { args: vec!["x".repeat(1025)], ..sh("") },
        CommandRequest { args: vec!["echo a".into(); 65], ..sh("") },
        CommandRequest { cwd: Some("/etc".into()), ..sh("echo a") },
        CommandRequest { cwd: Some("../..".into()), ..sh("echo a") },
        CommandRequest { env: BTreeMap::from([("LD_PRELOAD".into(), "x".into())]), ..sh("echo a") },
        CommandRequest { env: BTreeMap::from([("PATH".into(), "/tmp".into())]), ..sh("echo a") },
        CommandRequest { env: BTreeMap::from([("COLOUR".into(), "a\0b".into())]), ..sh("echo a") },
        CommandRequest { stdin: Some("not base64!".into()), ..sh("echo a") },
        CommandRequest { stdin: Some(base64url::encode(&[0; 24 * 1024 + 1])), ..sh("echo a") },
        CommandRequest { shell: true, ..sh("echo a") },
        CommandRequest { timeout_ms: 0, ..sh("echo a") },
        CommandRequest { id: "../../x".into(), ..sh("echo a") },
    ] {
        let error = run(&pi, bad.clone()).await.expect_err(&format!("{bad:?}"));
        assert!(matches!(error.code, ErrorCode::PermissionDenied | ErrorCode::InvalidArgument), "{error:?}");
    }
    assert_eq!(run(&pi, sh("echo a")).await.unwrap().stdout.text(), "a\n");
}

#[tokio::test]
async fn nothing_runs_as_root_or_as_whom_nobody_knows() {
    for (user, code) in [("root", ErrorCode::PermissionDenied), ("nobody-knows", ErrorCode::FailedPrecondition)] {
        let pi = real(|settings| settings.exec.user = user.into());
        assert_eq!(run(&pi, sh("true")).await.unwrap_err().code, code, "{user}");
    }
}

#[tokio::test]
async fn links_do_not_lead_out_of_the_roots_and_programs_are_roots() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let root = folder.path().canonicalize().unwrap().join("root");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    symlink("/etc", root.join("out")).unwrap();
    symlink("sub", root.join("within")).unwrap();
    let program = folder.path().join("program");
    std::fs::copy("/bin/sh", &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o777)).unwrap();
    symlink(env!("CARGO_BIN_EXE_raspi-mcp"), folder.path().join("innocent")).unwrap();
    let pi = real(|settings| {
        settings.exec.cwd_roots = vec![root.clone()];
        for name in ["program", "innocent", "absent"] {
            let command = CommandSetting {
                name: name.into(),
                program: folder.path().join(name),
                ..settings.exec.commands[0].clone()
            };
            settings.exec.commands.push(command);
        }
    });
    let at = |cwd: &str| CommandRequest { cwd: Some(cwd.into()), ..sh("pwd") };
    assert_eq!(run(&pi, at("within")).await.unwrap().stdout.text(), format!("{}\n", root.join("sub").display()));
    assert_eq!(run(&pi, at("out")).await.unwrap_err().details["parameter"], "cwd");
    assert_eq!(run(&pi, at("nowhere")).await.unwrap_err().code, ErrorCode::NotFound);
    for (name, code) in [
        ("program", ErrorCode::PermissionDenied),
        ("innocent", ErrorCode::PermissionDenied),
        ("absent", ErrorCode::NotFound),
    ] {
        let error = run(&pi, CommandRequest { command: name.into(), ..sh("pwd") }).await.unwrap_err();
        assert_eq!(error.code, code, "{name}: {error:?}");
    }
}

/// Somebody who may write in the root exchanges the folder for a link all the time.
#[tokio::test]
async fn a_folder_that_is_exchanged_after_the_check_is_not_entered() {
    use std::{os::unix::fs::symlink, sync::atomic::AtomicBool};
    let folder = tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (sub, kept, link) = (root.join("sub"), root.join("kept"), root.join("link"));
    std::fs::create_dir(&sub).unwrap();
    symlink("/etc", &link).unwrap();
    let pi = real(|settings| settings.exec.cwd_roots = vec![root.clone()]);
    // The folders are the account's own, as on a machine.
    std::process::Command::new("chmod").args(["-R", "777"]).arg(&root).status().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let exchanges = std::thread::spawn({
        let (stop, sub) = (Arc::clone(&stop), sub.clone());
        move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                std::fs::rename(&sub, &kept).unwrap();
                std::fs::rename(&link, &sub).unwrap();
                std::fs::rename(&sub, &link).unwrap();
                std::fs::rename(&kept, &sub).unwrap();
            }
        }
    });
    let mut ran = 0;
    for _ in 0..150 {
        if let Ok(end) = run(&pi, CommandRequest { cwd: Some("sub".into()), ..sh("pwd -P") }).await {
            // "kept" is the same folder by its other name.
            assert!(end.stdout.text().starts_with(root.to_str().unwrap()), "{:?}", end.stdout.text());
            ran += 1;
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    exchanges.join().unwrap();
    assert!(ran > 0, "no call met the folder");
}

#[tokio::test]
async fn a_program_that_others_could_replace_is_not_run() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let mode = |path: &std::path::Path, bits| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
    };
    let folder = tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    mode(&top, 0o755);
    let at = |name: &str| top.join(name);
    for (name, bits) in [("open", 0o777), ("group", 0o775), ("sticky", 0o1777), ("closed", 0o755)] {
        std::fs::create_dir_all(at(name).join("below")).unwrap();
        std::fs::copy("/bin/true", at(name).join("below/true")).unwrap();
        mode(&at(name).join("below/true"), 0o755);
        symlink("below/true", at(name).join("link")).unwrap();
        mode(&at(name), bits);
    }
    symlink(at("open").join("link"), at("to-open")).unwrap();
    symlink("closed/../sticky/below/true", at("to-sticky")).unwrap();
    symlink("loop", at("loop")).unwrap();
    std::fs::copy("/bin/true", at("writable")).unwrap();
    mode(&at("writable"), 0o775);
    std::fs::write(at("script"), format!("#! {}/open/below/true -x\n", top.display())).unwrap();
    std::fs::write(at("good-script"), "#!/bin/sh\ntrue\n").unwrap();
    mode(&at("script"), 0o755);
    mode(&at("good-script"), 0o755);
    let mut cases = vec![
        ("open/below/true", Some("/open")),
        ("open/link", Some("/open")),
        ("to-open", Some("/open")),
        ("group/below/true", Some("/group")),
        ("writable", Some("/writable")),
        ("script", Some("/open")),
        ("sticky/below/true", None),
        ("to-sticky", None),
        ("closed/link", None),
        ("good-script", None),
    ];
    if rustix::process::geteuid().is_root() {
        // What belongs to the account that commands run under is that account's to change.
        std::fs::create_dir(at("theirs")).unwrap();
        std::fs::copy("/bin/true", at("theirs/true")).unwrap();
        mode(&at("theirs/true"), 0o755);
        std::os::unix::fs::chown(at("theirs"), Some(65534), Some(65534)).unwrap();
        assert_eq!(at("theirs").metadata().unwrap().uid(), 65534);
        cases.push(("theirs/true", Some("/theirs")));
        // In a sticky folder, a link is its owner's to replace.
        symlink("/bin/true", at("sticky/theirs")).unwrap();
        std::os::unix::fs::lchown(at("sticky/theirs"), Some(65534), None).unwrap();
        cases.push(("sticky/theirs", Some("/sticky/theirs")));
    }
    let pi = real(|settings| {
        for (name, _) in &cases {
            let command =
                CommandSetting { name: name.replace('/', "-"), program: at(name), ..settings.exec.commands[0].clone() };
            settings.exec.commands.push(command);
        }
        let command = CommandSetting { name: "loop".into(), program: at("loop"), ..settings.exec.commands[0].clone() };
        settings.exec.commands.push(command);
    });
    let faults = pi.server().get::<op::status::GetStatus>().await.unwrap().faults;
    for (name, open) in cases {
        let ran = run(&pi, CommandRequest { command: name.replace('/', "-"), args: vec![], ..sh("") }).await;
        match open {
            None => assert!(ran.is_ok(), "{name}: {ran:?}"),
            Some(open) => {
                let error = ran.expect_err(name);
                assert_eq!(error.code, ErrorCode::PermissionDenied, "{name}: {error}");
                assert!(error.message.contains(open), "{name}: {error}");
                assert!(
                    faults.iter().any(|fault| fault.contains(&error.message)),
                    "{name}: said at start: {faults:#?}"
                );
            }
        }
    }
    let error = run(&pi, CommandRequest { command: "loop".into(), args: vec![], ..sh("") }).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[tokio::test]
async fn a_person_approves_exactly_one_command() {
    let pi = real(|settings| {
        settings.policy.modes.remove("exec.run");
    });
    let server = pi.server();
    let args = json!({"command": "sh", "args": ["-c", "cat"], "stdin": "secret words"});
    let recorded = without_input(&args);
    assert!(recorded["stdin"]["sha256"].is_string() && !recorded.to_string().contains("secret words"));
    // A person sees what the command reads, and not its hash alone: it may be a script.
    let mut half = ask("exec.run", args.clone());
    (half.args, half.args_sha256) = (recorded, "0".repeat(64));
    let half_shown = server.call::<op::asks::OpenAsk>(half).await.unwrap();
    pi.says(&half_shown, true).await.unwrap();
    let opened = server.call::<op::asks::OpenAsk>(ask("exec.run", args.clone())).await.unwrap();
    pi.says(&opened, true).await.unwrap();
    let approved = CommandRequest {
        stdin: Some(base64url::encode(b"secret words")),
        authorization: authorization(&args, Some(&opened.id)),
        ..sh("cat")
    };
    let mut unseen = CommandRequest { authorization: authorization(&args, Some(&half_shown.id)), ..approved.clone() };
    unseen.authorization.args_sha256 = "0".repeat(64);
    for lie in [
        unseen,
        CommandRequest { args: vec!["-c".into(), "cat; id".into()], ..approved.clone() },
        CommandRequest { stdin: Some(base64url::encode(b"other words")), ..approved.clone() },
        CommandRequest { stdin: None, ..approved.clone() },
        CommandRequest { env: BTreeMap::from([("COLOUR".into(), "x".into())]), ..approved.clone() },
        CommandRequest { cwd: Some("/".into()), ..approved.clone() },
    ] {
        assert_eq!(run(&pi, lie.clone()).await.expect_err(&format!("{lie:?}")).details["differs"], "arguments");
    }
    assert_eq!(run(&pi, approved.clone()).await.unwrap().stdout.text(), "secret words");
    run(&pi, approved).await.expect_err("an approval is used once");
    assert!(!pi.log().contains("secret words"));
}

/// busybox finds its applet by that name, and Python the folder of its virtual environment.
#[tokio::test]
async fn a_program_runs_by_the_name_that_the_owner_gave() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    std::fs::set_permissions(&top, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = top.join("several-names");
    std::fs::write(&program, "#!/bin/sh\necho $0\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("several-names", top.join("applet")).unwrap();
    let pi = real(|settings| {
        let command =
            CommandSetting { name: "applet".into(), program: top.join("applet"), ..settings.exec.commands[0].clone() };
        settings.exec.commands.push(command);
    });
    let end = run(&pi, CommandRequest { command: "applet".into(), args: vec![], ..sh("") }).await.unwrap();
    assert_eq!(end.stdout.text(), format!("{}\n", top.join("applet").display()));
}

#[tokio::test]
async fn so_many_and_no_more() {
    let pi = real(|settings| settings.exec.max_running = 1);
    let first = sh("sleep 600");
    let (id, server) = (first.id.clone(), pi.server());
    let running = tokio::spawn({
        let server = server.clone();
        async move { server.call_within::<op::commands::RunCommand>(first, PATIENCE).await }
    });
    until("it runs", || !alive(&id).is_empty()).await;
    assert_eq!(run(&pi, sh("true")).await.unwrap_err().code, ErrorCode::ResourceExhausted);
    server.call::<op::commands::StopCommand>(CommandRef { id }).await.unwrap();
    running.await.unwrap().unwrap();
    run(&pi, sh("true")).await.unwrap();
}
