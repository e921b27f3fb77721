//! Names that only people read: the router's, and comments at interfaces.

use super::{Deed, write};
use crate::routeros::{
    call::RouterCall,
    plan::{Change, Selector, fields},
    plans::seen::text,
    service::RouterService,
    table::Answer,
};
use base::error::ToolError;
use serde_json::{Map, json};

pub fn identity<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(write(service, call, &["system/identity"], |call, seen| {
        let new = call.text("identity");
        let says = [
            ("old_identity".to_owned(), json!(seen.text("system/identity", "name"))),
            ("new_identity".to_owned(), json!(new)),
        ];
        let change = Change::set("system/identity", Selector::new(), fields(&[("name", new)]));
        Ok(Deed { change, says: Map::from_iter(says), id: "" })
    }))
}

pub fn comment<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(write(service, call, &["interface"], |call, seen| {
        let asked = call.text("interface_id");
        let row = seen.rows("interface").find(|row| row[".id"] == asked || row["name"] == asked).ok_or_else(|| {
            ToolError::not_found(format!("the router {} has no interface {asked:?}", seen.device))
                .with("parameter", "interface_id")
                .with("device_id", seen.device.as_str())
                .hint("routeros.list_interfaces has them")
        })?;
        let says = [
            ("interface_id".to_owned(), row[".id"].clone()),
            ("interface_name".to_owned(), row["name"].clone()),
            ("old_comment".to_owned(), json!(text(row, "comment"))),
            ("new_comment".to_owned(), json!(call.text("comment"))),
        ];
        let (select, to) = (fields(&[("name", text(row, "name"))]), fields(&[("comment", call.text("comment"))]));
        let change = Change::set("interface", select, to);
        Ok(Deed { change, says: Map::from_iter(says), id: "" })
    }))
}
