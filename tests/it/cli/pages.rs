//! The man page and the completions in `dist/` are what this command line makes of itself; `BLESS=1` rewrites them.

use clap_complete::{Shell, generate};
use clap_mangen::Man;
use raspi_mcp::cli;
use std::{fs, path::Path};

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

fn completions(shell: Shell) -> String {
    let mut text = Vec::new();
    generate(shell, &mut command(), "raspi-mcp", &mut text);
    String::from_utf8(text).unwrap()
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
            assert!(text.contains(sub.get_name()), "{name} does not know {}", sub.get_name());
        }
        current(&format!("completions/{name}"), &text);
    }
}
