//! A reader that goes early (`| head -1`, `| grep -q`) is no failure of the command.

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
