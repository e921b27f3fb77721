//! What may listen beyond this machine: TLS, and somebody to know callers by, or nothing.

use super::Machine;

const SITE: &str = "/etc/raspi-mcp/10-site.toml";
const TOKEN: &str = "[[access.tokens]]\nname = \"laptop\"\nrole = \"ops_rw\"\n\
    sha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"\n";
const JWT: &str = "[jwt]\nissuer = \"https://issuer.example\"\naudience = \"https://pi.example/mcp\"\n";

fn refused(text: &str, answers: &[&str]) {
    let answers: Vec<String> = answers.iter().map(|answer| format!("{SITE}:{answer}")).collect();
    assert_eq!(Machine::new().site(text).refuses(), answers, "to {text}");
}

#[test]
fn beyond_loopback_it_takes_tls_and_a_token() {
    let no_tls = "http.listen = \"0.0.0.0:8765\" reaches beyond this machine, which needs TLS: run \"raspi-mcp tls init\" and set \
                  tls.enabled = true, or listen on 127.0.0.1 and come through an SSH tunnel";
    let nobody = "http.listen = \"0.0.0.0:8765\" reaches beyond this machine, and nobody could be known there: \"raspi-mcp token \
                  new\" makes a token and its lines for this configuration";
    let listen = "[http]\nlisten = \"0.0.0.0:8765\"\n";
    refused(listen, &[&format!("2:1: {no_tls}"), &format!("2:1: {nobody}")]);
    refused(&format!("{TOKEN}{listen}"), &[&format!("6:1: {no_tls}")]);
    refused(&format!("{listen}[tls]\nenabled = true\n"), &[&format!("2:1: {nobody}")]);
    for known in [TOKEN, JWT] {
        let settings = Machine::new().site(&format!("{listen}[tls]\nenabled = true\n{known}")).starts();
        assert_eq!((settings.http.listen.port(), settings.tls.enabled), (8765, true));
    }
    Machine::new().site(&format!("{listen}enabled = false\n")).starts();
}

#[test]
fn every_way_to_say_loopback_is_loopback_and_no_other() {
    for listen in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:99", "[::ffff:127.0.0.1]:5"] {
        let settings = Machine::new().site(&format!("[http]\nlisten = \"{listen}\"\n")).starts();
        assert_eq!(settings.http.listen.to_string(), listen);
    }
    for listen in ["[::]:1", "192.168.1.5:1", "[::ffff:192.168.1.5]:1", "[fe80::1]:1"] {
        assert_eq!(Machine::new().site(&format!("[http]\nlisten = \"{listen}\"\n")).refuses().len(), 2, "{listen}");
    }
}

#[test]
fn a_flag_or_a_variable_opens_it_no_further() {
    let by_flag = Machine::new().flag("--http", "http.listen", "0.0.0.0:1").refuses();
    assert!(by_flag.len() == 2 && by_flag.iter().all(|fault| fault.starts_with("--http: ")), "{by_flag:?}");
    let by_variable = Machine::new().variable("RASPI_MCP__HTTP__LISTEN", "0.0.0.0:1").refuses();
    assert!(by_variable.len() == 2, "{by_variable:?}");
}

#[test]
fn a_demand_that_nobody_can_meet_is_refused() {
    refused(
        "[access]\nrequire_token = true\n",
        &["2:1: access.require_token = true, and there is no token to bring: \"raspi-mcp token new\" makes one"],
    );
    Machine::new().site(&format!("access.require_token = true\n{JWT}")).starts();
    refused(
        "[jwt]\nissuer = \"https://issuer.example\"\n",
        &[
            "2:1: jwt.issuer needs jwt.audience and jwt.role_claim beside it: a token made for another server must not count here",
        ],
    );
}

#[test]
fn the_certificate_lies_in_the_state_folder_and_the_keys_in_the_site() {
    let pi = Machine::new();
    let settings = pi.starts();
    assert_eq!(settings.tls.key, pi.path("/var/lib/raspi-mcp/tls/key.pem"));
    assert_eq!(settings.tls.certificate, pi.path("/var/lib/raspi-mcp/tls/certificate.pem"));
    assert_eq!(settings.jwt.keys_file, pi.path("/etc/raspi-mcp/jwks.json"));
}
