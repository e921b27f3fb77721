//! `[update]`: what may be written there, and what the server may change of it.

use super::Machine;
use contract::config::Flow;

const SITE: &str = "/etc/raspi-mcp/10-site.toml";

fn refused(text: &str, words: &str) {
    let faults = Machine::new().site(&format!("[update]\n{text}\n")).refuses();
    assert!(faults.len() == 1 && faults[0].contains(words) && faults[0].starts_with(SITE), "{text}: {faults:?}");
}

fn starts(text: &str) {
    Machine::new().site(&format!("[update]\n{text}\n")).starts();
}

#[test]
fn nothing_is_asked_and_nothing_is_fetched_unless_it_is_set() {
    let pi = Machine::new();
    let update = pi.starts().update;
    assert!(update.url.is_empty() && update.mirrors.is_empty() && !update.automatic);
    assert_eq!((update.check_interval_hours, update.dead_man_hours), (0, 0));
    assert_eq!(update.spool_dir, pi.path("/var/lib/raspi-mcp/update"));
    assert_eq!((update.flow, update.channel.as_str()), (Flow::Auto, "stable"));
    assert!(update.window.is_always() && update.download_window.is_always());
}

#[test]
fn each_key_has_its_bounds_and_names_itself() {
    refused("product = \"\"", "update.product must be");
    refused("product = \"a b\"", "update.product must be");
    refused("channel = \"../beta\"", "update.channel must be");
    refused("channel = 5", "update.channel must be");
    refused("ring = \"a/b\"", "update.ring must be");
    for pin in ["1.2", "v1.2.3", "1.2.3.4", "1.2.x", "1.2.3 ", "1.2.3/..", "1..3"] {
        refused(&format!("pin = \"{pin}\""), "update.pin must be a version");
    }
    for url in ["http://x.org/", "ftp://x", "https://", "https://u@x.org/", "https://x.org/?a", "https:///x", "x.org"] {
        refused(&format!("url = \"{url}\""), "update.url must look like");
        refused(&format!("url = \"https://x.org\"\nmirrors = [\"{url}\"]"), "update.mirrors must be");
    }
    for proxy in ["proxy:3128", "socks5://p:1", "http://", "http://a b"] {
        refused(&format!("proxy = \"{proxy}\""), "update.proxy must look like");
    }
    refused("ca_file = \"ca.pem\"", "update.ca_file must be a full path");
    refused("layout = \"layout.toml\"", "update.layout must be a full path");
    refused("trust = \"/a/../b\"", "update.trust must be a full path");
    refused("flow = \"grub\"", "update.flow must be");
    for window in ["always", "02:00", "monday 02:00-05:00", "25:00-26:00"] {
        refused(&format!("window = [\"{window}\"]"), "update.window must be");
        refused(&format!("download_window = [\"{window}\"]"), "update.download_window must be");
    }
    refused("bandwidth_kib = -1", "update.bandwidth_kib");
    refused("stall_seconds = 1", "update.stall_seconds");
    refused("stall_bytes = 0", "update.stall_bytes");
    refused("deadline_hours = 0", "update.deadline_hours");
    refused("spool_reserve_bytes = -1", "update.spool_reserve_bytes");
    refused("health_deadline_seconds = 5", "update.health_deadline_seconds");
    refused("health_commands = [\"check\"]", "update.health_commands must be");
    refused("health_units = [\"nginx\"]", "update.health_units must be");
    refused("health_units = [\"ng*.service\"]", "name each service");
    for url in ["http://example.org/", "http://localhost.example.org/", "file:///etc/passwd", "https://a@b/"] {
        refused(&format!("health_urls = [\"{url}\"]"), "update.health_urls must be");
    }
    refused("dead_man_hours = 9000", "update.dead_man_hours");
    refused("installs_per_day = 0", "update.installs_per_day");
    refused("check_interval_hours = 721", "update.check_interval_hours");
}

#[test]
fn what_is_fine_alone_may_not_fit_together() {
    refused("check_interval_hours = 6", "needs update.url");
    refused("dead_man_hours = 6", "needs update.url");
    refused("mirrors = [\"https://m.org\"]", "which is empty");
    refused("url = \"https://x.org\"\nautomatic = true", "set update.check_interval_hours");
    refused("flow = \"custom\"", "needs update.flow_command");
    refused("flow_command = \"/usr/bin/flow\"", "only for update.flow");
    refused("flow = \"custom\"\nflow_command = \"flow\"", "must be a full path");
    starts("flow = \"custom\"\nflow_command = \"/usr/libexec/flow\"");
    starts(
        "url = \"https://x.org:8443/pi/\"\nmirrors = [\"https://[::1]/m\"]\ncheck_interval_hours = 6\nautomatic = true\n\
         pin = \"1.4.2-rc.1\"\nring = \"early\"\nwindow = [\"mon-fri 02:00-05:00\", \"sat,sun 23:00-04:00\"]\n\
         proxy = \"http://me:secret@proxy.lan:3128\"\nca_file = \"/etc/raspi-mcp/ca.pem\"\n\
         health_urls = [\"https://example.org/a?b=c\", \"http://localhost:8080/\", \"http://[::1]\"]",
    );
}

#[test]
fn blocks_lie_in_a_folder_of_their_own() {
    for folder in ["/etc/x", "/usr/share/x", "/run", "/dev/shm", "/sys"] {
        refused(&format!("spool_dir = \"{folder}\""), "give it a folder of its own");
    }
    for folder in ["/var/lib/raspi-mcp", "/var/lib", "/var/lib/raspi-mcp-agent/spool"] {
        let pi = Machine::new();
        let text = format!("[update]\nspool_dir = \"{}\"\n", pi.path(folder).display());
        let faults = pi.site(&text).refuses();
        assert!(faults[0].contains("give it a folder of its own"), "{folder}: {faults:?}");
    }
}

#[test]
fn a_password_of_a_proxy_is_shown_to_nobody() {
    let settings = Machine::new().site("[update]\nproxy = \"http://me:secret@proxy.lan:3128\"\n").starts();
    let shown = settings.summary().to_string();
    assert!(shown.contains("proxy.lan:3128") && !shown.contains("secret"), "{shown}");
    let faults = Machine::new().site("[update]\nproxy = \"socks://me:secret@proxy.lan:3128\"\n").refuses();
    assert!(!faults[0].contains("secret"), "{faults:?}");
}

#[test]
fn the_server_cannot_choose_whom_it_believes() {
    let site = "[update]\nurl = \"https://x.org\"\ncheck_interval_hours = 6\nautomatic = true\ndeadline_hours = 24\n";
    let narrowed = Machine::new().site(site).state("[update]\nautomatic = false\ndeadline_hours = 3\n").starts();
    assert_eq!((narrowed.update.automatic, narrowed.update.deadline_hours), (false, 3));
    for wider in [
        "url = \"https://evil.org\"",
        "trust = \"/tmp/root.json\"",
        "ca_file = \"/tmp/ca.pem\"",
        "product = \"other\"",
        "channel = \"beta\"",
        "health_deadline_seconds = 3600",
        "deadline_hours = 25",
        "installs_per_day = 100",
    ] {
        let settings = Machine::new().site(site).state(&format!("[update]\n{wider}\n")).starts();
        assert!(settings.is_restricted(), "{wider}");
        assert_eq!(settings.update.url, "https://x.org");
    }
}
