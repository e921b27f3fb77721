//! What RouterOS answers to a request (MikroTik's manual, "REST API").

use crate::{
    commands,
    listing::{list, projected, proplist, split},
    management::CLIENT,
    menus::Menu,
    network::covers,
    request::{Answer, Request},
    rights::Rights,
    state::State,
    table::{Row, RowId},
};
use serde_json::Value;

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
    let comes = user.get("address").is_empty() || covers(user.get("address"), CLIENT);
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
