//! `docs/contract` against the registry and the error table: what is written there is what there is.

use super::{all_tools, here};
use base::error::ErrorCode;
use raspi_mcp::registry::row::ToolRow;
use std::{collections::BTreeSet, fs};

pub fn page(name: &str) -> String {
    let path = here().join("docs/contract").join(name);
    fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

/// What stands under the heading of a tool, on the page of its namespace.
fn section(entry: &'static ToolRow) -> Option<String> {
    let page = page(&format!("{}.md", entry.meta.namespace()));
    let (_, after) = page.split_once(&format!("\n## `{}`\n", entry.name()))?;
    Some(after.split("\n## ").next().unwrap_or(after).to_owned())
}

/// The names of an object's fields that do not stand in `section` as code.
pub fn unnamed(section: &str, schema: &serde_json::Value) -> Vec<String> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields.map(|(name, _)| name.clone()).filter(|name| !section.contains(&format!("`{name}`"))).collect()
}

#[test]
fn every_tool_is_written_down_with_role_arguments_and_results() {
    let mut wrong = Vec::new();
    for entry in all_tools().rows() {
        let name = entry.name();
        let Some(section) = section(entry) else {
            wrong.push(format!("{name}: docs/contract/{}.md has no section \"## `{name}`\"", entry.meta.namespace()));
            continue;
        };
        let role = format!("Role: `{}`.", entry.meta.role.name());
        if !section.starts_with(&format!("\n{role} ")) {
            wrong.push(format!("{name}: its section does not begin with {role:?}"));
        }
        let schema = format!("(../../schemas/{}.json)", name.replacen('.', "/", 1));
        if !section.contains(&schema) {
            wrong.push(format!("{name}: no link to its schema"));
        }
        for (what, schema) in [("argument", entry.input_schema()), ("result", entry.output_schema())] {
            wrong.extend(unnamed(&section, &schema).iter().map(|field| format!("{name}: {what} `{field}`")));
        }
    }
    assert!(wrong.is_empty(), "docs/contract does not say:\n{}", wrong.join("\n"));
}

#[test]
fn no_page_describes_a_tool_that_is_not_there() {
    let registry = all_tools();
    let tools: BTreeSet<&str> = registry.rows().map(ToolRow::name).collect();
    let namespaces: BTreeSet<&str> = registry.rows().map(|entry| entry.meta.namespace()).collect();
    for namespace in &namespaces {
        let page = page(&format!("{namespace}.md"));
        let headings = page.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`'));
        let gone: Vec<&str> = headings.filter(|name| !tools.contains(name)).collect();
        assert!(gone.is_empty(), "docs/contract/{namespace}.md describes {gone:?}");
    }
    let pages = fs::read_dir(here().join("docs/contract")).unwrap();
    let pages: BTreeSet<String> = pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    let expected = namespaces.iter().copied().chain(["README", "errors", "routeros"]).map(|name| format!("{name}.md"));
    assert_eq!(pages, expected.collect(), "a page for each namespace, and the two that all share");
}

#[test]
fn the_error_table_is_written_down() {
    let page = page("errors.md");
    let rows: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| `") && !line.starts_with("| `error_code`")).collect();
    let expected: Vec<String> = ErrorCode::ALL
        .iter()
        .map(|code| {
            let (symbol, constant) = (code.symbol(), code.constant());
            format!("| `{symbol}` | {} | `{constant}` | {} | {} | ", code.rpc(), code.number(), code.http())
        })
        .collect();
    assert_eq!(rows.len(), expected.len(), "a row of docs/contract/errors.md for each code");
    for (row, expected) in rows.iter().zip(&expected) {
        assert!(row.starts_with(expected), "docs/contract/errors.md:\n{row}\nshould begin with\n{expected}");
        let (when, retry) = row[expected.len()..].trim_end_matches(" |").split_once(" | ").expect("two more columns");
        assert!(!when.is_empty() && !retry.is_empty(), "{row}: when, and whether to try again");
    }
}
