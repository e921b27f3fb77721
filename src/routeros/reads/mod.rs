//! What is read from a router: menus as rows say it, and what needs more than one menu, or a command.

pub mod diagnostics;
pub mod export;
pub mod health;
pub mod log;
pub mod special;

use super::{
    call::RouterCall,
    client::RouterClient,
    value::{Field, object},
};
use base::error::{ErrorCode, ToolError};
use serde_json::{Map, Value, json};

/// What a tool reads of one menu.
pub struct MenuRead {
    /// Menus that have the same meaning: the first that the router has is read. The wireless package has others than `wifi`.
    pub menus: &'static [&'static str],
    pub shape: Shape,
    pub fields: &'static [Field],
}

/// How the answer is made.
pub enum Shape {
    /// Rows under a name, a page of them: how many without `limit` (as JSON), and at most.
    List { name: &'static str, usual: &'static str, most: i64 },
    /// One row under a name, chosen by this argument: an id such as `*1`, or a name.
    One { name: &'static str, argument: &'static str },
    /// The fields of a singleton.
    Whole,
}

/// A result that names its router.
pub(crate) fn begun(client: &RouterClient) -> Map<String, Value> {
    Map::from_iter([("device_id".to_owned(), json!(client.device().id))])
}

/// The rows of a listing, with these fields.
pub(crate) fn rows(listing: &Value, fields: &[Field]) -> Vec<Value> {
    listing.as_array().into_iter().flatten().map(|row| object(row, fields).into()).collect()
}

impl MenuRead {
    /// The tool's answer. Arguments that are fields of the rows choose among them.
    ///
    /// # Errors
    /// See [`super::failure`]; `not_found` for a row that is not there.
    pub async fn run(&self, client: &RouterClient, call: &RouterCall) -> Result<Map<String, Value>, ToolError> {
        let mut answer = begun(client);
        match self.shape {
            Shape::List { name, .. } => {
                let (filter, start) = (self.filter(call)?, || call.page_of_rows());
                let page = self.fold(client, &filter, start, |page, row| {
                    page.push(|| object(&row, self.fields).into()).map_err(|_| client.too_long(self.menus[0]))
                });
                answer.extend(page.await?.shown(name));
            }
            Shape::One { name, argument } => {
                let row = self.one(client, argument, call.text(argument)).await?;
                answer.insert(name.into(), object(&row, self.fields).into());
            }
            Shape::Whole => answer.extend(object(&self.menu(client, "").await?, self.fields)),
        }
        Ok(answer)
    }

    /// Reads the rows of the menu one by one, with no other fields than are shown, and makes something of them.
    ///
    /// # Errors
    /// See [`super::failure`], and those of `take`.
    pub(crate) async fn fold<T>(
        &self,
        client: &RouterClient,
        filter: &str,
        start: impl Fn() -> T,
        take: impl Fn(&mut T, Value) -> Result<(), ToolError>,
    ) -> Result<T, ToolError> {
        let names: Vec<&str> = self.fields.iter().map(|(_, theirs, _)| *theirs).collect();
        let begin = if filter.is_empty() { '?' } else { '&' };
        let fields = format!("{filter}{begin}.proplist={}", names.join(","));
        match self.fold_with(client, &fields, &start, &take).await {
            // Perhaps this version does not know one of the names.
            Err(error) if error.details.get("mcp_error_code").is_some_and(|word| word == "DEVICE_ERROR") => {
                self.fold_with(client, filter, &start, &take).await
            }
            folded => folded,
        }
    }

    async fn fold_with<T>(
        &self,
        client: &RouterClient,
        query: &str,
        start: &impl Fn() -> T,
        take: &impl Fn(&mut T, Value) -> Result<(), ToolError>,
    ) -> Result<T, ToolError> {
        let mut missing = None;
        for menu in self.menus {
            match client.fold(&format!("{menu}{query}"), None, start, take).await {
                Err(error) if error.code == ErrorCode::CapabilityMissing => missing = Some(error),
                folded => return folded?.rows(client, menu),
            }
        }
        Err(missing.unwrap_or_else(|| ToolError::internal("a read without a menu")))
    }

    /// The query for arguments that are fields.
    fn filter(&self, call: &RouterCall) -> Result<String, ToolError> {
        let mut query = String::new();
        for (name, theirs, _) in self.fields.iter().filter(|(name, ..)| call.args.contains_key(*name)) {
            let value = path_segment(call.text(name)).map_err(|error| error.with("parameter", *name))?;
            query += &format!("{}{theirs}={value}", if query.is_empty() { '?' } else { '&' });
        }
        Ok(query)
    }

    /// The row with an id or a name. By its name it is looked for: `interface/bridge` is a menu, not an interface.
    async fn one(&self, client: &RouterClient, argument: &str, chosen: &str) -> Result<Value, ToolError> {
        let segment = path_segment(chosen).map_err(|error| error.with("parameter", argument))?;
        if chosen.starts_with('*') {
            return self.menu(client, &format!("/{segment}")).await;
        }
        // Of rows without names, the field after the id names them: an address, the destination of a route.
        let by = self
            .fields
            .iter()
            .find(|(name, ..)| *name == "name")
            .or(self.fields.get(1))
            .map_or("name", |field| field.1);
        let rows = self.menu(client, &format!("?{by}={segment}")).await?;
        rows.get(0).cloned().ok_or_else(|| {
            let device = &client.device().id;
            ToolError::not_found(format!("the router {device} has no {chosen:?} in {}", self.menus[0]))
                .with("parameter", argument)
                .with("device_id", device.as_str())
                .hint(format!("list them first: a row is named by its id, such as *1, or by its {by}"))
        })
    }

    async fn menu(&self, client: &RouterClient, item: &str) -> Result<Value, ToolError> {
        let mut missing = None;
        for menu in self.menus {
            match client.get(&format!("{menu}{item}")).await {
                Err(error) if error.code == ErrorCode::CapabilityMissing => missing = Some(error),
                answered => return answered,
            }
        }
        Err(missing.unwrap_or_else(|| ToolError::internal("a read without a menu")))
    }
}

/// An id or a name as a part of a path.
///
/// # Errors
/// `invalid_argument` for an empty one, or one that would name another menu.
pub fn path_segment(chosen: &str) -> Result<String, ToolError> {
    if chosen.is_empty() || chosen.len() > 255 || chosen.chars().any(char::is_control) {
        return Err(ToolError::invalid("an id or a name has 1 to 255 characters, none of them a control character"));
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"*-_.".contains(&byte);
    if matches!(chosen, "." | "..") {
        return Err(ToolError::invalid(format!("{chosen:?} is no id and no name")));
    }
    Ok(chosen
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect())
}
