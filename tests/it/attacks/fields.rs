//! Bad input on every field of every tool: a clear refusal that names the field, nothing changed, and a record of it.

use crate::{
    contract::{oracle::oracle, probe},
    support::served::{Door, Pi, calls},
};
use contract::{config::Settings, meta::Mode};
use raspi_mcp::{audit::AuditFilter, registry::Registry};
use serde_json::{Value, json};

/// What somebody would try who wants out of a field: of a path, an option, a unit's name, a shell word, a line, a C string.
const STRINGS: &[&str] = &[
    "",
    "\0",
    "a\0b",
    "..",
    "../../../../etc/shadow",
    "/etc/shadow",
    "/proc/self/root/etc/shadow",
    "a/../../b",
    "-h",
    "--help",
    "--root=/",
    "; reboot",
    "$(reboot)",
    "`reboot`",
    "a b",
    "a\nb",
    "x.service\nExecStart=/bin/sh",
    "ssh.service/../x.service",
    "*.service",
    "-.mount",
    "raspi-mcp.service",
    "dbus.service",
    "\u{202e}",
    "%00",
    "%2e%2e/",
    "..\\..\\",
    "🥧",
    "NaN",
    "1e999",
];

fn hostile() -> Vec<Value> {
    let mut values: Vec<Value> = STRINGS.iter().map(|text| json!(text)).collect();
    values.push(json!("x".repeat(100_000)));
    values.extend([
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(0.5),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"$ref": "#"}),
        json!(vec!["x"; 2_000]),
    ]);
    values
}

/// Every tool on, nobody asked, and no end of calls.
fn open(settings: &mut Settings) {
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows() {
        settings.tools.enable.insert(entry.meta.namespace().to_owned());
        settings.policy.insert(entry.name().to_owned(), Mode::Allow);
    }
    (settings.limits.reads_per_minute, settings.limits.writes_per_minute) = (1_000_000, 1_000_000);
}

#[tokio::test]
async fn every_field_of_every_tool() {
    let pi = Pi::standard(open).await;
    let mut wire = pi.on(Door::Stdio).await;
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows() {
        let (name, schema) = (entry.name(), entry.input_schema());
        let executed = oracle(&schema);
        let mut tried = 0;
        let fewest = probe::good(&schema)[0].clone();
        for field in schema["properties"].as_object().unwrap().keys().filter(|field| *field != "dry_run") {
            for value in hostile() {
                let mut args = fewest.clone();
                if entry.meta.dry_run {
                    args["dry_run"] = json!(true);
                }
                args[field] = value;
                tried += 1;
                let shown: String = args.to_string().chars().take(200).collect();
                let answer = wire.call(name, args.clone()).await;
                let result = answer.result();
                if result["isError"] == true {
                    let error = answer.error();
                    let code = error["error_code"].as_str().unwrap();
                    assert!(!matches!(code, "internal" | "timeout" | "cancelled"), "{name} {shown}: {error}");
                    let message = error["message"].as_str().unwrap();
                    assert!((8..700).contains(&message.len()), "{name} {shown}: an error is no mirror: {error:.900}");
                    assert_ne!(answer.meta()["changed"], true, "{name} {shown}: refused, and changed something");
                }
                // What may be left out counts as left out where it is null.
                let is_absent = args[field].is_null() && fewest.get(field).is_none();
                if is_absent {
                    args.as_object_mut().unwrap().remove(field);
                }
                if !executed.is_valid(&args) {
                    let error = answer.failed("invalid_argument");
                    let path = error["details"]["path"].as_str().unwrap();
                    assert!(path.starts_with(&format!("/{field}")), "{name} {shown}: {error}");
                    assert!(error["details"]["parameter"].as_str().unwrap().starts_with(field.as_str()), "{error}");
                }
            }
        }
        let audit = &pi.server().pipeline.services.audit;
        let filter = AuditFilter { tool: Some(name.into()), ..AuditFilter::default() };
        let (recorded, _) = audit.recent(filter, 1000, 0).await.unwrap();
        assert_eq!(calls(recorded.iter()), tried, "{name}: every try is on record, refused ones too");
    }
}
