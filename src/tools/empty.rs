//! Explains in the optional field `note` why a list in an answer is empty.

use super::page::Pagination;

/// For a filtered page. `all` is the number of items without the filter; `what` names them, in the plural.
pub fn filtered(pagination: &Pagination, all: usize, what: &str) -> Option<String> {
    beyond(pagination).or_else(|| {
        (pagination.returned_count == 0 && all > 0).then(|| format!("none of the {all} {what} here matches the filter"))
    })
}

/// For a page that begins after the last item.
pub fn beyond(pagination: &Pagination) -> Option<String> {
    let Pagination { offset, returned_count, total_count, .. } = *pagination;
    (returned_count == 0 && total_count > 0)
        .then(|| format!("offset {offset} is past the last of {total_count}: begin at 0"))
}

/// Lists the arguments that narrowed a search without results.
pub fn narrowed(what: &str, by: &[(&str, bool)]) -> String {
    let given: Vec<&str> = by.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    match given.is_empty() {
        true => format!("there are no {what} yet"),
        false => format!("no {what} match {}: leave some of that out", given.join(", ")),
    }
}
