//! The passphrase of a backup: from a prompt that does not show it, a file or standard input; never from the command line,
//! which all users of a machine can read.

use crate::{
    cli::{
        exit::{Exit, Failure},
        hidden::typed,
    },
    terminal,
};
use appliance::backup::sealed::{PASSPHRASE_IS, is_passphrase};
use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::Path,
};

/// Longest input, in bytes.
const LONGEST: u64 = 4096;

/// A passphrase for a new backup, typed twice where it is typed.
pub fn new(file: Option<&Path>) -> Result<String, Failure> {
    let passphrase = given(file, "passphrase of the backup: ")?;
    if file.is_none() && given(None, "once more: ")? != passphrase {
        return Err(Failure::new(Exit::Usage, "the two passphrases differ"));
    }
    if !is_passphrase(&passphrase) {
        return Err(Failure::new(Exit::Usage, format!("the passphrase of a backup has {PASSPHRASE_IS}")));
    }
    Ok(passphrase)
}

/// The passphrase of a backup that exists.
pub fn known(file: Option<&Path>) -> Result<String, Failure> {
    given(file, "passphrase of the backup: ")
}

fn given(file: Option<&Path>, question: &str) -> Result<String, Failure> {
    let failed = |error: io::Error| Failure::new(Exit::Failed, format!("the passphrase cannot be read: {error}"));
    let mut text = String::new();
    match file {
        Some(path) if path == Path::new("-") => io::stdin().take(LONGEST).read_to_string(&mut text).map_err(failed)?,
        Some(path) => File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text)).map_err(failed)?,
        None if io::stdin().is_terminal() => {
            terminal::err(format_args!("{question}"));
            text = typed().map_err(failed)?;
            terminal::err(format_args!("\n"));
            text.len()
        }
        None => {
            return Err(Failure::new(
                Exit::Usage,
                "the passphrase is asked for on a terminal; elsewhere give --passphrase-file FILE, or - for standard input",
            ));
        }
    };
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
