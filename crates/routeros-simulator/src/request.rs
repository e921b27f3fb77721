//! A request of the REST API, and what RouterOS answers (MikroTik's manual, "REST API").

use crate::{
    commands,
    menus::Menu,
    state::State,
    table::{Row, RowId},
};
use serde_json::{Map, Value, json};

/// A request as it comes out of HTTP.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET`, `PUT`, `PATCH`, `DELETE` or `POST`.
    pub method: String,
    /// Below `/rest/`, such as `ip/address/*1`.
    pub path: String,
    /// The part after `?`, decoded: filters and `.proplist`.
    pub query: Vec<(String, String)>,
    /// The JSON object of the body; empty without one.
    pub body: Map<String, Value>,
    /// Name and password, if they came.
    pub credentials: Option<(String, String)>,
}

/// The answer: its status, and JSON if it has any.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub body: Option<Value>,
    /// Whether something was written.
    pub wrote: bool,
    /// A command without an end, such as `monitor-traffic` without `once`: RouterOS ends it after a minute.
    pub blocks: bool,
}

impl Answer {
    pub(crate) fn ok(body: Value) -> Self {
        Self { status: 200, body: Some(body), wrote: false, blocks: false }
    }

    pub(crate) fn bad(detail: &str) -> Self {
        Self::error(400, "Bad Request", Some(detail))
    }

    fn error(status: u16, message: &str, detail: Option<&str>) -> Self {
        let mut body = Map::new();
        if let Some(detail) = detail {
            body.insert("detail".into(), detail.into());
        }
        body.insert("error".into(), status.into());
        body.insert("message".into(), message.into());
        Self { status, body: Some(body.into()), wrote: false, blocks: false }
    }

    fn not_found() -> Self {
        Self::error(404, "Not Found", Some("no such item"))
    }
}

/// What a policy such as `read,write,!policy` allows.
pub(crate) struct Rights<'a>(&'a str);

impl<'a> Rights<'a> {
    pub fn of(policy: &'a str) -> Self {
        Self(policy)
    }

    pub fn has(&self, right: &str) -> bool {
        self.0.split(',').any(|one| one == right)
    }
}

/// Answers a request that came through.
pub(crate) fn answer(state: &mut State, request: &Request) -> Answer {
    let Some(policy) = policy(state, request.credentials.as_ref()) else {
        return Answer::error(401, "Unauthorized", None);
    };
    let writes = state.writes;
    let mut answer = dispatch(state, request, &policy).unwrap_or_else(|detail| Answer::bad(&detail));
    answer.wrote = state.writes > writes;
    answer
}

/// The rights of the user, if the credentials are good and the user may use REST.
fn policy(state: &State, credentials: Option<&(String, String)>) -> Option<String> {
    let (name, password) = credentials?;
    let user = state.stored("user").iter().find(|row| row.get("name") == name && row.get("password") == password)?;
    let comes =
        user.get("address").is_empty() || crate::management::covers(user.get("address"), crate::management::CLIENT);
    let group = state.stored("user/group").iter().find(|row| row.get("name") == user.get("group"))?;
    let policy = group.get("policy");
    (user.is_enabled() && comes && Rights::of(policy).has("rest-api")).then(|| policy.to_owned())
}

fn dispatch(state: &mut State, request: &Request, policy: &str) -> Result<Answer, String> {
    let rights = Rights::of(policy);
    let needed = match request.method.as_str() {
        "GET" => "read",
        _ if request.path.starts_with("user") => "policy",
        _ => "write",
    };
    if request.method == "POST" {
        return commands::post(state, request, &rights, policy);
    }
    if !rights.has(needed) {
        return Err("not enough permissions (9)".into());
    }
    let (menu, item) = split(state, &request.path)?;
    let row = |state: &State, item: &str| state.find(menu.path, item).ok_or(());
    Ok(match (request.method.as_str(), item) {
        ("GET", None) if menu.is_singleton() => {
            Answer::ok(projected(menu, &state.singleton(menu.path), &proplist(request))?)
        }
        ("GET", None) => Answer::ok(list(state, menu, request)?),
        ("GET", Some(item)) => match row(state, item) {
            Ok(row) => Answer::ok(projected(menu, row.shown().as_object().expect("an object"), &proplist(request))?),
            Err(()) => Answer::not_found(),
        },
        ("PUT", None) => {
            needs(menu, "add")?;
            let id = state.add_row(menu, &request.body)?;
            Answer { status: 201, ..Answer::ok(shown(state, menu, id)) }
        }
        ("PATCH", Some(item)) => match row(state, item) {
            Ok(row) => {
                needs(menu, "set")?;
                state.set_row(menu, Some(row.id), &request.body)?;
                Answer::ok(shown(state, menu, row.id))
            }
            Err(()) => Answer::not_found(),
        },
        ("DELETE", Some(item)) => match row(state, item) {
            Ok(row) => {
                needs(menu, "remove")?;
                state.remove_row(menu, row.id)?;
                Answer { status: 204, body: None, ..Answer::ok(Value::Null) }
            }
            Err(()) => Answer::not_found(),
        },
        ("PATCH" | "DELETE", None) => return Err("missing or invalid resource identifier".into()),
        _ => Answer::error(405, "Method Not Allowed", None),
    })
}

fn needs(menu: Menu, command: &str) -> Result<(), String> {
    if menu.has(command) { Ok(()) } else { Err("no such command".into()) }
}

fn shown(state: &State, menu: Menu, id: RowId) -> Value {
    state.rows(menu.path).iter().find(|row| row.id == id).map_or(Value::Null, Row::shown)
}

/// The menu that a path names, and what follows: an id, a name or a command.
///
/// # Errors
/// The `detail` of a 400.
pub(crate) fn split<'a>(state: &State, path: &'a str) -> Result<(Menu, Option<&'a str>), String> {
    let path = path.trim_matches('/');
    if let Some(menu) = state.menu(path) {
        return Ok((menu, None));
    }
    let (folder, item) = path.rsplit_once('/').unwrap_or(("", path));
    match state.menu(folder) {
        Some(menu) if Menu::known(path).is_none() => Ok((menu, Some(item))),
        _ => Err(format!("no such command or directory ({})", path.rsplit('/').next().unwrap_or_default())),
    }
}

fn proplist(request: &Request) -> Option<Vec<String>> {
    let of_body = match request.body.get(".proplist") {
        Some(Value::Array(names)) => Some(names.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        Some(Value::String(names)) => Some(names.split(',').map(str::to_owned).collect()),
        _ => None,
    };
    let of_query = || {
        request
            .query
            .iter()
            .find(|(name, _)| name == ".proplist")
            .map(|(_, names)| names.split(',').map(str::to_owned).collect())
    };
    of_body.or_else(of_query)
}

fn projected(menu: Menu, fields: &Map<String, Value>, proplist: &Option<Vec<String>>) -> Result<Value, String> {
    let Some(names) = proplist else { return Ok(fields.clone().into()) };
    if let Some(unknown) = names.iter().find(|name| !menu.has_field(name) && !fields.contains_key(*name)) {
        return Err(format!("unknown parameter {unknown}"));
    }
    let kept = names.iter().filter_map(|name| Some((name.clone(), fields.get(name)?.clone())));
    Ok(Value::Object(kept.collect()))
}

/// A listing with its filters: those of the query, or the words of `.query`.
///
/// # Errors
/// The `detail` of a 400.
pub(crate) fn list(state: &State, menu: Menu, request: &Request) -> Result<Value, String> {
    let filters: Vec<&(String, String)> = request.query.iter().filter(|(name, _)| name != ".proplist").collect();
    let words: Vec<&str> = request
        .body
        .get(".query")
        .and_then(Value::as_array)
        .map_or(Vec::new(), |all| all.iter().filter_map(Value::as_str).collect());
    let rows = state.rows(menu.path);
    if let Some((unknown, _)) =
        filters.iter().find(|(name, _)| !menu.has_field(name) && !rows.iter().any(|row| row.fields.contains_key(name)))
    {
        return Err(format!("unknown parameter {unknown}"));
    }
    let proplist = proplist(request);
    let kept = rows
        .iter()
        .filter(|row| filters.iter().all(|(name, value)| value_of(row, name) == *value) && queried(row, &words));
    let shown: Vec<Value> = kept
        .map(|row| projected(menu, row.shown().as_object().expect("an object"), &proplist))
        .collect::<Result<_, _>>()?;
    Ok(json!(shown))
}

fn value_of(row: &Row, name: &str) -> String {
    if name == ".id" { row.id.to_string() } else { row.get(name).to_owned() }
}

/// The words of `.query`: `name=value`, `name`, `-name`, and `#|`, `#&`, `#!` as operations on the results so far.
fn queried(row: &Row, words: &[&str]) -> bool {
    let mut stack = Vec::new();
    for word in words {
        match word.strip_prefix('#') {
            Some(operations) => {
                for operation in operations.chars() {
                    let last = stack.pop().unwrap_or(true);
                    let result = match operation {
                        '!' => !last,
                        '|' => stack.pop().unwrap_or(false) | last,
                        _ => stack.pop().unwrap_or(true) & last,
                    };
                    stack.push(result);
                }
            }
            None => stack.push(match word.split_once('=') {
                Some((name, value)) => value_of(row, name) == value,
                None => word
                    .strip_prefix('-')
                    .map_or_else(|| row.fields.contains_key(*word), |absent| !row.fields.contains_key(absent)),
            }),
        }
    }
    stack.into_iter().all(|is| is)
}
