//! `raspi-mcp doctor` on captured machines: well, and with one thing wrong at a time.

mod explain;
mod files;
mod network;
mod update;

use crate::support::trees::Copied;
use agent::{AgentStatus, protocol::PROTOCOL};
use base::{error::ToolError, os::Root};
use contract::config::{self, PlaceSettings, Places, Settings, Sources};
use raspi_mcp::{
    cli::doctor::told,
    doctor::{DoctorReport, Finding, ServerAccount, Severity, Subject, examine},
    notifications::WebhookReport,
};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};
use time::OffsetDateTime;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The number of group gpio on the machine; nobody's files here have it.
const GPIO: u32 = 60_001;

/// A Raspberry Pi 4 with the product installed and running; tests break it.
struct Machine {
    tree: Copied,
    subject: Subject,
}

impl Machine {
    fn well() -> Self {
        let tree = Copied::of("pi-4b");
        let root = tree.root();
        // Files in a test belong to whoever runs it: that user plays the service's account, or root.
        let me = fs::metadata(root.path("")).unwrap().uid();
        tree.write("etc/passwd", format!("root:x:0:0::/root:/bin/sh\nraspi-mcp:x:{}:60000::/:/bin/false\n", me + 7));
        tree.write(
            "etc/group",
            format!("gpio:x:{GPIO}:raspi-mcp\nraspi-mcp-admin:x:60002:ann\nraspi-mcp-approver:x:60003:ann\n"),
        );
        for unit in ["raspi-mcp.service", "raspi-mcp-agent.service"] {
            tree.write(&format!("usr/lib/systemd/system/{unit}"), "");
            tree.link(
                &format!("etc/systemd/system/multi-user.target.wants/{unit}"),
                &format!("/usr/lib/systemd/system/{unit}"),
            );
        }
        for socket in ["run/dbus/system_bus_socket", "run/systemd/journal/socket", "run/systemd/timesync/synchronized"]
        {
            tree.write(socket, "");
        }
        for device in fs::read_dir(root.path("dev")).unwrap() {
            mode(&device.unwrap().path(), 0o666);
        }
        let sources =
            Sources::new(Places { policy_owner: Some(0), ..Places::below(&root.path("elsewhere")) }, Vec::new());
        let subject = Subject {
            settings: config::explain(&sources),
            agent_settings: Some(config::load_agent(&sources)),
            places: sources.places,
            root,
            account: ServerAccount { name: "raspi-mcp".into(), uid: Some(me + 7), is_service: true },
            agent: Ok(status()),
            server: Ok(VERSION.into()),
            server_places: None,
            webhooks: Vec::new(),
            outside: None,
        };
        Self { tree, subject }
    }

    /// Moves its folders into the tree, as this user's.
    fn with_state(mut self, owner: u32) -> Self {
        let mut settings = Settings::default_for(&Places::system());
        settings.places.agent_state_dir = "/var/lib/raspi-mcp-agent".into();
        self.subject.settings = Ok((settings, Vec::new()));
        self.subject.account.uid = Some(owner);
        self.tree.write("var/lib/raspi-mcp/store.db", "");
        self
    }

    fn report(&self) -> DoctorReport {
        examine(&self.subject)
    }

    /// The one thing that is wrong with it.
    fn wrong(&self) -> Finding {
        let mut wrong: Vec<Finding> =
            self.report().findings.into_iter().filter(|each| each.state == Severity::Wrong).collect();
        assert_eq!(wrong.len(), 1, "{wrong:#?}");
        wrong.remove(0)
    }

    fn finding(&self, about: &str) -> Finding {
        self.report().findings.into_iter().find(|finding| finding.about == about).unwrap()
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn status() -> AgentStatus {
    AgentStatus {
        network_change: None,
        version: VERSION.into(),
        protocol: PROTOCOL,
        simulated: false,
        started_ms: 0,
        pending_asks: 0,
        power: None,
        last_power: None,
        audit_head: None,
        faults: Vec::new(),
        places: None,
        halted: None,
        agents_off: Vec::new(),
    }
}

/// A finding in the words of a person: `about: says -> mend`.
fn line(finding: &Finding) -> String {
    format!("{}: {} -> {}", finding.about, finding.says, finding.mend.as_deref().unwrap_or_default())
}

#[test]
fn nothing_is_wrong_with_a_machine_that_is_well() {
    let machine = Machine::well();
    let report = machine.report();
    assert_eq!(report.wrong, 0, "{:#?}", report.findings);
    assert_eq!(
        machine.finding("board").says,
        "Raspberry Pi 4 Model B Rev 1.1: the device tree says raspberrypi,4-model-b"
    );
    assert!(machine.finding("i2c").says.starts_with("/dev/i2c-1 (bcm2835"), "{:?}", machine.finding("i2c"));
    assert_eq!(report.devices.gpio.len(), 2);
    let text = told(&report, false);
    for shown in ["Raspberry Pi 4", "the service, user raspi-mcp", "/dev/gpiochip0", "0 things are wrong", "\nsettings"]
    {
        assert!(text.contains(shown), "{shown}:\n{text}");
    }
}

#[test]
fn a_device_that_its_account_cannot_open_is_wrong_until_its_group_can() {
    let machine = Machine::well();
    let chip = machine.subject.root.path("dev/gpiochip0");
    mode(&chip, 0o660);
    let wrong = line(&machine.wrong());
    assert!(wrong.starts_with("gpio: raspi-mcp may not use /dev/gpiochip0 -> "), "{wrong}");
    assert!(wrong.contains("usermod -aG gpio raspi-mcp"), "{wrong}");
    // The file's group becomes one of the account's.
    let group = fs::metadata(&chip).unwrap().gid();
    machine
        .tree
        .write("etc/group", format!("gpio:x:{group}:raspi-mcp\nraspi-mcp-admin:x:1:ann\nraspi-mcp-approver:x:2:ann\n"));
    assert_eq!(machine.finding("gpio").state, Severity::Ok);
}

#[test]
fn a_bus_without_its_device_file_names_the_module() {
    let machine = Machine::well();
    machine.tree.write("sys/class/i2c-adapter/i2c-7/name", "a bus\n");
    assert_eq!(
        line(&machine.wrong()),
        "i2c: no device files for i2c-7 -> modprobe i2c-dev; the unit's modules-load.d file does it at each start"
    );
}

#[test]
fn pwm_is_in_sysfs_and_its_export_file_decides() {
    let machine = Machine::well();
    machine.tree.write("sys/class/pwm/pwmchip0/npwm", "2\n").write("sys/class/pwm/pwmchip0/export", "");
    let export = machine.subject.root.path("sys/class/pwm/pwmchip0/export");
    mode(&export, 0o666);
    assert_eq!(machine.finding("pwm").says, "/sys/class/pwm/pwmchip0 (channels: 2)");
    mode(&export, 0o200);
    assert!(machine.wrong().says.contains("/sys/class/pwm/pwmchip0"));
}

#[test]
fn a_machine_without_hardware_is_told_how_it_comes_by_it() {
    let machine = Machine::well();
    machine.tree.without("dev/i2c-1").without("dev/i2c-20").without("dev/i2c-21");
    let note = machine.finding("i2c");
    assert_eq!((note.state, note.says.as_str()), (Severity::Note, "none"));
    assert!(note.mend.unwrap().contains("dtparam=i2c_arm=on"));
}

#[test]
fn units_that_are_missing_or_do_not_start_are_wrong_and_without_systemd_there_are_none() {
    let machine = Machine::well();
    machine.tree.without("etc/systemd/system/multi-user.target.wants/raspi-mcp.service");
    assert_eq!(
        line(&machine.wrong()),
        "unit: raspi-mcp.service does not start with the machine -> systemctl enable raspi-mcp.service"
    );
    machine.tree.without("usr/lib/systemd/system/raspi-mcp.service");
    assert!(machine.wrong().says.contains("raspi-mcp.service is not installed"));
    machine.tree.without("run/systemd/system");
    assert_eq!(machine.report().wrong, 0, "another init may start it");
    assert_eq!(machine.finding("unit").state, Severity::Note);
}

#[test]
fn halves_that_do_not_answer_or_are_of_another_version_are_wrong() {
    let mut machine = Machine::well();
    machine.subject.agent = Err(ToolError::unavailable("the agent does not answer").hint("start it"));
    assert_eq!(line(&machine.wrong()), "agent: the agent does not answer -> start it");
    machine.subject.agent = Ok(AgentStatus { version: "0.0.9".into(), ..status() });
    assert!(machine.wrong().says.contains("the agent that runs is 0.0.9"));
    machine.subject.agent = Ok(AgentStatus { faults: vec!["asks.json is unreadable".into()], ..status() });
    assert_eq!(machine.wrong().says, "asks.json is unreadable");
    machine.subject.agent = Ok(status());
    machine.subject.server = Ok("0.0.9".into());
    assert!(machine.wrong().mend.unwrap().contains("systemctl restart raspi-mcp"));
    machine.subject.server = Err(ToolError::unavailable("no server answers"));
    assert_eq!(line(&machine.wrong()), "server: no server answers -> systemctl start raspi-mcp");
}

#[test]
fn halves_that_use_other_places_are_named_key_by_key() {
    let mut machine = Machine::well();
    let ours = machine.subject.settings.as_ref().unwrap().0.places.clone();
    machine.subject.agent = Ok(AgentStatus { places: Some(ours.clone()), ..status() });
    machine.subject.server_places = Some(ours.clone());
    assert_eq!(machine.report().wrong, 0);

    // A server whose unit has a variable that this command has not: what runs counts.
    let moved = PlaceSettings { state_dir: "/srv/state".into(), ..ours.clone() };
    machine.subject.server_places = Some(moved.clone());
    let wrong = machine.wrong();
    let says = format!("places.state_dir is /srv/state for the server and {} for the agent", ours.state_dir.display());
    assert_eq!((wrong.about, wrong.says), ("places", says));
    assert!(wrong.mend.unwrap().contains("set places in the image or in /etc/raspi-mcp"));

    // The agent was moved along.
    machine.subject.agent = Ok(AgentStatus { places: Some(moved), ..status() });
    assert_eq!(machine.report().wrong, 0);
}

#[test]
fn a_server_that_looks_for_its_agent_elsewhere_is_told_so_though_none_answers() {
    let mut machine = Machine::well();
    machine.subject.agent = Err(ToolError::unavailable("the agent does not answer on /elsewhere/agent.sock"));
    machine.subject.settings.as_mut().unwrap().0.places.agent_socket = "/elsewhere/agent.sock".into();
    let findings = machine.report().findings;
    let places = findings.iter().find(|finding| finding.about == "places").expect("the difference is named");
    assert!(places.says.starts_with("places.agent_socket is /elsewhere/agent.sock for the server and "), "{places:?}");
}

#[test]
fn services_it_uses_and_a_clock_that_is_not_set() {
    let machine = Machine::well();
    machine.tree.without("run/dbus/system_bus_socket");
    assert!(line(&machine.wrong()).starts_with("d-bus: no /run/dbus/system_bus_socket: "));
    machine.tree.without("run/systemd/timesync/synchronized");
    let note = machine.finding("clock");
    assert!(note.state == Severity::Note && note.mend.unwrap().contains("timedatectl set-ntp true"));
}

#[test]
fn a_missing_account_and_a_server_that_could_approve_itself_are_wrong() {
    let mut machine = Machine::well();
    machine.tree.write("etc/group", "gpio:x:1:\nraspi-mcp-admin:x:2:\nraspi-mcp-approver:x:3:ann,raspi-mcp\n");
    assert!(line(&machine.wrong()).contains("gpasswd -d raspi-mcp raspi-mcp-approver"));
    assert_eq!(machine.finding("group").state, Severity::Note, "an empty group of administrators");
    machine.tree.write("etc/group", "gpio:x:1:\n");
    assert_eq!(
        machine.finding("group").says,
        "there is no group raspi-mcp-admin; only root is admin on the server's socket"
    );
    machine.subject.account.uid = None;
    assert!(line(&machine.finding("account")).contains("systemd-sysusers"));
}

#[test]
fn where_the_service_was_never_installed_one_note_says_so() {
    let mut machine = Machine::well();
    machine.subject.account.uid = None;
    machine.subject.agent = Err(ToolError::unavailable("nobody answers"));
    machine.subject.server = Err(ToolError::unavailable("nobody answers"));
    assert_eq!(machine.report().wrong, 3, "its units are there: account, server, agent");
    for unit in ["raspi-mcp.service", "raspi-mcp-agent.service"] {
        machine.tree.without(&format!("usr/lib/systemd/system/{unit}"));
    }
    let report = machine.report();
    let notes: Vec<&str> =
        report.findings.iter().filter(|each| each.state == Severity::Note).map(|each| each.about).collect();
    assert_eq!((report.wrong, notes.as_slice()), (0, &["pwm", "service"][..]), "{:#?}", report.findings);
    assert!(line(&machine.finding("service")).contains("not installed as a service"));
}

#[test]
fn a_state_folder_is_its_owners_alone() {
    let me = rustix::process::geteuid().as_raw();
    let machine = Machine::well().with_state(me);
    let folder = machine.subject.root.path("var/lib/raspi-mcp");
    mode(&folder, 0o700);
    assert_eq!(machine.finding("state").state, Severity::Ok, "{:?}", machine.finding("state"));
    for (bits, says) in [(0o770, "others can write"), (0o500, "its owner cannot write")] {
        mode(&folder, bits);
        let finding = line(&machine.finding("state"));
        assert!(finding.contains(says) && finding.contains("chmod 700 /var/lib/raspi-mcp"), "{finding}");
    }
    mode(&folder, 0o700);
    let machine = machine.with_state(me + 1);
    assert!(line(&machine.finding("state")).contains(&format!("chown -R {} /var/lib/raspi-mcp", me + 1)));
    machine.tree.without("var/lib/raspi-mcp").write("var/lib/raspi-mcp", "a file");
    assert!(machine.finding("state").says.contains("is no folder"));
}

#[test]
fn somebodys_own_server_needs_no_units_no_accounts_and_no_agent() {
    let tree = Copied::of("pc");
    let sources = Sources::new(Places::below(Path::new("/nowhere")), Vec::new());
    let offline = || ToolError::unavailable("nobody answers");
    let subject = Subject {
        settings: config::explain(&sources),
        server_places: None,
        webhooks: Vec::new(),
        outside: None,
        agent_settings: None,
        places: sources.places,
        root: tree.root(),
        account: ServerAccount { name: "ann".into(), uid: Some(1000), is_service: false },
        agent: Err(offline()),
        server: Err(offline()),
    };
    let report = examine(&subject);
    assert_eq!(report.wrong, 0, "{:#?}", report.findings);
    assert!(report.board.unwrap().contains("simulated"));
    assert!(!report.findings.iter().any(|finding| finding.about == "unit" || finding.about == "group"));
    // A PC is told nothing but that no server runs.
    let notes: Vec<&str> =
        report.findings.iter().filter(|each| each.state == Severity::Note).map(|each| each.about).collect();
    assert_eq!(notes, ["server"], "{:#?}", report.findings);
}

#[test]
fn a_board_that_is_not_there_is_wrong() {
    let tree = Copied::of("pc");
    let mut machine = Machine::well();
    machine.subject.root = Root::at(tree.root().path(""));
    let mut settings = Settings::default_for(&machine.subject.places);
    settings.board = config::BoardChoice::RaspberryPi;
    machine.subject.settings = Ok((settings, Vec::new()));
    let board = line(&machine.finding("board"));
    assert!(board.contains("there is no device tree") && board.contains("set board in the configuration"), "{board}");
}

#[test]
fn a_webhook_that_takes_nothing_for_long_is_wrong_and_one_that_just_failed_is_not() {
    let mut machine = Machine::well();
    let report = |hours: i64, error: Option<&str>| WebhookReport {
        name: "phone".into(),
        sent: 2,
        failed: 1,
        dropped: 0,
        waiting: 1,
        failing_since: error.map(|_| base::clock::stamp(OffsetDateTime::now_utc() - time::Duration::hours(hours))),
        last_error: error.map(str::to_owned),
    };
    let of = |machine: &Machine| {
        let found = machine.report().findings.into_iter().find(|finding| finding.about == "notifications");
        found.map(|finding| (finding.state, finding.says, finding.mend.unwrap_or_default()))
    };
    assert_eq!(of(&machine), None);
    machine.subject.webhooks = vec![report(0, None)];
    assert_eq!(of(&machine).unwrap().1, "the webhook phone: 2 sent, 1 given up, 0 lost");
    machine.subject.webhooks = vec![report(0, Some("it answered 500"))];
    assert_eq!(of(&machine).unwrap().0, Severity::Note);
    machine.subject.webhooks = vec![report(2, Some("it answered 404"))];
    let (state, says, mend) = of(&machine).unwrap();
    assert_eq!(state, Severity::Wrong);
    assert!(says.contains("it answered 404") && mend.contains("notifications test --to phone"), "{says} {mend}");
}
