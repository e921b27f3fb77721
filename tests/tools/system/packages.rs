//! `system.list_packages`

use crate::support::{
    pi::Pi,
    trees::{Copied, machine},
};
use serde_json::json;

const TOOL: &str = "system.list_packages";

#[tokio::test]
async fn a_page_of_them_and_why_there_are_none() {
    let tree = Copied::of("pi-4b");
    let refusal = Pi::on(machine(tree.root())).call(TOOL, json!({})).await.refused();
    assert_eq!(refusal["error_code"], "capability_missing");
    let package =
        |name: &str| format!("Package: {name}\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n\n");
    tree.write("var/lib/dpkg/status", [package("b"), package("c-dev"), package("a"), "broken\n".into()].concat());
    let pi = Pi::on(machine(tree.root()));
    let answer = pi.call(TOOL, json!({"limit": 2})).await;
    assert!(!answer.simulated);
    let list = answer.ok();
    assert_eq!(list["packages"][0], json!({"name": "a", "version": "1", "architecture": "all", "state": "installed"}));
    assert_eq!(
        (&list["source"], &list["pagination"]["total_count"], &list["pagination"]["next_offset"]),
        (&json!("dpkg"), &json!(3), &json!(2))
    );
    assert!(list["faults"][0].as_str().unwrap().starts_with("/var/lib/dpkg/status: 1 of its entries"), "{list}");
    let found = pi.call(TOOL, json!({"name": "-dev"})).await.ok();
    assert_eq!(found["packages"].as_array().unwrap().len(), 1);
    let none = pi.call(TOOL, json!({"name": "apache"})).await.ok();
    assert_eq!(none["note"], "no packages match name: leave some of that out");
}
