//! The contract of the tools for routers, which are rows of a table of their own (`src/routeros/table`).

use super::{
    advertised::outside,
    committed, here,
    listed::not_implied,
    oracle::oracle,
    tools::each,
    written::{page, unnamed},
};
use contract::{
    config::sections::routeros::write_tier,
    meta::{Effect, Mode, Role, Tier},
    schema::{Checker, projection},
};
use raspi_mcp::{
    cli,
    registry::entry::Entry,
    routeros::table::{self, Run},
    tools::routeros,
};
use std::collections::BTreeSet;

fn entries() -> Vec<Entry> {
    routeros::entries().unwrap()
}

#[test]
fn the_committed_schemas_are_those_of_the_rows() {
    let folder = here().join("schemas");
    let stale: Vec<String> = cli::schema::routeros()
        .into_iter()
        .filter_map(|(path, text)| committed(&folder.join(path), &text).err())
        .collect();
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

#[test]
fn every_row_is_a_tool_as_the_others_are() {
    let (mut names, mut found) = (BTreeSet::new(), Vec::new());
    for (entry, row) in entries().iter().zip(table::all()) {
        let (meta, name) = (entry.meta(), entry.name());
        assert!(names.insert(name.to_owned()) && names.insert(meta.title.to_owned()), "{name} or its title is twice");
        assert!(row.catalogue.is_empty() || names.insert(row.catalogue.to_owned()), "{name}: {}", row.catalogue);
        let (first, rest) = meta.description.split_once("\n\n").unwrap_or_else(|| panic!("{name}: one paragraph"));
        assert!(first.ends_with('.') && first.len() <= 160, "{name} begins with one sentence: {first}");
        assert!(rest.contains("Use when") && rest.contains("Returns"), "{name}");
        assert!(meta.tags.first() == Some(&"routeros") && meta.tags.len() > 1, "{name}: tags");
        let (input, accepts) = entry.advertised();
        outside(&input, name, &mut found);
        for (parameter, schema) in input["properties"].as_object().unwrap() {
            let described = schema["description"].as_str().is_some_and(|text| text.len() >= 8);
            assert!(described, "{name}: parameter {parameter} is not described");
        }
        assert!(accepts.keys().all(|name| input["properties"].get(name).is_some()), "{name}");
        Checker::new(&entry.input_schema()).unwrap();
        let output = entry.output_schema();
        assert_eq!(output["type"], "object", "{name}");
        each(&output, &mut |part| assert!(part.get("additionalProperties").is_none(), "{name}: results are open"));
        let part = projection(&output);
        not_implied(&output, &part, name, &mut found);
        assert!(
            jsonschema::meta::is_valid(&output)
                && oracle(&part).is_valid(&serde_json::json!({}))
                    == output["required"].as_array().is_none_or(Vec::is_empty),
            "{name}"
        );
        assert_eq!(meta.paginated, output["properties"].get("pagination").is_some(), "{name}: pagination");
        match meta.tier {
            Tier::Fundamental => assert!(meta.effect == Effect::Read && meta.role == Role::ReadOnly, "{name}"),
            Tier::Advanced => assert!(meta.effect.is_write() && meta.role == Role::OpsRw, "{name}"),
            Tier::Professional => assert!(meta.mode == Mode::Ask && meta.role == Role::Admin, "{name}"),
        }
        // The privileged half knows what writes to routers by the name alone.
        let is_applied = row.tier == Tier::Advanced || matches!(row.run, Run::Asked(..));
        assert_eq!(write_tier(name), is_applied.then_some(row.tier), "{name}");
        assert_eq!(contract::halt::stops(&meta), meta.effect.is_write(), "{name}: a halt stops changes");
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_row_is_written_down() {
    let (page, mut wrong) = (page("routeros.md"), Vec::new());
    for entry in entries() {
        let name = entry.name();
        let Some((_, after)) = page.split_once(&format!("\n## `{name}`\n")) else {
            wrong.push(format!("{name}: docs/contract/routeros.md has no section \"## `{name}`\""));
            continue;
        };
        let section = after.split("\n## ").next().unwrap_or(after);
        if !section.starts_with(&format!("\nRole: `{}`. ", entry.meta().role.name())) {
            wrong.push(format!("{name}: its section does not begin with its role"));
        }
        if !section.contains(&format!("(../../schemas/{}.json)", name.replacen('.', "/", 1))) {
            wrong.push(format!("{name}: no link to its schema"));
        }
        for (what, schema) in [("argument", entry.input_schema()), ("result", entry.output_schema())] {
            wrong.extend(unnamed(section, &schema).iter().map(|field| format!("{name}: {what} `{field}`")));
        }
    }
    let headings = page.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`'));
    wrong.extend(
        headings.filter(|name| table::find(name).is_none()).map(|name| format!("{name} is described and is none")),
    );
    assert!(wrong.is_empty(), "docs/contract/routeros.md does not say:\n{}", wrong.join("\n"));
}
