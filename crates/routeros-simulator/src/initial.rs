//! How the router comes (`data/initial.json`): MikroTik's default configuration of a small access point, and some life on it.
//! The password of its users `admin`, `raspi` and `reader` is [`PASSWORD`].

use crate::{menus::Menu, state::State};
use serde_json::{Map, Value};

/// The password of every user.
pub const PASSWORD: &str = "correct horse";

pub(crate) fn fill(state: &mut State) {
    let data: Value =
        serde_json::from_str(include_str!("../data/initial.json")).expect("the data of this crate is JSON");
    let radio = if state.profile.has_wireless() { "wireless" } else { "wifi" };
    for (path, fields) in objects(&data["singletons"]) {
        let menu = Menu::known(path).expect("the data names known menus");
        state.singletons.insert(menu, fields.as_object().expect("fields").clone());
    }
    for (path, rows) in objects(&data["tables"]).chain(objects(&data[radio])) {
        let menu = Menu::known(path).expect("the data names known menus");
        for fields in rows.as_array().expect("rows") {
            let id = state.add(menu, &[]);
            let row = state.stored_mut(menu).iter_mut().find(|row| row.id == id).expect("the row that was added");
            row.fields.clone_from(fields.as_object().expect("fields"));
        }
    }
    of_the_version(state);
    state.tell("system,info", "router rebooted");
    state.tell("interface,info", "ether2 link up (speed 1G, full duplex)");
    state.tell("dhcp,info", "defconf assigned 192.168.88.20 for 5C:AA:FD:00:00:20 porch");
}

fn objects(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn of_the_version(state: &mut State) {
    let profile = state.profile;
    let resource: &mut Map<String, Value> = state.singletons.entry("system/resource").or_default();
    for (name, value) in
        [("version", profile.version()), ("board-name", profile.board()), ("architecture-name", profile.architecture())]
    {
        resource.insert(name.into(), value.into());
    }
    let version = profile.version().split(' ').next().unwrap_or_default();
    for package in state.stored_mut("system/package") {
        package.set("version", version);
    }
}
