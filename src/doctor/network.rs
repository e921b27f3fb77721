//! Prerequisites of a server in the network: a valid certificate, keys to verify callers, tokens that have not expired.

use super::{Finding, Subject};
use crate::{authentication::jwt::Keys, tls::shown::ServedCertificate};
use contract::config::{Settings, Tls, TokenSetting};
use std::{fs, io, path::Path};
use time::OffsetDateTime;

pub(super) fn check(subject: &Subject, settings: &Settings) -> Vec<Finding> {
    let here = |path: &Path| subject.root.path(&path.to_string_lossy());
    let mut findings = Vec::new();
    if settings.http.enabled && settings.tls.enabled {
        let tls = Tls { certificate: here(&settings.tls.certificate), key: here(&settings.tls.key), ..settings.tls };
        findings.push(certificate(&tls));
    }
    if settings.jwt.is_on() {
        let about = "JWT keys";
        findings.push(match Keys::read(&here(&settings.jwt.keys_file)) {
            Ok(_) => Finding::ok(about, format!("those of {} are there", settings.jwt.issuer)),
            Err(why) => Finding::wrong(about, why, "put the issuer's public keys there, as a JWK set"),
        });
    }
    let now = OffsetDateTime::now_utc();
    let expired = |token: &&TokenSetting| token.expires.is_some_and(|expires| expires <= now);
    findings.extend(settings.access.tokens.iter().filter(expired).map(|token| {
        Finding::note(
            "token",
            format!("{} has expired and is refused", token.name),
            "take it out, or make a new one with \"raspi-mcp token new\"",
        )
    }));
    findings
}

fn certificate(tls: &Tls) -> Finding {
    let about = "certificate";
    match fs::File::open(&tls.key) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Finding::note(about, "this user may not look at the key, as it should be", "run doctor as root to check it")
        }
        _ => match ServedCertificate::load(tls) {
            Ok(shown) => Finding::ok(about, format!("clients pin {}", shown.now().fingerprint)),
            Err(why) => Finding::wrong(about, why, "mend it, or make a new pair: raspi-mcp tls init --replace"),
        },
    }
}
