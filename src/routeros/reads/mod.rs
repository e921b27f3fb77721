//! What is read from a router: rows of a table (`rows`), and what needs more than one menu (`special`).

pub mod rows;
pub mod special;

use super::{
    client::RouterClient,
    value::{Field, object},
};
use base::error::{ErrorCode, ToolError};
use serde_json::{Map, Value, json};

/// What a tool reads of one menu.
pub struct MenuRead {
    /// The name of the tool without its namespace.
    pub tool: &'static str,
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

/// A page of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub limit: usize,
    pub offset: usize,
}

impl MenuRead {
    /// The page that a caller asks for; everything for what has no pages.
    ///
    /// # Errors
    /// `invalid_argument` for a `limit` of 0, or above the most of this listing.
    pub fn page(&self, limit: Option<usize>, offset: usize) -> Result<Page, ToolError> {
        let Shape::List { usual, most, .. } = self.shape else { return Ok(Page { limit: usize::MAX, offset: 0 }) };
        let limit = limit.or_else(|| usual.parse().ok()).unwrap_or_default();
        if i64::try_from(limit).is_ok_and(|limit| (1..=most).contains(&limit)) {
            return Ok(Page { limit, offset });
        }
        Err(ToolError::invalid(format!("limit must be from 1 to {most}, not {limit}")).with("parameter", "limit"))
    }

    /// The tool's answer. `chosen`: the id or name for [`Shape::One`].
    ///
    /// # Errors
    /// See [`super::failure`]; `not_found` for a row that is not there.
    pub async fn run(&self, client: &RouterClient, page: Page, chosen: &str) -> Result<Map<String, Value>, ToolError> {
        let mut answer = Map::new();
        answer.insert("device_id".into(), json!(client.device().id));
        match self.shape {
            Shape::List { name, .. } => {
                let rows = self.menu(client, "").await?;
                let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
                let shown: Vec<Value> =
                    rows.iter().skip(page.offset).take(page.limit).map(|row| object(row, self.fields).into()).collect();
                answer.insert(name.into(), shown.into());
                answer.insert("total_count".into(), rows.len().into());
            }
            Shape::One { name, argument } => {
                let row = self.one(client, argument, chosen).await?;
                answer.insert(name.into(), object(&row, self.fields).into());
            }
            Shape::Whole => answer.extend(object(&self.menu(client, "").await?, self.fields)),
        }
        Ok(answer)
    }

    /// The row with an id or a name. By its name it is looked for: `interface/bridge` is a menu, not an interface.
    async fn one(&self, client: &RouterClient, argument: &str, chosen: &str) -> Result<Value, ToolError> {
        let segment = path_segment(chosen).map_err(|error| error.with("parameter", argument))?;
        if chosen.starts_with('*') {
            return self.menu(client, &format!("/{segment}")).await;
        }
        let rows = self.menu(client, &format!("?name={segment}")).await?;
        rows.get(0).cloned().ok_or_else(|| {
            let device = &client.device().id;
            ToolError::not_found(format!("the router {device} has no {chosen:?} in {}", self.menus[0]))
                .with("parameter", argument)
                .with("device_id", device.as_str())
                .hint("list them first: a row is named by its id, such as *1, or by its name")
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
