//! Entries of address lists whose names begin with `mcp-`.

use super::{Deed, write};
use crate::routeros::{
    call::RouterCall,
    plan::{Action, Change, Fields},
    plans::{
        kinds::lists::{MENU, entry, entry_address},
        seen::text,
    },
    service::RouterService,
    table::Answer,
};
use base::error::ToolError;
use serde_json::{Map, json};

pub fn update<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(write(service, call, &[MENU, "ip/firewall/filter"], |call, seen| {
        let (list, address) = (call.text("list_name"), entry_address(call.text("address"))?);
        let select = entry(list, &address, "");
        let says = ["action", "list_name"].map(|name| (name.to_owned(), json!(call.text(name))));
        let mut says = Map::from_iter(says);
        says.insert("address".into(), json!(address));
        let given = |name: &'static str| {
            Some((name.to_owned(), call.text(name).to_owned())).filter(|(_, text)| !text.is_empty())
        };
        let action = if call.text("action") == "remove" {
            for name in ["comment", "timeout"] {
                if !call.text(name).is_empty() {
                    return Err(ToolError::ignored(name, "an entry is removed by its list and its address"));
                }
            }
            Action::Remove
        } else {
            Action::Add(given("comment").into_iter().chain(given("timeout")).collect::<Fields>(), None)
        };
        if action == Action::Remove
            && let Some(row) = seen.rows(MENU).find(|row| row["list"] == list && row["address"] == address.as_str())
        {
            says.insert("entry_id".into(), json!(text(row, ".id")));
        }
        let id = if action == Action::Remove { "" } else { "entry_id" };
        Ok(Deed { change: Change { menu: MENU.into(), select, action }, says, id })
    }))
}
