//! Bearer tokens in the configuration: by hash, by name, never repeated in an error.

use super::Machine;
use contract::meta::Role;
use time::macros::datetime;

const SITE: &str = "/etc/raspi-mcp/10-site.toml";
const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const OTHER: &str = "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752";

fn token(name: &str, hash: &str, more: &str) -> String {
    format!("[[access.tokens]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nrole = \"ops_rw\"\n{more}\n")
}

#[test]
fn those_of_all_files_count_together() {
    let pi = Machine::new()
        .site(&token("laptop", &HASH.to_uppercase(), "expires = 2027-01-01T00:00:00Z"))
        .file("/etc/raspi-mcp/20-phone.toml", token("phone", OTHER, "expires = \"2027-01-01T01:00:00+01:00\""));
    let tokens = pi.starts().access.tokens;
    assert_eq!(tokens.iter().map(|token| token.name.as_str()).collect::<Vec<_>>(), ["laptop", "phone"]);
    assert_eq!(tokens[0].sha256.hex(), HASH);
    assert_eq!(tokens[0].role, Role::OpsRw);
    assert_eq!(tokens[0].expires, Some(datetime!(2027-01-01 00:00 UTC)));
    assert_eq!(tokens[1].expires, tokens[0].expires);
}

#[test]
fn a_token_may_be_for_some_routers() {
    let devices = |more: &str| Machine::new().site(&token("laptop", HASH, more));
    assert_eq!(devices("devices = [\"edge\", \"attic\"]").starts().access.tokens[0].devices, ["edge", "attic"]);
    assert!(devices("").starts().access.tokens[0].devices.is_empty(), "for all");
    let many = format!("devices = [{}]", "\"a\", ".repeat(101));
    for bad in ["devices = []", "devices = \"edge\"", "devices = [1]", "devices = [\"The Edge\"]", &many] {
        let said = devices(bad).refuses().concat();
        assert!(said.contains("access.tokens.devices must be a list of 1 to 100 routers"), "{bad}: {said}");
    }
}

#[test]
fn what_is_wrong_with_one_is_said_without_repeating_a_secret() {
    let pi = Machine::new().site(
        "[[access.tokens]]\nname = \"My Laptop\"\nsha256 = \"rmcp_this-is-the-secret-itself\"\nrol = \"admin\"\n\
         expires = \"tomorrow\"\n",
    );
    let faults = pi.refuses();
    assert_eq!(
        faults,
        [
            format!("{SITE}:2:8: access.tokens.name must be 1 to 64 characters from a-z, 0-9, \"_\" and \"-\""),
            format!(
                "{SITE}:3:10: access.tokens.sha256 must be the 64 hexadecimal digits of the token's SHA-256, never the token \
                 itself; \"raspi-mcp token new\" prints both"
            ),
            format!("{SITE}:4:1: unknown key \"rol\" in [[access.tokens]]; did you mean \"role\"?"),
            format!("{SITE}:5:11: access.tokens.expires must be a moment with its zone, like 2027-01-31T12:00:00Z"),
            format!("{SITE}:1:1: this token has no role; every [[access.tokens]] needs name, sha256 and role"),
        ]
    );
    assert!(!faults.concat().contains("rmcp_"));
    let plain = Machine::new().site("[access]\ntokens = \"rmcp_secret\"\n").refuses().concat();
    assert!(plain.contains("not a text") && !plain.contains("rmcp_"), "{plain}");
}

#[test]
fn owners_are_names_of_tokens_and_of_accounts() {
    let ann = token("laptop", HASH, "owner = \"ann\"");
    let access =
        Machine::new().site(&format!("[access]\nowners = [\"uid:1000=ann\", \"stdio=bob\"]\n{ann}")).starts().access;
    assert_eq!(access.tokens[0].owner.as_deref(), Some("ann"));
    assert_eq!(
        ["uid:1000", "stdio", "uid:1001"].map(|account| access.owners.of(account)),
        [Some("ann"), Some("bob"), None]
    );
    let faults = Machine::new().site(&token("laptop", HASH, "owner = \"Ann B\"")).refuses();
    assert_eq!(
        faults,
        [format!("{SITE}:5:9: access.tokens.owner must be 1 to 64 characters from a-z, 0-9, \"_\" and \"-\"")]
    );
    let faults = Machine::new().site("[access]\nowners = [\"loopback=ann\"]\n").refuses().concat();
    assert!(
        faults.starts_with(&format!("{SITE}:2:11: access.owners must be")) && faults.contains("loopback=ann"),
        "{faults}"
    );
    // The server cannot make itself somebody's.
    let state =
        Machine::new().file("/var/lib/raspi-mcp/conf.d/10.toml", "[access]\nowners = [\"uid:1000=ann\"]\n").starts();
    assert!(state.access.owners.of("uid:1000").is_none() && !state.restricted.is_empty());
}

#[test]
fn names_and_secrets_differ() {
    let pi = Machine::new().site(&token("laptop", HASH, "")).file("/etc/raspi-mcp/20.toml", token("laptop", OTHER, ""));
    assert_eq!(
        pi.refuses(),
        ["/etc/raspi-mcp/20.toml:1:10: there is a token named \"laptop\" already; names must differ"]
    );
    let pi = Machine::new().site(&(token("laptop", HASH, "") + &token("phone", HASH, "")));
    assert_eq!(
        pi.refuses(),
        [format!("{SITE}:1:10: the tokens laptop and phone are the same secret; make each its own")]
    );
}

#[test]
fn the_summary_and_the_debug_form_have_no_hashes() {
    let settings = Machine::new().site(&token("laptop", HASH, "")).starts();
    let summary = settings.summary();
    assert_eq!(
        summary["access"]["tokens"],
        serde_json::json!([{ "name": "laptop", "role": "ops_rw", "expires": null }])
    );
    assert!(!summary.to_string().contains(&HASH[..8]));
    assert!(!format!("{settings:?}").contains(&HASH[..8]));
}
