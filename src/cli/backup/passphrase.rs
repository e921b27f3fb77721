//! The passphrase of a backup: from a prompt that does not show it, a file or standard input; never from the command line,
//! which all users of a machine can read.

use crate::cli::{
    exit::{Exit, Failure},
    hidden::HiddenInput,
};
use appliance::backup::sealed::{PASSPHRASE_IS, is_passphrase};
use std::{fs::File, io, path::Path};

const PASSPHRASE: HiddenInput = HiddenInput { what: "passphrase", option: "--passphrase-file" };

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
    let text = match file {
        Some(path) if path == Path::new("-") => PASSPHRASE.read(io::stdin())?,
        Some(path) => PASSPHRASE.read(File::open(path).map_err(|error| PASSPHRASE.unread(&error))?)?,
        None => PASSPHRASE.asked(question)?,
    };
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
