//! Runs statements.

use super::parse::{Command, Expression, Piece, Statement};
use crate::{
    menus::Menu,
    rights::Rights,
    state::State,
    table::{Row, RowId},
    timers,
};
use serde_json::{Map, Value};

pub(super) struct Running<'a> {
    pub state: &'a mut State,
    pub policy: &'a str,
    pub output: String,
}

impl Running<'_> {
    pub fn block(&mut self, statements: &[Statement]) -> Result<(), String> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), String> {
        match statement {
            Statement::Do { body, on_error } => match (self.block(body), on_error) {
                (Err(_), Some(on_error)) => self.block(on_error),
                (done, _) => done,
            },
            Statement::Builtin { name, arguments } => {
                let texts: Vec<String> = arguments.iter().map(|one| self.text(one, "")).collect::<Result<_, _>>()?;
                match name.as_str() {
                    "put" => {
                        self.output.push_str(&texts.join(" "));
                        self.output.push('\n');
                    }
                    "log" => self.state.tell(
                        &format!("script,{}", texts.first().map_or("info", String::as_str)),
                        texts.get(1).map_or("", String::as_str),
                    ),
                    _ => return Err(texts.join(" ")),
                }
                Ok(())
            }
            Statement::Command(command) => self.command(command).map(|_| ()),
        }
    }

    fn text(&mut self, expression: &Expression, menu: &str) -> Result<String, String> {
        match expression {
            Expression::Command(command) => self.inner(command, menu),
            Expression::Text(pieces) => {
                let mut text = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Literal(literal) => text.push_str(literal),
                        // Nothing sets one: it is empty.
                        Piece::Variable(_) => {}
                        Piece::Command(command) => text.push_str(&self.inner(command, menu)?),
                    }
                }
                Ok(text)
            }
        }
    }

    /// A command in brackets: `find` is that of the menu around it.
    fn inner(&mut self, command: &Command, menu: &str) -> Result<String, String> {
        if command.path == "find" {
            return self.command(&Command { path: format!("{menu}/find"), arguments: command.arguments.clone() });
        }
        self.command(command)
    }

    /// Runs a command; the value is that in brackets: ids with `;` for `find`.
    fn command(&mut self, command: &Command) -> Result<String, String> {
        let (path, name) = command.path.rsplit_once('/').unwrap_or(("", &command.path));
        if let ("", "export") = (path, name) {
            let text = crate::export::text(self.state, "");
            self.output.push_str(&text);
            return Ok(String::new());
        }
        if (path, name) == ("system", "reboot") {
            self.needs("reboot")?;
            timers::reboot(self.state);
            return Ok(String::new());
        }
        let menu = self.state.menu(path).ok_or_else(|| format!("bad command name {path}"))?;
        if name == "export" {
            let text = crate::export::text(self.state, path);
            self.output.push_str(&text);
            return Ok(String::new());
        }
        if !menu.has(name) {
            return Err(format!("bad command name {name}"));
        }
        let mut named = Map::new();
        let mut which = Vec::new();
        let mut found = None;
        for (argument, value) in &command.arguments {
            let value = match (argument.as_deref(), value) {
                (None, Expression::Command(find)) => {
                    let ids = self.inner(find, path)?;
                    found.get_or_insert(());
                    which.extend(ids.split(';').filter(|id| !id.is_empty()).map(str::to_owned));
                    continue;
                }
                (_, value) => self.text(value, path)?,
            };
            match argument.as_deref() {
                Some("numbers") => which.push(value),
                Some(argument) => {
                    named.insert(argument.to_owned(), value.into());
                }
                None => which.push(value),
            }
        }
        if name == "find" {
            return self.find(menu, &named, &which);
        }
        self.needs(if path.starts_with("user") { "policy" } else { "write" })?;
        let ids = self.ids(menu, &which)?;
        self.write(menu, name, &named, &ids, found.is_some())
    }

    fn find(&self, menu: Menu, named: &Map<String, Value>, words: &[String]) -> Result<String, String> {
        if let Some(word) = words.iter().find(|word| !matches!(word.as_str(), "where" | "and")) {
            return Err(format!("syntax error: {word} in find is not simulated"));
        }
        let fits = |row: &Row| {
            named.iter().all(|(name, value)| {
                let (value, negated) = (value.as_str().unwrap_or_default(), name.ends_with('!'));
                let is = row.get(name.trim_end_matches('!'));
                (is == value || matches!((is, value), ("true", "yes") | ("false" | "", "no"))) != negated
            })
        };
        let ids: Vec<String> =
            self.state.rows(menu.path).iter().filter(|row| fits(row)).map(|row| row.id.to_string()).collect();
        Ok(ids.join(";"))
    }

    fn ids(&self, menu: Menu, which: &[String]) -> Result<Vec<RowId>, String> {
        let of =
            |what: &String| self.state.find(menu.path, what).map(|row| row.id).ok_or_else(|| "no such item".to_owned());
        which.iter().map(of).collect()
    }

    fn write(
        &mut self,
        menu: Menu,
        name: &str,
        named: &Map<String, Value>,
        ids: &[RowId],
        by_find: bool,
    ) -> Result<String, String> {
        if menu.is_singleton() && name == "set" {
            return self.state.set_row(menu, None, named).map(|()| String::new());
        }
        if ids.is_empty() && !by_find && name != "add" {
            return Err("missing value(s) of argument(s) numbers".into());
        }
        match name {
            "add" => return self.state.add_row(menu, named).map(|id| id.to_string()),
            "remove" => ids.iter().try_for_each(|id| self.state.remove_row(menu, *id))?,
            "set" => ids.iter().try_for_each(|id| self.state.set_row(menu, Some(*id), named))?,
            "unset" => {
                let field = named
                    .get("value-name")
                    .and_then(Value::as_str)
                    .ok_or("missing value(s) of argument(s) value-name")?;
                ids.iter().try_for_each(|id| self.state.unset_row(menu, *id, field))?;
            }
            "enable" | "disable" => {
                let mut disabled = Map::new();
                disabled.insert("disabled".into(), (name == "disable").to_string().into());
                ids.iter().try_for_each(|id| self.state.set_row(menu, Some(*id), &disabled))?;
            }
            "move" => {
                let before = match named.get("destination").and_then(Value::as_str) {
                    Some(place) => Some(self.state.find(menu.path, place).ok_or("no such item")?.id),
                    None => None,
                };
                ids.iter().try_for_each(|id| self.state.move_row(menu, *id, before))?;
            }
            _ => return Err(format!("{name} in a script is not simulated")),
        }
        Ok(String::new())
    }

    fn needs(&self, right: &str) -> Result<(), String> {
        if Rights::of(self.policy).has(right) { Ok(()) } else { Err("not enough permissions (9)".into()) }
    }
}
