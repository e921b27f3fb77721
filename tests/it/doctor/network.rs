//! A server that is open to the network: what it needs for that, there and missing.

use super::Machine;
use crate::support::served::{issuer, token};
use appliance::certificate;
use contract::{config::Settings, meta::Role};
use raspi_mcp::doctor::Severity;

impl Machine {
    fn settings(&mut self) -> &mut Settings {
        &mut self.subject.settings.as_mut().expect("understood").0
    }

    fn about(&self, about: &str) -> Vec<(Severity, String)> {
        let findings = self.report().findings;
        findings
            .into_iter()
            .filter(|finding| finding.about == about)
            .map(|finding| (finding.state, finding.says))
            .collect()
    }
}

#[test]
fn a_loopback_server_needs_none_of_it() {
    let machine = Machine::well();
    assert!(machine.about("certificate").is_empty() && machine.about("JWT keys").is_empty());
    assert!(machine.about("token").is_empty());
}

#[test]
fn a_certificate_is_looked_at() {
    let mut machine = Machine::well();
    let settings = machine.settings();
    settings.tls.enabled = true;
    settings.tls.certificate = "/srv/tls/certificate.pem".into();
    settings.tls.key = "/srv/tls/key.pem".into();
    let (state, says) = machine.about("certificate").remove(0);
    assert!(state == Severity::Wrong && says.contains("raspi-mcp tls init"), "{says}");

    let mut there = machine.settings().tls.clone();
    there.certificate = machine.subject.root.path("srv/tls/certificate.pem");
    there.key = machine.subject.root.path("srv/tls/key.pem");
    let made = certificate::init(&there, vec!["pi.local".into()], false).unwrap();
    assert_eq!(machine.about("certificate"), [(Severity::Ok, format!("clients pin {}", made.fingerprint))]);
}

#[test]
fn a_loopback_server_that_answers_from_outside_is_told() {
    let mut machine = Machine::well();
    machine.settings().http.listen = "127.0.0.1:8765".parse().unwrap();
    assert!(machine.about("outside").is_empty(), "{:?}", machine.about("outside"));
    machine.subject.outside = Some(raspi_mcp::authentication::outside::OutsideReport {
        requests: 7,
        last_at: "2026-11-29T12:00:00.000Z".into(),
        sign: "the header cf-connecting-ip".into(),
    });
    let (state, says) = machine.about("outside").remove(0);
    assert!(state == Severity::Note && says.contains("7 requests") && says.contains("cf-connecting-ip"), "{says}");
    machine.subject.outside = None;
    machine.settings().http.allowed_hosts = vec!["localhost".into(), "pi.example".into()];
    let (state, says) = machine.about("outside").remove(0);
    assert!(
        state == Severity::Wrong && says.contains("answers to pi.example") && says.contains("there is none"),
        "{says}"
    );
    machine.settings().access.tokens = vec![token("laptop", Role::Admin).1];
    assert_eq!(machine.about("outside").remove(0).0, Severity::Note);
    // One that forwards bare TCP cannot be told from programs of this machine.
    machine.settings().http.allowed_hosts = Vec::new();
    machine.tree.write("proc/4242/stat", "4242 (cloudflared) S 1 4242 4242 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 9 0 100 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
    let (state, says) = machine.about("outside").remove(0);
    assert!(state == Severity::Note && says.contains("cloudflared runs") && says.contains("8765"), "{says}");
    machine.settings().access.require_token = true;
    assert!(machine.about("outside").is_empty());
    // Beyond loopback everybody needs a token anyway.
    machine.settings().access.require_token = false;
    machine.settings().http.listen = "0.0.0.0:8765".parse().unwrap();
    assert!(machine.about("outside").is_empty());
}

#[test]
fn keys_and_tokens_are_looked_at() {
    let mut machine = Machine::well();
    let (_, mut old) = token("old", Role::Admin);
    old.expires = Some(time::OffsetDateTime::UNIX_EPOCH);
    let settings = machine.settings();
    settings.access.tokens = vec![token("laptop", Role::Admin).1, old];
    settings.jwt.issuer = issuer::NAME.into();
    settings.jwt.keys_file = "/etc/raspi-mcp/jwks.json".into();
    assert_eq!(machine.about("token"), [(Severity::Note, "old has expired and is refused".to_owned())]);
    assert_eq!(machine.about("JWT keys").remove(0).0, Severity::Wrong);
    machine.tree.write("etc/raspi-mcp/jwks.json", issuer::Issuer::new().jwks().to_string());
    assert_eq!(machine.about("JWT keys").remove(0).0, Severity::Ok);
}
