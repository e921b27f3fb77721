//! The table of keys, tested as data: complete, described, true to its own bounds, and its documents current.

use super::Machine;
use contract::config::{
    Places, Settings, docs,
    keys::{InState, KEYS, NAMESPACES, SECTIONS, section_of},
};
use contract::meta::{Mode, Tier};
use raspi_mcp::registry::Registry;
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

#[test]
fn every_setting_has_a_key_and_every_key_a_setting() {
    let defaults = Settings::default_for(&Places::system()).summary();
    let mut settings = BTreeSet::new();
    for (name, value) in defaults.as_object().expect("an object") {
        match value {
            Value::Object(section) if name != "policy" => {
                settings.extend(section.keys().map(|key| format!("{name}.{key}")));
            }
            _ => drop(settings.insert(name.clone())),
        }
    }
    settings.remove("restricted");
    let keys: BTreeSet<String> = KEYS.iter().map(|key| key.name.to_owned()).collect();
    assert_eq!(settings, keys);
    assert_eq!(keys.len(), KEYS.len(), "names are unique");
}

#[test]
fn every_key_is_described_and_lives_in_a_section() {
    for key in KEYS {
        assert!(key.doc.ends_with('.') && key.doc.len() > 15, "{} needs a sentence", key.name);
        let section = section_of(key.name);
        assert!(SECTIONS.iter().any(|one| one.name == section), "{} has no section", key.name);
    }
    let order: Vec<&str> = KEYS.iter().map(|key| section_of(key.name)).collect();
    let mut sections = order.clone();
    sections.dedup();
    assert_eq!(
        sections,
        SECTIONS.iter().map(|section| section.name).collect::<Vec<_>>(),
        "keys stand by section, in order"
    );
}

impl Machine {
    /// The line of the default file that sets `key`, with the folders of this machine.
    fn default_line(&self, key: &str) -> String {
        let wanted = key.rsplit('.').next().map(|name| format!("#{name} = ")).expect("a name");
        let file = docs::default_file();
        let below = match key.split_once('.') {
            Some((section, _)) => {
                file.split_once(&format!(
                    "
[{section}]
"
                ))
                .expect("the section")
                .1
            }
            None => &file,
        };
        let value = below.lines().find_map(|line| line.strip_prefix(&wanted)).expect("in the default file");
        format!(
            "{key} = {}
",
            self.here(value)
        )
    }

    /// Full paths of an appliance, below this machine's folder; what the image has for all to read is where it is.
    fn here(&self, text: &str) -> String {
        let here = self.path("/").display().to_string().trim_end_matches('/').to_owned();
        text.replace("\"/", &format!("\"{here}/")).replace(&format!("\"{here}/usr/share/"), "\"/usr/share/")
    }
}

#[test]
fn every_default_is_within_its_own_bounds() {
    for key in KEYS.iter().filter(|key| key.name != "policy" && !key.kind.is_tables()) {
        let pi = Machine::new();
        let untouched = pi.starts();
        let line = pi.default_line(key.name);
        assert_eq!(pi.site(&line).starts(), untouched, "a default set by hand changes nothing: {line}");
    }
}

#[test]
fn what_a_state_fragment_may_set_it_may_set_to_what_holds() {
    for key in KEYS.iter().filter(|key| key.name != "policy" && !key.kind.is_tables()) {
        let pi = Machine::new();
        let line = pi.default_line(key.name);
        let settings = pi.state(&line).starts();
        let allowed = match key.in_state {
            InState::Never => false,
            InState::Off => line.ends_with("= false\n"),
            _ => true,
        };
        assert_eq!(!settings.is_restricted(), allowed, "{line}: {:?}", settings.restricted);
    }
}

#[test]
fn the_default_file_with_every_line_switched_on_changes_nothing() {
    let pi = Machine::new();
    let untouched = pi.starts();
    let file = docs::default_file();
    let lines = file.lines().map(|line| match line.strip_prefix('#') {
        Some(setting) if !setting.starts_with(' ') => format!(
            "{setting}
"
        ),
        _ => format!(
            "{line}
"
        ),
    });
    let text = pi
        .here(&lines.collect::<String>())
        .replace("<64 hexadecimal digits; raspi-mcp token new prints them>", &"0".repeat(64));
    let mut settings = pi.site(&text).starts();
    assert_eq!(settings.access.tokens.drain(..).map(|token| token.name).collect::<Vec<_>>(), ["laptop"], "the example");
    assert_eq!(settings.files.roots.drain(..).map(|root| root.name).collect::<Vec<_>>(), ["data"], "the example");
    let commands: Vec<_> = settings.exec.commands.drain(..).map(|command| command.name).collect();
    assert_eq!(commands, ["disk-usage"], "the example");
    assert_eq!(settings.agents.drain(..).map(|agent| agent.name).collect::<Vec<_>>(), ["greenhouse"], "the example");
    assert_eq!(settings.routeros.drain(..).map(|router| router.name).collect::<Vec<_>>(), ["edge"], "the example");
    assert_eq!(settings.i2c.buses.drain(..).map(|bus| bus.bus).collect::<Vec<_>>(), [1], "the example");
    assert_eq!(settings.spi.devices.drain(..).map(|device| device.bus).collect::<Vec<_>>(), [0], "the example");
    assert_eq!(settings.serial.ports.drain(..).map(|port| port.name).collect::<Vec<_>>(), ["ttyUSB0"], "the example");
    assert_eq!(
        settings.tools.allow.drain(..).map(|grant| grant.tool).collect::<Vec<_>>(),
        ["gpio.write_pin"],
        "the example"
    );
    let webhooks: Vec<_> = settings.notifications.webhooks.drain(..).map(|webhook| webhook.name).collect();
    assert_eq!(webhooks, ["phone"], "the example");
    assert_eq!(settings.policy.remove("system.reboot"), Some(Mode::Ask), "the example");
    assert_eq!(settings, untouched);
}

#[test]
fn every_namespace_that_writes_can_be_enabled() {
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows().filter(|entry| entry.meta.tier != Tier::Fundamental)
    {
        assert!(NAMESPACES.contains(&entry.meta.namespace()), "{} could never be switched on", entry.name());
    }
}

#[test]
fn the_documents_are_current() {
    current("docs/configuration.md", &docs::markdown());
    current("dist/raspi-mcp.toml", &docs::default_file());
}

/// `BLESS=1` rewrites a stale document.
fn current(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
        fs::write(&path, text).expect("the document is written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{name} is stale: run the tests once with BLESS=1 and commit it");
}
