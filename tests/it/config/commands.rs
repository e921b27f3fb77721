//! `[[exec.commands]]`: what may be run, and what a mistake in it is answered with.

use super::Machine;

const SITE: &str = "/etc/raspi-mcp/10-site.toml";

#[test]
fn there_are_none_until_somebody_names_one() {
    assert!(!Machine::new().starts().exec.is_on());
}

#[test]
fn every_field_says_what_it_wants() {
    let pi = Machine::new().site(
        "[[exec.commands]]\nname = \"My Tool\"\nprogram = \"bin/du\"\nargs = [\"(\"]\noptions = \"-h\"\n\
         env = [\"LD_PRELOAD\"]\ntimeout_seconds = 0\nuser = \"Root\"\nshell = true\n[[exec.commands]]\nname = \"a\"\n",
    );
    let said = pi.refuses();
    for (line, what) in [
        ("2:8", "exec.commands.name must be 1 to 64 characters"),
        ("3:11", "exec.commands.program must be the full path of a program"),
        ("4:9", "exec.commands.args: \"(\" is no regular expression"),
        ("5:11", "exec.commands.options must be a list of regular expressions"),
        ("6:8", "\"LD_PRELOAD\" is no variable a caller may set"),
        ("7:19", "exec.commands.timeout_seconds must be a whole number of seconds from 1 to 600"),
        ("8:8", "exec.commands.user must be the name of an account"),
        ("9:1", "unknown key \"shell\" in [[exec.commands]]"),
        ("10:1", "this command has no program"),
    ] {
        let wanted = format!("{SITE}:{line}: ");
        assert!(
            said.iter().any(|fault| fault.starts_with(&wanted) && fault.contains(what)),
            "{line} {what}: {said:#?}"
        );
    }
}

#[test]
fn a_pattern_stays_within_its_brackets() {
    for pattern in ["a)|(b", "(", "[z-a]", &"a".repeat(257)] {
        let text = format!("[[exec.commands]]\nname = \"a\"\nprogram = \"/bin/a\"\nargs = ['{pattern}']\n");
        assert!(!Machine::new().site(&text).refuses().is_empty(), "{pattern}");
    }
}

#[test]
fn never_our_own_program_and_never_as_root_or_the_server() {
    for text in [
        "[[exec.commands]]\nname = \"a\"\nprogram = \"/usr/bin/raspi-mcp\"\n",
        "[exec]\nuser = \"root\"\n",
        "[exec]\nuser = \"raspi-mcp\"\n",
        "[[exec.commands]]\nname = \"a\"\nprogram = \"/bin/a\"\nuser = \"root\"\n",
        "[[exec.commands]]\nname = \"a\"\nprogram = \"/bin/../bin/a\"\n",
    ] {
        assert!(!Machine::new().site(text).refuses().is_empty(), "{text}");
    }
}

#[test]
fn roots_do_not_lay_open_what_is_ours() {
    for root in ["/", "/run", "/run/raspi-mcp", "/proc/1", "/dev", "/sys", "/etc/raspi-mcp", "/etc"] {
        let refused = Machine::new().site(&format!("[exec]\ncwd_roots = [\"{root}\"]\n")).refuses().concat();
        assert!(refused.contains("which overlaps"), "{root}: {refused}");
    }
    assert_eq!(Machine::new().site("[exec]\ncwd_roots = [\"/srv/work\"]\n").starts().exec.cwd_roots.len(), 1);
}

#[test]
fn names_differ_and_only_a_file_of_the_owner_names_them() {
    let command = "[[exec.commands]]\nname = \"a\"\nprogram = \"/bin/a\"\n";
    let twice = Machine::new().site(command).file("/etc/raspi-mcp/20.toml", command).refuses().concat();
    assert!(twice.contains("there is a command named \"a\" already"), "{twice}");
    let variable = Machine::new().variable("RASPI_MCP__EXEC__COMMANDS", "a").refuses().concat();
    assert!(variable.contains("can only be set in a file"), "{variable}");
    assert!(Machine::new().state(command).starts().is_restricted());
    assert!(Machine::new().state("[exec]\nshell = true\n").starts().is_restricted());
    assert!(Machine::new().state("[process]\nprotected = [\"nginx\"]\n").starts().process.protected.len() > 5);
}
