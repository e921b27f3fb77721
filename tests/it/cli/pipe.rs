//! A reader that goes early (`| head -1`, `| grep -q`) is no failure of the command; output that a full disk does not take
//! is one.

use std::process::{Command, Stdio};

#[test]
fn a_reader_that_has_gone_has_what_it_wanted() {
    for args in [["tools", "--policy"], ["tools", "--json"], ["schema", "system.get_clock"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
        command.args(args).stdout(writer).stderr(Stdio::piped());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{args:?}: {} {said}", output.status);
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure_with_a_code_of_the_list() {
    for args in [vec!["tools"], vec!["--help"], vec!["--version"], vec!["--set", "board=simulated", "pins", "--svg"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
        let home = tempfile::tempdir().unwrap();
        let places = ["HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"].map(|name| (name, home.path()));
        let output = command.args(&args).env_clear().envs(places).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("standard output cannot be written") && !said.contains("panicked"), "{args:?}: {said}");
    }
}
