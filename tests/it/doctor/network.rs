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
