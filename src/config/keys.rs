//! The one table of keys. Parsing, bounds, suggestions, `docs/configuration.md` and the default file all read it.

use super::kind::{Kind, Unit};

/// One setting a person can write.
#[derive(Debug)]
pub struct Key {
    /// `section.key`, or the key alone at the top level. `policy` stands for every `policy.<tool>`.
    pub name: &'static str,
    pub kind: Kind,
    /// What a fragment in the state folder may do with it.
    pub in_state: InState,
    /// One or two sentences for a person, ending with a full stop.
    pub doc: &'static str,
}

/// What the server may do to itself: a fragment it wrote can narrow what the image and the site said, nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InState {
    /// Not allowed there.
    Never,
    /// Allows or forbids nothing, so it may be set.
    Free,
    /// A number no larger than the one in force.
    Lower,
    /// Only `false`.
    Off,
    /// Some of the names in force.
    Fewer,
    /// More names, added to those in force.
    More,
    /// A stricter mode than the one in force.
    Stricter,
}

impl InState {
    /// How the documentation says it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Never => "no",
            Self::Free => "yes",
            Self::Lower => "only lower",
            Self::Off => "only `false`",
            Self::Fewer => "only fewer",
            Self::More => "added to the others",
            Self::Stricter => "only stricter",
        }
    }
}

/// Namespaces of tools, also of those that come later: configuration written for a newer version names them too.
pub const NAMESPACES: &[&str] =
    &["system", "metrics", "network", "service", "process", "gpio", "i2c", "camera", "logs", "manage", "files", "exec"];

/// A section of the file and what the documentation says above its keys. The first one is the top level.
pub const SECTIONS: &[(&str, &str)] = &[
    ("", "Top level: these come first in a file, before any `[section]`."),
    ("http", "Streamable HTTP, plain JSON-RPC and WebSocket on one port."),
    ("tls", "TLS on the port of `[http]`: 1.2 and 1.3, on ring."),
    ("socket", "The unix socket; callers are known by their user and group."),
    ("limits", "What one server does at once, and for one caller."),
    ("access", "Who is who. Roles, each including the ones before: `read_only`, `ops_rw`, `admin`."),
    ("jwt", "Tokens made by somebody else: JSON Web Tokens, signed with EdDSA, ES256 or RS256."),
    ("tools", "Which tools there are. A fresh server only reads."),
    ("policy", "What happens when a tool is called by somebody who may call it: one line a tool."),
    ("approval", "How long a question to a person stays open, and who may carry it."),
    ("service", "Which services `service.*` may touch."),
    ("places", "Folders and sockets. Full paths."),
    ("audit", "The record of who did what."),
    ("metrics", "Samples that jobs take of this machine."),
    ("log", "What the server says about itself."),
    ("files", "The folders of `files.*`. Without one, those tools reach nothing."),
    ("process", "Processes that `process.send_signal` leaves alone, beside the first one, the kernel's and our own."),
    ("exec", "The commands of `exec.run`. Without one, it runs nothing."),
    (
        "gpio",
        "The pins of `gpio.*`, by their Broadcom numbers. Without one, those tools reach nothing on a real board.",
    ),
    ("i2c", "The devices of `i2c.*`. Without one, a real board's buses are only listed."),
    ("camera", "Which cameras `camera.*` may use, and what is kept of their photos."),
    (
        "update",
        "Updates of the whole system, with a way back: where releases come from, when, and how one proves itself. The privileged half \
         reads its own configuration for what it decides by.",
    ),
    ("claim", "How an appliance fresh from the flash gets its owner (docs/claim.md)."),
];

const KIB: i64 = 1024;
const MIB: i64 = 1024 * KIB;
const GIB: i64 = 1024 * MIB;
/// Roles, weakest first.
pub const ROLES: Kind = Kind::Choice(&["read_only", "ops_rw", "admin"]);

const fn count(min: i64, max: i64) -> Kind {
    Kind::Integer { min, max, unit: Unit::Count }
}
const fn seconds(min: i64, max: i64) -> Kind {
    Kind::Integer { min, max, unit: Unit::Seconds }
}
const fn bytes(min: i64, max: i64) -> Kind {
    Kind::Integer { min, max, unit: Unit::Bytes }
}
const fn key(name: &'static str, kind: Kind, in_state: InState, doc: &'static str) -> Key {
    Key { name, kind, in_state, doc }
}

use InState::{Fewer, Free, Lower, More, Never, Off, Stricter};

/// Every key, by section, in the order of the documentation.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("board", Kind::Choice(&["auto", "raspberry-pi", "linux", "simulated"]), Never,
        "The hardware. `auto` takes a Raspberry Pi or another board by its device tree, and simulates one on anything else, but never where an image with slots has started."),
    key("agent", Kind::Choice(&["auto", "socket", "inprocess"]), Never,
        "How the privileged half is reached. `inprocess` needs a simulated board; `auto` is `inprocess` there and `socket` elsewhere."),
    key("tool_names", Kind::Choice(&["auto", "dotted", "underscored"]), Free,
        "Form of the names that `tools/list` gives. `auto` is `underscored` (`gpio_write_pin`) except for clients known to take dots. Calls take both."),
    key("environment", Kind::Choice(&["prod", "staging", "lab"]), Never,
        "Where this machine stands; some tools are confined to some of these."),

    key("http.enabled", Kind::Bool, Off, "Whether to listen on HTTP at all."),
    // Never in a state fragment: the server must not open itself to a network.
    key("http.listen", Kind::Address, Never,
        "Address and port. Beyond loopback it needs `tls.enabled` and a way to know callers: a token, or `[jwt]`."),
    key("http.allowed_hosts", Kind::Hosts, Never,
        "Names accepted in the `Host` header beside the loopback ones, and with TLS the machine's own, those in the \
         certificate and the address a request came to. Guards against DNS rebinding."),
    key("http.allowed_origins", Kind::Origins, Never,
        "Web pages that may call, as `Origin` gives them, beside those on loopback."),
    key("http.session_limit", count(1, 1024), Lower,
        "Sessions at once, half of them for one caller; one more takes the place of one unused for 30 seconds, or is refused."),
    key("http.session_idle_seconds", seconds(10, 86_400), Lower,
        "A session nobody used for so long is ended."),
    key("http.body_timeout_seconds", seconds(1, 120), Lower,
        "How long a sender may take over one request body."),
    key("http.max_connections", count(1, 1024), Lower,
        "TCP connections at once, half of them for one caller. One address beyond loopback gets a quarter of them."),
    key("http.metrics", Kind::Bool, Off,
        "Whether `/metrics` answers, in Prometheus' text format, to whoever may call tools."),

    key("tls.enabled", Kind::Bool, Never, "Whether HTTP is spoken through TLS. Needed beyond loopback."),
    key("tls.certificate", Kind::File, Never,
        "Certificate and chain, PEM. `raspi-mcp tls init` makes one. Changed files count from the next connection on."),
    key("tls.key", Kind::File, Never, "Its private key, PEM. Only the server's user may read it."),

    key("socket.enabled", Kind::Bool, Off, "Whether to listen on the unix socket."),
    key("socket.path", Kind::SocketPath, Never, "Where it is. By default `mcp.sock` in `places.runtime_dir`."),
    key("socket.max_connections", count(1, 1024), Lower, "Connections at once, half of them for one caller."),

    key("limits.max_concurrent_requests", count(1, 1000), Lower,
        "Calls that run at once, half of them for one caller. Calls that wait or stream by design are counted apart."),
    key("limits.max_waiting_requests", count(0, 10_000), Lower,
        "Calls that may wait for their turn, half of them for one caller; one more is refused at once."),
    key("limits.max_streams", count(1, 1000), Lower, "Long waits and streams at once, half of them for one caller."),
    key("limits.max_request_bytes", bytes(KIB, 16 * MIB), Lower, "Longest request; a longer one is refused unread."),
    key("limits.max_response_bytes", bytes(KIB, 64 * MIB), Lower, "Longest answer; a longer one becomes an error."),
    key("limits.request_timeout_seconds", seconds(1, 600), Lower,
        "Longest run of one call. Tools may have a shorter one of their own."),
    key("limits.reads_per_minute", count(1, 1_000_000), Lower, "Calls that change nothing, for one caller and tool; also refused calls, for one caller and all tools (60 at least)."),
    key("limits.writes_per_minute", count(1, 1_000_000), Lower, "Calls that change something, for one caller and tool."),
    key("limits.shutdown_grace_seconds", seconds(0, 60), Lower,
        "How long calls in flight may take to finish when the server stops; then they are cancelled."),
    key("limits.max_depth", count(8, 512), Lower, "How deep arrays and objects of a request may nest."),

    key("access.stdio_role", ROLES, Never, "Role of whoever started the server with `--stdio`."),
    key("access.loopback_role", ROLES, Never, "Role of a caller on loopback that brings no token."),
    key("access.require_token", Kind::Bool, Never,
        "Whether HTTP callers on loopback must bring a token too. Beyond loopback everybody must."),
    key("access.admin_group", Kind::Account, Never,
        "Members of this group are `admin` on the unix socket, as root is; others are `read_only`."),
    key("access.approver_group", Kind::Account, Never, "Members of this group may answer `raspi-mcp approve`, as root may."),
    key("access.owners", Kind::Owners, Never,
        "Which accounts are one person's or program's: `uid:1000=ann`, `user:ann=ann`, `jwt:SUBJECT=ann`, `stdio=ann`; a token has `owner`. \
         One owner holds pins at every door, and has one caller's share of everything; the audit keeps both names."),
    key("access.tokens", Kind::Tokens, Never,
        "Bearer tokens, one `[[access.tokens]]` each. Those of all files count together; only files can hold them."),

    key("jwt.issuer", Kind::Text, Never, "The `iss` that is believed. Empty: no JWT is."),
    key("jwt.audience", Kind::Text, Never,
        "What `aud` must hold: the address clients know this server by, like \"https://pi.local:8765/mcp\"."),
    key("jwt.keys_file", Kind::File, Never,
        "The issuer's public keys, a JWK set: Ed25519, P-256, or RSA of 2048 to 8192 bits. Read again when it changes; never \
         fetched."),
    key("jwt.role_claim", Kind::Text, Never,
        "The claim that holds the role: `read_only`, `ops_rw` or `admin`, alone or in a list, or in a `scope` with spaces between. The highest counts."),
    key("jwt.clock_skew_seconds", seconds(0, 300), Lower, "How far the issuer's clock and this one may be apart."),

    key("tools.enable", Kind::Namespaces, Fewer,
        "Namespaces whose writing tools are on. Everything else only reads."),
    key("tools.disable", Kind::ToolsOrNamespaces, More, "Tools and whole namespaces that are off: what they are there for is denied, whichever tool does it."),

    key("tools.allow", Kind::Grants, Never,
        "Tools opened one at a time, by `raspi-mcp allow` (docs/allow.md). An entry opens its tool's namespace and the entries of its lists \
         for that tool alone; `for` lets callers have it whatever their role. `tools.disable` and `policy` stay above it."),

    key("policy", Kind::Mode, Stricter,
        "Of a tool or an action (`camera:capture`): `allow` runs it, `ask` runs it once a person has approved this very call, \
         `deny` refuses it. The name of a tool stands for what it is there for, so the word holds for every tool that does it; of \
         several the strictest counts. \
         `raspi-mcp tools --policy` prints what holds without any line here."),

    key("approval.wait_seconds", seconds(0, 300), Lower,
        "How long a call waits for the person; after that it answers that approval is pending and can be repeated."),
    key("approval.expire_seconds", seconds(30, 3600), Lower, "How long a question, or a yes that was not used, stays good."),
    key("approval.elicitation_clients", Kind::Clients, Never,
        "Clients, by the name they give themselves, whose own dialogue counts as the person's answer. \
         Some clients answer it by themselves, hence none."),
    key("approval.button_pin", count(0, 27), Never,
        "A button that approves the one call that waits when it is held for two seconds: its GPIO, or 0 for none. The agent \
         alone has it, and no tool. Whoever can reach the button can approve, without a name in the record."),
    key("approval.button_active", Kind::Choice(&["low", "high"]), Never,
        "The level while it is pressed. `low`: a button to ground, with the pull-up inside the chip; `high`: one to 3.3 V."),
    key("approval.led_pin", count(0, 27), Never,
        "An LED beside the button: its GPIO, or 0 for none. Slow blinking: one call waits; on: the hold is counted; fast \
         blinking: the button cannot answer, `raspi-mcp approve` can."),

    key("service.allow", Kind::Services, Fewer,
        "Services that tools may start, stop, restart, reload, enable and disable. None unless named; on a simulated machine all of \
         its own. What the device cannot do without (this server, its agent, D-Bus, systemd, logins, its network) is protected whatever stands here."),

    key("places.state_dir", Kind::Folder, Never, "What the server keeps: samples, audit, its own fragments."),
    key("places.runtime_dir", Kind::Folder, Never, "The server's socket and what may vanish at a restart."),
    key("places.agent_state_dir", Kind::Folder, Never, "What the privileged half keeps."),
    key("places.agent_socket", Kind::SocketPath, Never, "Where the privileged half listens."),

    key("audit.max_bytes", bytes(MIB, 4 * GIB), Never,
        "Size of the record; beyond it the oldest part goes, behind a checkpoint that carries the chain on. One caller's part of a week is an eighth."),

    key("metrics.max_bytes", bytes(MIB, GIB), Lower,
        "What all samples together may take; beyond it the oldest of the largest job go before their time."),
    key("metrics.default_job", Kind::Bool, Off,
        "Whether the service on a real board samples all metrics by itself, once a minute, and keeps them for 48 hours: the job \
         `default`, which no call stops. It writes about 2.8 MB to the card a day, and keeps 0.1 MB. Not over stdio or on a simulated board."),

    key("log.level", Kind::Choice(&["error", "warn", "info", "debug", "trace"]), Free, "The least severe lines kept."),
    key("log.target", Kind::Choice(&["auto", "journal", "stderr"]), Never,
        "`auto` is the journal under systemd and stderr elsewhere."),
    key("log.ring_lines", count(10, 100_000), Lower, "Lines kept in memory for `logs.get_recent_app_logs`."),

    key("files.roots", Kind::Roots, Never,
        "Folders, one `[[files.roots]]` each; relative paths begin in the first. None may overlap another, state, \
         configuration, `/run`, `/dev`, `/proc` or `/sys`. As a service, a writable one also needs `ReadWritePaths=` in a \
         drop-in (`systemctl edit raspi-mcp`)."),
    key("process.protected", Kind::Processes, More,
        "Names (`comm`) of processes that get no signal: what keeps the machine up and reachable."),

    key("exec.user", Kind::Account, Never,
        "The account commands run under: one of its own, never root's or the server's."),
    key("exec.cwd_roots", Kind::Folders, Never,
        "Folders that commands may run and write in; they begin in the first, or in `/` without any."),
    key("exec.shell", Kind::Bool, Never,
        "Whether `shell: true` may hand a whole line to `/bin/sh`. Then the list of commands bounds nothing."),
    key("exec.max_output_bytes", bytes(KIB, 256 * KIB), Lower,
        "Kept of a command's output, and as much of its errors: the first half and the last. What lay between is counted."),
    key("exec.max_running", count(1, 16), Lower, "Commands at once."),
    key("exec.commands", Kind::Commands, Never,
        "What may be run, one `[[exec.commands]]` each. Patterns are regular expressions that match whole arguments: `args` \
         the first, second, …; `more_args` all further ones; `options` those that begin with `-`."),

    key("gpio.allow", Kind::Pins, Fewer,
        "Pins that may be used. None unless named; on a simulated board 2 to 27. 0 and 1 are never: add-on boards identify \
         themselves there."),
    key("gpio.chip", Kind::Text, Never,
        "The GPIO chip whose line numbers are those of the pins: its label or device file. Empty: the header's on a \
         Raspberry Pi, elsewhere the first one."),
    key("gpio.safe_low", Kind::Pins, Never,
        "Pins that are driven low whenever nobody uses them, from the server's start to its end. All others are inputs then."),
    key("gpio.safe_high", Kind::Pins, Never, "The same, driven high."),
    key("gpio.revert", Kind::Choice(&["previous", "invert"]), Never,
        "What follows a level that was written with a duration: the one before it, or its opposite."),
    key("gpio.pwm", Kind::PwmPins, Never,
        "Hardware PWM that is routed to a pin, where that is not known by itself: on other boards than Raspberry Pis, and where the \
         registers of the pins cannot be read. The device of `/sys/class/pwm/pwmchipN`, and the channel."),

    key("i2c.buses", Kind::I2cBuses, Never,
        "Devices that may be reached, one `[[i2c.buses]]` for some of a bus. A read that names a register first sends that byte: \
         list a part without registers (a port expander, a multiplexer) only where any byte may be sent to it."),

    key("camera.allow", Kind::Cameras, Fewer,
        "Cameras that pictures may be taken with, by path, name or place as `camera.list_cameras` shows them; `*` is all. None \
         unless named; on a simulated board all of its own."),
    key("camera.dir", Kind::Folder, Never,
        "Where photos are kept; by default `photos` in `places.state_dir`. Made when the first is taken. As a service, a folder \
         elsewhere also needs `ReadWritePaths=` in a drop-in (`systemctl edit raspi-mcp`)."),
    key("camera.max_photos", count(1, 100_000), Lower, "Photos that are kept; the oldest go first. Other files there are left alone."),
    key("camera.max_bytes", bytes(MIB, 1024 * GIB), Lower, "What all photos together may take."),
    key("camera.max_age_days", count(1, 36_500), Lower,
        "Photos older than so many days go when the next one is taken."),
    key("camera.warmup_frames", count(0, 120), Free,
        "Frames that are let go before one is kept, so that exposure and colours have settled."),
    key("camera.public_url", Kind::Text, Never,
        "Address of this server as others see it, like \"https://pi.local:8765\": photos are at `/photos/` there, for callers \
         with a token. Empty: `public_url` is null."),

    key("update.product", Kind::Text, Never, "What this machine's images are of. Bundles of another product are refused."),
    key("update.layout", Kind::File, Never, "Which partition is what: the one list of their identities."),
    key("update.flow", Kind::Choice(&["auto", "tryboot", "uboot", "custom"]), Never,
        "How the board is told which slot to start. `auto` finds out; `custom` runs `update.flow_command`."),
    key("update.flow_command", Kind::Text, Never,
        "The program of the flow `custom`: its full path. docs/boot.md says what it is called with. Else empty."),
    key("update.trust", Kind::File, Never,
        "The root of trust that came with the image: whose signatures count. Later ones are accepted by its rules."),
    key("update.url", Kind::Text, Never,
        "Where the channels' files are, like \"https://updates.example.org/pi\": any web space. Empty: nothing is ever asked."),
    key("update.mirrors", Kind::Urls, Never, "Other places with the same files. Each is tried when those before it fail."),
    key("update.channel", Kind::Text, Never, "The channel releases are taken from: `stable`, `beta` or another that is published there."),
    key("update.ring", Kind::Text, Never, "The ring this device is in, for releases that go out ring by ring. Empty: none."),
    key("update.pin", Kind::Text, Never, "The one version that is wanted, like \"1.4.2\". Empty: the newest."),
    key("update.check_interval_hours", count(0, 720), Never, "How often the channel is asked; 0: only when somebody asks."),
    key("update.automatic", Kind::Bool, Off, "Whether what a check finds is installed without being asked for."),
    key("update.window", Kind::Windows, Never,
        "When an automatic update may begin and restart the machine, in local time. None: at any time."),
    key("update.download_window", Kind::Windows, Never,
        "When updates may be fetched, in local time, for lines that cost by the hour. None: at any time."),
    key("update.bandwidth_kib", count(0, 1_000_000), Never, "The most KiB a second that a download takes; 0: no limit."),
    key("update.proxy", Kind::Text, Never,
        "Proxy for updates, like \"http://proxy.lan:3128\"; variables of the environment are not looked at. Empty: none."),
    key("update.ca_file", Kind::Text, Never,
        "Certificates (PEM) of the authorities that vouch for the servers of updates, in place of the system's. Empty: the system's."),
    key("update.stall_seconds", seconds(5, 3600), Never,
        "A connection that brings less than `stall_bytes` in so long is given up, and another one tried."),
    key("update.stall_bytes", bytes(1, 16 * MIB), Never, "See `stall_seconds`."),
    key("update.deadline_hours", count(1, 720), Lower, "The longest that one download may take, with all its pauses; what is here then is kept."),
    key("update.spool_dir", Kind::Folder, Never,
        "Where blocks wait until all are here; by default `update` in `places.state_dir`. As a service, a folder elsewhere also needs \
         `ReadWritePaths=` in a drop-in (`systemctl edit raspi-mcp`)."),
    key("update.spool_reserve_bytes", bytes(0, 1024 * GIB), Never, "What the blocks there leave free of their file system."),
    key("update.health_deadline_seconds", seconds(30, 900), Never, "How long a new system has to prove itself; then the old one starts again."),
    key("update.health_units", Kind::Services, Never, "Services that must be active in a new system, beside those that were in the old one."),
    key("update.health_commands", Kind::Programs, Never, "Programs that must end with 0 in a new system, run as `exec.user`, without arguments."),
    key("update.health_urls", Kind::Probes, Never, "Addresses that must answer with success (2xx) in a new system."),
    key("update.dead_man_hours", count(0, 8760), Never,
        "When no verified word came from the channel for so long after an update, the system before it is started again, once. 0: never."),
    key("update.installs_per_day", count(1, 100), Never, "The most installations the privileged half begins in 24 hours."),

    key("claim.window_minutes", count(1, 1440), Never, "How long after power-on the code is taken that the machine shows."),
    key("claim.led", Kind::Text, Never,
        "The LED that blinks until then, by its name in `/sys/class/leds`. Empty: none."),
];

/// The key called `name`; for `policy.<tool>` that is `policy`.
pub fn find(name: &str) -> Option<&'static Key> {
    let wanted = if name.starts_with("policy.") { "policy" } else { name };
    KEYS.iter().find(|key| key.name == wanted)
}

/// Whether keys live below `name`.
pub fn is_section(name: &str) -> bool {
    SECTIONS.iter().any(|(section, _)| !section.is_empty() && *section == name)
}

/// The part before the dot, or nothing for a top-level key.
pub fn section_of(name: &'static str) -> &'static str {
    match name.split_once('.') {
        Some((section, _)) => section,
        None if is_section(name) => name,
        None => "",
    }
}
