//! What `systemd-analyze verify` says of a unit. It loads the unit's files as systemd does, and runs nothing: no command
//! of the unit, no generator, and with `--man=no` no `man` (systemd-analyze(1)).

use crate::os::Root;
use std::{io, process::Stdio, time::Duration};
use tokio::{io::AsyncReadExt, process::Command, time::timeout};

/// Bytes of its output that are read; a unit with a fault in every line says less.
const LONGEST: u64 = 64 * 1024;
/// It takes some milliseconds on a computer and half a second on a Raspberry Pi Zero.
const PATIENCE: Duration = Duration::from_secs(10);

/// One line of its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// As in syslog(3): up to 3 for errors, 4 for warnings.
    pub level: u8,
    pub text: String,
}

/// The result.
#[derive(Debug, PartialEq, Eq)]
pub enum Verified {
    NotInstalled,
    /// What it says about this unit; nothing when all is well.
    Said(Vec<Finding>),
    /// It failed without a word about the unit; its last line.
    Failed(String),
}

/// Verifies the loaded unit `name`, validated by the caller. `known_as` are the unit's id and files: other lines, about
/// units it depends on, are left out.
///
/// # Errors
/// Those of starting the program and reading its output; `TimedOut` after 10 seconds.
pub async fn verify(root: &Root, name: &str, known_as: &[&str]) -> io::Result<Verified> {
    let places = ["usr/bin/systemd-analyze", "bin/systemd-analyze"];
    let Some(program) = places.into_iter().map(|at| root.path(at)).find(|path| path.exists()) else {
        return Ok(Verified::NotInstalled);
    };
    let mut child = Command::new(program)
        .args(["verify", "--man=no", "--recursive-errors=no", "--", name])
        .env_clear()
        // Each line begins with its level as <N> (sd-daemon(3)).
        .envs([("LC_ALL", "C.UTF-8"), ("SYSTEMD_LOG_TARGET", "console-prefixed"), ("SYSTEMD_LOG_LEVEL", "warning")])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut said = Vec::new();
    let run = async {
        if let Some(pipe) = child.stderr.take() {
            // The pipe is closed after that, which ends a program that says more.
            pipe.take(LONGEST).read_to_end(&mut said).await?;
        }
        child.wait().await
    };
    let status = timeout(PATIENCE, run).await.map_err(|_| io::ErrorKind::TimedOut)??;
    let said = String::from_utf8_lossy(&said);
    let findings: Vec<Finding> = said.lines().filter(|line| names_one(line, known_as)).map(Finding::of).collect();
    if findings.is_empty() && !status.success() {
        return Ok(Verified::Failed(
            said.lines().last().map_or_else(|| status.to_string(), |line| Finding::of(line).text),
        ));
    }
    Ok(Verified::Said(findings))
}

/// Whether a word of the line is one of these, before a line number and punctuation.
fn names_one(line: &str, known_as: &[&str]) -> bool {
    let line = Finding::of(line).text;
    line.split_whitespace().any(|word| {
        known_as.contains(&word.trim_end_matches(|letter: char| letter.is_ascii_digit() || ":,.".contains(letter)))
    })
}

impl Finding {
    /// `<27>text`: the facility times 8, and the level. Without it, an error.
    fn of(line: &str) -> Self {
        let prefixed = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        match prefixed.and_then(|(number, text)| Some((number.parse::<u8>().ok()?, text))) {
            Some((number, text)) => Self { level: number % 8, text: text.into() },
            None => Self { level: 3, text: line.into() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_about_the_unit_that_it_names() {
        let known = ["app.service", "/etc/systemd/system/app.service"];
        for line in [
            "<27>app.service: Command /usr/bin/none is not executable: No such file or directory",
            "<28>/etc/systemd/system/app.service:4: Unknown key 'Bogus' in section [Unit], ignoring.",
            "Unit app.service not found.",
        ] {
            assert!(names_one(line, &known), "{line}");
        }
        for line in ["<28>/lib/systemd/system/my-app.service:4: Unknown key", "db.service: Command x", ""] {
            assert!(!names_one(line, &known), "{line}");
        }
    }

    #[test]
    fn levels_are_syslogs() {
        assert_eq!(Finding::of("<28>a"), Finding { level: 4, text: "a".into() });
        assert_eq!(Finding::of("<3>a"), Finding { level: 3, text: "a".into() });
        assert_eq!(Finding::of("<x>a").text, "<x>a");
    }
}
