//! The menus of RouterOS 7.21.4 as its console tells them: commands, fields, and what `add` and `set` take.

use crate::profile::Profile;
use serde_json::{Value, json};
use std::sync::LazyLock;

static MENUS: LazyLock<Value> = LazyLock::new(|| {
    let mut data: Value = serde_json::from_str(include_str!("../data/routeros-7.21.4-menus.json"))
        .expect("the data of this crate is JSON");
    let menus = data["menus"].as_object_mut().expect("the data has menus");
    for (path, menu) in older() {
        menus.insert(path.into(), menu);
    }
    data
});

/// The old wireless package and the board, which the data of 7.21.4 do not have. From MikroTik's manual, only what is asked for.
fn older() -> [(&'static str, Value); 7] {
    let table = ["add", "disable", "enable", "export", "find", "get", "print", "remove", "set"];
    let read = ["find", "get", "print"];
    let wireless = json!({
        "name": { "desc": "string value" }, "ssid": { "desc": "string value, max length 32" }, "master-interface": {},
        "mode": { "enum": ["ap-bridge", "bridge", "station", "station-bridge", "wds-slave"] },
        "band": { "enum": ["2ghz-b", "2ghz-b/g", "2ghz-b/g/n", "2ghz-g/n", "2ghz-onlyn", "5ghz-a", "5ghz-a/n", "5ghz-a/n/ac", "5ghz-onlyac"] },
        "frequency": {}, "channel-width": {}, "tx-power": {}, "tx-power-mode": { "enum": ["default", "all-rates-fixed", "card-rates", "manual-table"] },
        "security-profile": {}, "hide-ssid": { "enum": ["no", "yes"] }, "disabled": { "enum": ["no", "yes"] }, "comment": { "desc": "string value" },
    });
    let profile = json!({
        "name": { "desc": "string value" }, "mode": { "enum": ["dynamic-keys", "none", "static-keys-optional", "static-keys-required"] },
        "authentication-types": {}, "wpa2-pre-shared-key": { "desc": "string value" }, "comment": { "desc": "string value" },
    });
    [
        (
            "interface/wireless",
            json!({ "commands": table, "fields": [], "add": wireless, "set": with_numbers(&wireless) }),
        ),
        (
            "interface/wireless/security-profiles",
            json!({ "commands": table, "fields": [], "add": profile, "set": with_numbers(&profile) }),
        ),
        ("interface/wireless/registration-table", json!({ "commands": read, "fields": [] })),
        ("caps-man/remote-cap", json!({ "commands": read, "fields": [] })),
        ("caps-man/registration-table", json!({ "commands": read, "fields": [] })),
        ("user/active", json!({ "commands": read, "fields": [] })),
        ("system/routerboard", json!({ "commands": ["get", "print"], "fields": [] })),
    ]
}

fn with_numbers(parameters: &Value) -> Value {
    let mut with = parameters.clone();
    with["numbers"] = json!({});
    with
}

/// A menu of one version.
#[derive(Clone, Copy)]
pub(crate) struct Menu {
    pub path: &'static str,
    profile: Profile,
    data: &'static Value,
}

/// Of `add` or `set`: what it takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Add,
    Set,
}

impl Menu {
    pub fn of(profile: Profile, path: &str) -> Option<Self> {
        let (path, data) = MENUS["menus"].as_object()?.get_key_value(path)?;
        profile.has_menu(path).then_some(Self { path, profile, data })
    }

    /// The path of a menu that some version has.
    pub fn known(path: &str) -> Option<&'static str> {
        MENUS["menus"].as_object()?.get_key_value(path).map(|(path, _)| path.as_str())
    }

    pub fn has(&self, command: &str) -> bool {
        self.data["commands"].as_array().is_some_and(|all| all.iter().any(|known| known == command))
    }

    /// An object instead of a list, such as `system/identity`. `system/health` is a list of sensors all the same.
    pub fn is_singleton(&self) -> bool {
        !self.has("find") && self.path != "system/health"
    }

    /// What `verb` takes for `name`, if it takes it: `enum`, `desc` or nothing.
    pub fn parameter(&self, verb: Verb, name: &str) -> Option<&'static Value> {
        let takes = match verb {
            Verb::Add => &self.data["add"],
            Verb::Set => &self.data["set"],
        };
        takes.get(name).filter(|_| self.profile.has_parameter(self.path, name))
    }

    /// Whether a listing may have it: for filters and `.proplist`.
    pub fn has_field(&self, name: &str) -> bool {
        let fields = self.data["fields"].as_array();
        name == ".id"
            || self.profile.has_parameter(self.path, name)
                && (fields.is_none_or(Vec::is_empty) || fields.is_some_and(|all| all.iter().any(|field| field == name)))
    }

    /// All menus below `path` and itself, in the order of the data; all of them for an empty path.
    pub fn below(profile: Profile, path: &str) -> impl Iterator<Item = Self> {
        let folder = format!("{path}/");
        let all = MENUS["menus"].as_object().expect("menus").keys();
        let here =
            move |known: &&String| folder == "/" || **known == folder[..folder.len() - 1] || known.starts_with(&folder);
        all.filter(here).filter_map(move |known| Self::of(profile, known))
    }
}
