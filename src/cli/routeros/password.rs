//! A password from a prompt that does not show it, from a file or from standard input; never from the command line,
//! which all users of a machine can read.

use crate::{
    cli::{
        exit::{Exit, Failure},
        hidden::typed,
    },
    routeros::{configured, device::Secret},
    terminal,
};
use std::{
    io::{self, IsTerminal, Read},
    path::Path,
};

/// Longest input, in bytes.
const LONGEST: u64 = 4096;

/// The password: from `file`, from standard input for `-`, or typed without being shown.
pub fn of(file: Option<&Path>, user: &str) -> Result<Secret, Failure> {
    let failed = |error: io::Error| Failure::new(Exit::Failed, format!("the password cannot be read: {error}"));
    match file {
        Some(file) if file != Path::new("-") => Ok(configured::password(file)?),
        None if io::stdin().is_terminal() => {
            terminal::err(format_args!("password of {user} on the router: "));
            let typed = typed().map_err(failed)?;
            terminal::err(format_args!("\n"));
            checked(&typed)
        }
        None => Err(Failure::new(
            Exit::Usage,
            "the password is asked for on a terminal; elsewhere give --password-file FILE, or - for standard input",
        )),
        Some(_) => {
            let mut text = String::new();
            io::stdin().take(LONGEST).read_to_string(&mut text).map_err(failed)?;
            checked(&text)
        }
    }
}

fn checked(text: &str) -> Result<Secret, Failure> {
    configured::checked(text).map_err(|why| Failure::new(Exit::Usage, format!("the password: {why}")))
}
