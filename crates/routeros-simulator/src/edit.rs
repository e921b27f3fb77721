//! Changes of rows: the same for REST and for scripts.

use crate::{
    check, clock,
    derived::INTERFACES,
    fault::Fault,
    menus::{Menu, Verb},
    state::State,
    table::{Row, RowId},
    timers,
};
use serde_json::{Map, Value};

type Fields = Map<String, Value>;

impl State {
    /// The row that `*1F` or a name means.
    pub fn find(&self, path: &str, what: &str) -> Option<Row> {
        self.rows(path)
            .into_iter()
            .find(|row| row.id.to_string() == what || !what.is_empty() && row.get("name") == what)
    }

    /// Adds a row; before `place-before`, or at the end.
    ///
    /// # Errors
    /// The `detail` of a 400; nothing has changed then.
    pub fn add_row(&mut self, menu: Menu, given: &Fields) -> Result<RowId, String> {
        self.may_write()?;
        let checked = check::parameters(self, menu, Verb::Add, given)?;
        let before = match given.get("place-before").and_then(Value::as_str) {
            Some(place) => {
                Some(self.stored(menu.path).iter().position(|row| row.id.to_string() == place).ok_or("no such item")?)
            }
            None => None,
        };
        let mut row = Row::new(self.new_id(), &[]);
        for (name, value) in checked {
            row.put(&name, value);
        }
        self.complete(menu, &mut row);
        check::unique(self, menu.path, &row)?;
        let id = row.id;
        let rows = self.stored_mut(menu.path);
        let at = before.unwrap_or(rows.len());
        rows.insert(at, row);
        self.wrote(menu.path, id);
        Ok(id)
    }

    /// Changes a row, or a singleton when `id` is `None`.
    ///
    /// # Errors
    /// The `detail` of a 400; nothing has changed then.
    pub fn set_row(&mut self, menu: Menu, id: Option<RowId>, given: &Fields) -> Result<(), String> {
        self.may_write()?;
        let checked = check::parameters(self, menu, Verb::Set, given)?;
        let Some(id) = id else {
            if menu.path == "system/clock" {
                return self.set_date_and_time(&checked);
            }
            let fields = self.singletons.entry(menu.path).or_default();
            fields.extend(checked.into_iter().filter_map(|(name, value)| Some((name, Value::String(value?)))));
            self.writes += 1;
            return Ok(());
        };
        let (path, at) = self.place_of(menu.path, id)?;
        let mut row = self.stored(path)[at].clone();
        if row.is("dynamic") {
            return Err("failure: can not change dynamic item".into());
        }
        let renamed = row.get("name").to_owned();
        for (name, value) in checked {
            row.put(&name, value);
        }
        check::unique(self, path, &row)?;
        let name = row.get("name").to_owned();
        self.stored_mut(path)[at] = row;
        if menu.path.starts_with("interface") && renamed != name {
            self.rename(&renamed, &name);
        }
        self.wrote(path, id);
        Ok(())
    }

    /// Takes the value of one field away.
    ///
    /// # Errors
    /// The `detail` of a 400; nothing has changed then.
    pub fn unset_row(&mut self, menu: Menu, id: RowId, name: &str) -> Result<(), String> {
        self.may_write()?;
        if menu.parameter(Verb::Set, name).is_none() {
            return Err("input does not match any value of value-name".into());
        }
        let (path, at) = self.place_of(menu.path, id)?;
        self.stored_mut(path)[at].fields.remove(name);
        self.wrote(path, id);
        Ok(())
    }

    /// # Errors
    /// The `detail` of a 400; nothing has changed then.
    pub fn remove_row(&mut self, menu: Menu, id: RowId) -> Result<(), String> {
        self.may_write()?;
        let (path, at) = self.place_of(menu.path, id)?;
        let row = &self.stored(path)[at];
        // Entries of an address list with a time are dynamic, and can be taken away.
        if row.is("dynamic") && path != "ip/firewall/address-list" {
            return Err("failure: can not remove dynamic item".into());
        }
        if path == "ip/service" || path == "interface/ethernet" {
            return Err("no such command".into());
        }
        self.stored_mut(path).remove(at);
        self.writes += 1;
        Ok(())
    }

    /// Moves a row before another one, or to the end.
    ///
    /// # Errors
    /// The `detail` of a 400; nothing has changed then.
    pub fn move_row(&mut self, menu: Menu, id: RowId, before: Option<RowId>) -> Result<(), String> {
        self.may_write()?;
        let (path, at) = self.place_of(menu.path, id)?;
        let rows = self.stored_mut(path);
        let to = match before {
            Some(before) => rows.iter().position(|row| row.id == before).ok_or("no such item")?,
            None => rows.len(),
        };
        let row = rows.remove(at);
        rows.insert(if to > at { to - 1 } else { to }, row);
        self.writes += 1;
        Ok(())
    }

    /// Where a row is stored: those of `interface` are in the menus of their kinds.
    fn place_of(&self, path: &'static str, id: RowId) -> Result<(&'static str, usize), String> {
        let kinds = INTERFACES.iter().map(|(kind, _)| *kind);
        let mut paths = std::iter::once(path).chain(kinds.filter(|_| path == "interface"));
        let found = paths.find_map(|path| Some((path, self.stored(path).iter().position(|row| row.id == id)?)));
        let made = self.rows(path).iter().any(|row| row.id == id);
        found.ok_or_else(|| if made { "failure: can not change dynamic item".into() } else { "no such item".into() })
    }

    fn may_write(&self) -> Result<(), String> {
        if self.faults.contains(&Fault::DiskFull) { Err("failure: not enough space on disk".into()) } else { Ok(()) }
    }

    /// What RouterOS fills in.
    fn complete(&mut self, menu: Menu, row: &mut Row) {
        let id = row.id.0;
        let mut default = |name: &str, value: String| {
            row.fields.entry(name).or_insert(Value::String(value));
        };
        if menu.parameter(Verb::Add, "disabled").is_some() {
            default("disabled", "false".into());
        }
        match menu.path {
            "ip/address"
            | "interface/bridge"
            | "interface/bridge/port"
            | "ip/firewall/filter"
            | "ip/firewall/nat"
            | "ip/dhcp-server"
            | "ip/route" => {
                default("dynamic", "false".into());
            }
            _ => {}
        }
        match menu.path {
            "interface/bridge" => {
                default("name", format!("bridge{id}"));
                default("running", "true".into());
                default("vlan-filtering", "false".into());
                default("pvid", "1".into());
            }
            "interface/bridge/port" => default("pvid", "1".into()),
            "ip/route" => {
                default("dst-address", "0.0.0.0/0".into());
                default("distance", "1".into());
                default("routing-table", "main".into());
            }
            "ip/firewall/filter" | "ip/firewall/nat" => {
                default("action", "accept".into());
                for counter in ["bytes", "packets"] {
                    default(counter, "0".into());
                }
            }
            "ip/firewall/address-list" => {
                let timed = row.fields.contains_key("timeout");
                row.set("dynamic", timed.to_string());
            }
            "ip/dhcp-server" => default("name", format!("dhcp{id}")),
            "system/scheduler" => timers::complete(self, row),
            _ => {}
        }
    }

    fn wrote(&mut self, path: &'static str, id: RowId) {
        self.writes += 1;
        if path == "system/scheduler" {
            timers::planned(self, id);
        }
    }

    /// Other rows name an interface by its name, and follow when it changes.
    fn rename(&mut self, from: &str, to: &str) {
        for rows in self.tables.values_mut() {
            for row in rows {
                for field in ["interface", "bridge", "in-interface", "out-interface", "gateway"] {
                    if row.get(field) == from {
                        row.set(field, to);
                    }
                }
            }
        }
    }

    fn set_date_and_time(&mut self, checked: &[(String, Option<String>)]) -> Result<(), String> {
        let shown = clock::date_and_time(self.clock());
        let (mut date, mut time) =
            shown.split_once(' ').map(|(date, time)| (date.to_owned(), time.to_owned())).unwrap_or_default();
        for (name, value) in checked {
            let Some(value) = value else { continue };
            match name.as_str() {
                "date" => date.clone_from(value),
                "time" => time.clone_from(value),
                _ => {
                    self.singletons.entry("system/clock").or_default().insert(name.clone(), value.clone().into());
                }
            }
        }
        let seconds = clock::seconds_of(&date, &time).ok_or("invalid value for argument date")?;
        self.set_clock(seconds);
        self.writes += 1;
        Ok(())
    }
}
