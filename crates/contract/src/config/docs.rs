//! Writes `docs/configuration.md` and `dist/raspi-mcp.toml` from the table of keys. A test checks that they are
//! current.

use super::{
    keys::{SECTIONS, SectionInfo, SettingKey},
    kind::SettingKind,
    places::Places,
    settings::Settings,
};
use serde_json::Value;
use std::fmt::Write;

/// The reference: every key with its type, bounds, default and meaning, as Markdown.
pub fn markdown() -> String {
    let defaults = defaults();
    let mut page = String::from(INTRODUCTION);
    for SectionInfo { name: section, about, keys } in SECTIONS {
        let title = if section.is_empty() { "Top level".to_owned() } else { format!("`[{section}]`") };
        let _ = write!(page, "\n## {title}\n\n{about}\n\n");
        page.push_str("| key | meaning | value | default | in a state fragment |\n| --- | --- | --- | --- | --- |\n");
        for key in *keys {
            let default =
                default_of(&defaults, key).map_or_else(|| "each tool's own".into(), |value| format!("`{value}`"));
            let name = written_name(key);
            let doc = key.doc;
            let (expected, in_state) = (key.kind.expected(), key.in_state.words());
            let _ = writeln!(page, "| `{name}` | {doc} | {expected} | {default} | {in_state} |");
        }
    }
    page
}

/// The default file: every key commented out at its default, to be copied to the site folder and edited.
pub fn default_file() -> String {
    let defaults = defaults();
    let mut file = String::from(FILE_HEAD);
    for SectionInfo { name: section, about, keys } in SECTIONS {
        let _ = write!(file, "\n# {about}\n");
        if !section.is_empty() {
            let _ = writeln!(file, "[{section}]");
        }
        for key in *keys {
            for line in wrapped(&format!("{} Expected: {}.", key.doc, key.kind.expected())) {
                let _ = writeln!(file, "# {line}");
            }
            match (key.kind, default_of(&defaults, key)) {
                (SettingKind::Tables(tables), _) => file.push_str(tables.example),
                (_, Some(value)) => {
                    let _ = writeln!(file, "#{} = {value}", written_name(key));
                }
                (_, None) => file.push_str("#\"system.reboot\" = \"ask\"\n"),
            }
        }
    }
    file
}

fn defaults() -> Value {
    Settings::default_for(&Places::system()).summary()
}

/// The default as TOML; `policy` has none.
fn default_of(defaults: &Value, key: &SettingKey) -> Option<String> {
    let value = key.name.split('.').fold(defaults, |at, part| &at[part]);
    // JSON and TOML have the same syntax for booleans, integers, plain strings and lists of them.
    (key.kind != SettingKind::Mode).then(|| value.to_string())
}

/// The key as written below its section's heading.
fn written_name(key: &SettingKey) -> &'static str {
    match key.kind {
        SettingKind::Mode => "\"<tool>\"",
        _ => key.name.split_once('.').map_or(key.name, |(_, name)| name),
    }
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if lines[last].len() + word.len() > 110 {
            lines.push(word.to_owned());
        } else {
            if !lines[last].is_empty() {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        }
    }
    lines
}

const FILE_HEAD: &str = "\
# Configuration of raspi-mcp. Every setting below has its default value. To change one, remove its # and edit the value.
# Generated from the table of keys (BLESS=1 cargo test writes it); docs/configuration.md explains how files are merged.
";

const INTRODUCTION: &str = "\
# Configuration

<!-- Generated from the sections in crates/contract/src/config: BLESS=1 cargo test writes it. -->

Every setting, with what it does and its default: ports, tokens, limits of calls, folders, photos, updates and all else. Where a
settings file is, and whether the server starts anyway when there is a typo or another mistake in it.

raspi-mcp runs without any configuration: read-only, on loopback. Settings are merged from these sources; later ones
override earlier ones:

1. the image: `/usr/lib/raspi-mcp/conf.d/*.toml`
2. on an appliance, what its owner configured before the first start: `/run/raspi-mcp-identity/conf.d/*.toml` (docs/first-boot.md)
3. the site: `/etc/raspi-mcp/*.toml`, or the file given with `--config`
4. the state folder: `/var/lib/raspi-mcp/conf.d/*.toml`
5. the environment: `RASPI_MCP__SECTION__KEY`, such as `RASPI_MCP__LIMITS__MAX_DEPTH=32` or `RASPI_MCP__BOARD=simulated`;
   lists are separated by commas
6. flags of the command line

Files of one folder are read in the order of their names. A folder may contain at most 64 files of at most 1 MiB each. A
later value replaces an earlier one; only tables (tokens, roots, commands, grants) are combined. `raspi-mcp allow` writes
`50-allow-<namespace>.toml` into the site's folder. Such grants (docs/allow.md) and tokens take effect without a restart;
all other changes need one. `dist/raspi-mcp.toml` contains every key with its default, commented out.

For a user who is neither root nor `raspi-mcp`, the XDG folders are used: `~/.config/raspi-mcp/*.toml` instead of
`/etc/raspi-mcp`, `~/.local/state/raspi-mcp` instead of `/var/lib/raspi-mcp`, `$XDG_RUNTIME_DIR/raspi-mcp` instead of
`/run/raspi-mcp`.

## Invalid settings

Unknown keys (a typo) and invalid values are all reported at once, each with its file, line and column, what was expected, and the
nearest known key:

```text
/etc/raspi-mcp/10-site.toml:3:1: unknown key \"limits.reads_per_minut\"; did you mean \"limits.reads_per_minute\"?
```

In the image, the site, the environment or a flag, this prevents the server from starting. A fragment in the state folder,
which another version may have written, is ignored as a whole: then only the fundamental tier runs, and the health report
says why.

A fragment in the state folder is written by the server itself, so it can only restrict what the image and the site allow;
the last column of the tables below says how. The privileged agent, `raspi-mcp agent`, reads the image, the identity, the
site and `conf.d` in its own folder, never the state folder or the environment. As a service, it accepts only files that
belong to root and that nobody else can write.

Server and agent must agree on `places`: set them in the image or the site, which both read, or give `agent` and `serve`
the same `--config` and `--set`. `conf.d` in the agent's own folder cannot set them. If one of them is set in the
environment, the agent ignores it and reports that; the server uses it and reports that in its log. If the two running
processes differ, `raspi-mcp doctor` names the key.
";
