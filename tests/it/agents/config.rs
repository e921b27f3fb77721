//! `[[agents]]`: what a mistake in it is answered with.

use crate::config::Machine;

const GOOD: &str = "[[agents]]\ntype = \"greenhouse\"\nkind = \"mcp\"\nprogram = \"/opt/x\"\n[agents.tools.a]\ntier = \"fundamental\"\n";

#[test]
fn the_examples_are_good_and_only_the_owner_declares_agents() {
    for example in ["greenhouse", "notes", "filesystem", "climate"] {
        let path = format!("{}/examples/agents/{example}.toml", env!("CARGO_MANIFEST_DIR"));
        let settings = Machine::new().site(&std::fs::read_to_string(path).unwrap()).starts();
        assert_eq!(settings.agents[0].name, example);
    }
    assert!(Machine::new().state(GOOD).starts().is_restricted(), "a fragment of the server's own may not");
    assert_eq!(Machine::new().site(GOOD).agent_starts().agents.len(), 1, "both halves read it");
}

/// The names that the configuration keeps free are those that the program gives (both crates have a list).
#[test]
fn the_reserved_names_are_those_of_dbus_mcp() {
    let text = include_str!("../../../src/registry/compat/dbus_mcp.json");
    let descriptors: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).unwrap();
    let names: std::collections::BTreeSet<&str> = descriptors.keys().map(String::as_str).collect();
    let reserved = contract::config::sections::agents::DBUS_MCP_TOOLS.into_iter().collect();
    assert_eq!(names, reserved);
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let command = |tool: &str| {
        format!(
            "[[agents]]\ntype = \"greenhouse\"\nkind = \"command\"\nprogram = \"/opt/x\"\n[agents.tools.{tool}]\ntier = \"fundamental\"\n"
        )
    };
    for (text, says) in [
        (GOOD.replace("program", "start_seconds = 0\nprogram"), "agents.start_seconds must be"),
        (
            command("a").replace("program", "start_seconds = 20\nprogram"),
            "raspi-mcp waits for no start of it; leave start_seconds out",
        ),
        (GOOD.replace("program", "env = { \"A B\" = \"x\" }\nprogram"), "a variable of agents.env is called by"),
        (GOOD.replace("program", "env = { RASPI_MCP_TOOL = \"x\" }\nprogram"), "and not RASPI_MCP_..."),
        (GOOD.replace("program", "env = { A = 7 }\nprogram"), "agents.env.A must be a text"),
        (GOOD.replace("program", "env = \"A=7\"\nprogram"), "agents.env must be a table of at most 32 variables"),
        (GOOD.replace("greenhouse", "Green"), "agents.type must be 1 to 32 characters"),
        (GOOD.replace("kind = \"mcp\"\n", ""), "this agent has no kind"),
        (GOOD.replace("\"mcp\"", "\"rpc\""), "agents.kind must be \"command\", \"mcp\" or \"dbus\""),
        (GOOD.replace("program", "start = \"never\"\nprogram"), "only an agent of kind \"dbus\" can come by itself"),
        (
            GOOD.replace("\"mcp\"", "\"dbus\"\nstart = \"never\"\nnetwork = true"),
            "leave env, memory_mb, tasks, network and writable out",
        ),
        (GOOD.replace("/opt/x", "/usr/bin/npx"), "fetches what it runs"),
        (
            GOOD.replace("/opt/x\"", "/usr/bin/node\"\nargs = [\"/usr/lib/node_modules/npm/bin/npx-cli.js\"]"),
            "fetches what it runs",
        ),
        (GOOD.replace("/opt/x\"", "/bin/sh\"\nargs = [\"-c\", \"uvx thing\"]"), "fetches what it runs"),
        (GOOD.replace("/opt/x", "/usr/bin/raspi-mcp"), "never raspi-mcp itself"),
        (GOOD.replace("tools.a", "tools.A"), "from a-z, 0-9"),
        (GOOD.replace("tier = \"fundamental\"", "policy = \"ask\""), "has no tier"),
        (GOOD.replace("tier =", "colour ="), "unknown key \"colour\" in [agents.tools.a]"),
        (GOOD.replace("greenhouse", "gpio"), "taken by raspi-mcp itself"),
        (GOOD.replace("greenhouse", "systemd"), "taken by raspi-mcp itself"),
        (GOOD.replace("greenhouse", "agents"), "taken by raspi-mcp itself"),
        (GOOD.replace("greenhouse", "systemd_logs").replace("tools.a", "tools.stream"), "which is a tool of dbus-mcp"),
        (format!("{GOOD}{GOOD}"), "types must differ"),
        (
            format!(
                "{}{}",
                GOOD.replace("greenhouse", "a_b").replace("tools.a", "tools.c"),
                GOOD.replace("greenhouse", "a").replace("tools.a", "tools.b_c")
            ),
            "both spelled a_b_c",
        ),
        (GOOD.replace("program", "instances = 2\nprogram"), "one program of a type stays at once"),
        (command("a"), "needs description and input"),
        (command("a") + "description = \"A.\"\ninput = '{\"type\": \"string\"}'\n", "its type is not \"object\""),
        (
            command("a") + "description = \"A.\"\ninput = '{\"type\": \"object\", \"unevaluatedItems\": 1}'\n",
            "unevaluatedItems",
        ),
        (format!("{GOOD}description = \"A.\"\n"), "describes itself"),
    ] {
        let said = Machine::new().site(&text).refuses();
        assert!(said.iter().any(|fault| fault.contains(says)), "{says}: {said:#?}");
    }
}
