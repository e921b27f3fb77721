//! The man page and the completions in `dist/` are what this command line makes of itself; `BLESS=1` rewrites them.

use clap::builder::PossibleValuesParser;
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use raspi_mcp::{cli, registry::Registry, tools};
use std::{fs, path::Path, process::Command};

fn command() -> clap::Command {
    // It would repeat all the others.
    cli::command().disable_help_subcommand(true)
}

fn current(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist").join(name);
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "dist/{name} is stale: run the tests once with BLESS=1 and commit it");
}

/// clap takes names that live as long as the program.
fn kept(name: &str) -> &'static str {
    name.to_owned().leak()
}

/// The command line as it is completed: without hidden commands, which clap_complete would offer, and with the names of
/// tools, namespaces and roles, which are texts to the parser (decision 451).
fn completed(command: &clap::Command) -> clap::Command {
    let registry = Registry::new(tools::NAMESPACES);
    let tools: Vec<&str> = registry.entries().map(|entry| kept(entry.name())).collect();
    let mut namespaces: Vec<&str> = tools.iter().filter_map(|tool| Some(tool.split_once('.')?.0)).collect();
    // Those of a server with routers.
    namespaces.extend(tools::for_routers().map(|meta| meta.namespace()));
    namespaces.dedup();
    let arg = |arg: &clap::Arg| match arg.get_id().as_str() {
        "role" => arg.clone().value_parser(PossibleValuesParser::new(["read_only", "ops_rw", "admin"])),
        "namespace" => arg.clone().value_parser(PossibleValuesParser::new(namespaces.clone())),
        "tool" => arg.clone().value_parser(PossibleValuesParser::new(tools.clone())),
        _ => arg.clone(),
    };
    let mut shown = clap::Command::new(kept(command.get_name()))
        .disable_help_subcommand(true)
        .args(command.get_arguments().map(arg))
        .groups(command.get_groups().cloned());
    if let Some(version) = command.get_version() {
        shown = shown.version(kept(version));
    }
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(about) = command.get_long_about() {
        shown = shown.long_about(about.clone());
    }
    for alias in command.get_visible_aliases() {
        shown = shown.visible_alias(kept(alias));
    }
    shown.subcommands(command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(completed))
}

fn completions(shell: Shell) -> String {
    let mut text = Vec::new();
    generate(shell, &mut completed(&command()), "raspi-mcp", &mut text);
    let text = String::from_utf8(text).unwrap();
    match shell {
        // clap#6421: below the first level, the generator writes the hyphen of a program's name in two ways, so that no
        // case is ever met.
        Shell::Bash => text.replace("raspi__subcmd__mcp", "raspi__mcp"),
        // The generator leaves out the values of positional arguments.
        Shell::Fish => text + &fish_positionals(&completed(&command()), ""),
        _ => text,
    }
}

/// A line for each command whose positional argument has known values.
fn fish_positionals(command: &clap::Command, above: &str) -> String {
    let mut text = String::new();
    for sub in command.get_subcommands() {
        let name = sub.get_name();
        let condition = match above {
            "" => format!("__fish_raspi_mcp_using_subcommand {name}"),
            above => format!("__fish_raspi_mcp_using_subcommand {above}; and __fish_seen_subcommand_from {name}"),
        };
        for arg in sub.get_positionals() {
            let values: Vec<String> =
                arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
            if !values.is_empty() {
                text += &format!("complete -c raspi-mcp -n \"{condition}\" -f -a \"{}\"\n", values.join(" "));
            }
        }
        text += &fish_positionals(sub, name);
    }
    text
}

/// What bash offers for a command line whose last word is begun.
fn offered(words: &[&str]) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/completions/raspi-mcp.bash");
    let typed = r#"source "$0"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); before=$((COMP_CWORD - 1))
_raspi__mcp raspi-mcp "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[before]}"
printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c", typed]).arg(script).arg("raspi-mcp").args(words);
    let output = bash.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_completes_below_the_first_level_and_values() {
    for (words, wanted) in [
        (vec!["audit", ""], "accept-gap"),
        (vec!["audit", "verify", "--"], "--file"),
        (vec!["approval-page", "--"], "--config"),
        (vec!["call", "system.get_cl"], "system.get_clock"),
        (vec!["token", "make", "--role", ""], "ops_rw"),
        (vec!["serve", "--role", ""], "read_only"),
        (vec!["tools", "--namespace", ""], "routeros"),
    ] {
        let offered = offered(&words);
        assert!(offered.iter().any(|word| word == wanted), "{words:?}: {offered:?}");
    }
    assert!(offered(&["gu"]).is_empty(), "a hidden command");
    assert_eq!(offered(&["call", "system.get_cl"]), ["system.get_clock"]);
    assert_eq!(offered(&["tools", "--namespace", "gp"]), ["gpio"]);
}

/// Help as it is printed on a terminal of `columns`.
fn help(args: &[&str], columns: &str) -> String {
    let mut call = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
    let output = call.args(args).arg("--help").env("COLUMNS", columns).output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_fits_a_terminal_of_80_columns() {
    fn all(command: &clap::Command, above: &[&str]) {
        let text = help(above, "80");
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        // A usage is one line: clap does not wrap it.
        let long: Vec<&&str> = long.iter().filter(|line| !line.starts_with("Usage:")).collect();
        assert!(long.is_empty(), "{above:?}: {long:#?}");
        for sub in command.get_subcommands() {
            all(sub, &[above, &[sub.get_name()]].concat());
        }
    }
    all(&command(), &[]);
    assert_ne!(help(&[], "80"), help(&[], "60"));
}

/// One page for the command and all its subcommands: a person reads one page, a packager installs one file.
fn page() -> String {
    let mut command = command();
    // Options that each subcommand takes are described once, at the top.
    command.build();
    let mut text = Vec::new();
    let man = Man::new(command.clone()).manual("raspi-mcp").source(concat!("raspi-mcp ", env!("CARGO_PKG_VERSION")));
    man.render_title(&mut text).unwrap();
    man.render_name_section(&mut text).unwrap();
    man.render_synopsis_section(&mut text).unwrap();
    man.render_description_section(&mut text).unwrap();
    man.render_options_section(&mut text).unwrap();
    for sub in command.get_subcommands() {
        subcommand(sub, &mut text);
    }
    text.extend(FILES.as_bytes());
    String::from_utf8(text).unwrap()
}

/// A section for a subcommand, and one for each of its own.
fn subcommand(command: &clap::Command, text: &mut Vec<u8>) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    // A command's own arguments: those that every one takes stand at the top.
    let hidden = ["config", "set", "help", "version"];
    let own =
        command.clone().mut_args(|arg| if hidden.contains(&arg.get_id().as_str()) { arg.hide(true) } else { arg });
    let man = Man::new(own);
    text.extend(format!(".SH \"{name}\"\n").as_bytes());
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    text.extend(format!("{}\n", about.replace('\\', "\\\\")).as_bytes());
    let mut options = Vec::new();
    man.render_options_section(&mut options).unwrap();
    let options = String::from_utf8(options).unwrap();
    text.extend(options.replace(".SH OPTIONS", ".SS Options").as_bytes());
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        subcommand(sub, text);
    }
}

const FILES: &str = r#".SH FILES
.TP
\fI/etc/raspi\-mcp/*.toml\fR
The configuration files, read in the order of their names. docs/configuration.md lists every key.
.TP
\fI/usr/lib/raspi\-mcp/conf.d/*.toml\fR
The configuration files of the image, read before those.
.TP
\fI/run/raspi\-mcp/mcp.sock\fR, \fI/run/raspi\-mcp\-agent/agent.sock\fR
The sockets of the server and the agent.
.TP
\fI/var/lib/raspi\-mcp\fR, \fI/var/lib/raspi\-mcp\-agent\fR
The stored state of the server and the agent.
.PP
For a user other than root and raspi\-mcp, these paths are below that user's XDG folders.
.SH "SEE ALSO"
.BR systemctl (1),
.BR journalctl (1)
"#;

#[test]
fn the_man_page_is_current() {
    let page = page();
    for said in ["\\-\\-stdio", "Exit codes: 0 done", "RASPI-MCP AUDIT VERIFY", ".SH FILES"] {
        assert!(page.contains(said), "{said}:\n{page}");
    }
    current("man/raspi-mcp.1", &page);
}

#[test]
fn the_completions_are_current_and_know_each_subcommand() {
    for (shell, name) in [(Shell::Bash, "raspi-mcp.bash"), (Shell::Zsh, "_raspi-mcp"), (Shell::Fish, "raspi-mcp.fish")]
    {
        let text = completions(shell);
        for sub in cli::command().get_subcommands() {
            let is_known = text.contains(sub.get_name());
            assert!(is_known || sub.is_hide_set(), "{name} does not know {}", sub.get_name());
        }
        current(&format!("completions/{name}"), &text);
    }
}
