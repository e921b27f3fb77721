//! A password from a prompt that does not show it, from a file or from standard input; never from the command line,
//! which all users of a machine can read.

use crate::{
    cli::{
        exit::{Exit, Failure},
        hidden::HiddenInput,
    },
    routeros::{configured, device::Secret},
};
use std::{io, path::Path};

const PASSWORD: HiddenInput = HiddenInput { what: "password", option: "--password-file" };

/// The password: from `file`, from standard input for `-`, or typed without being shown.
pub fn of(file: Option<&Path>, user: &str) -> Result<Secret, Failure> {
    match file {
        Some(file) if file != Path::new("-") => Ok(configured::password(file)?),
        Some(_) => checked(&PASSWORD.read(io::stdin())?),
        None => checked(&PASSWORD.asked(&format!("password of {user} on the router: "))?),
    }
}

fn checked(text: &str) -> Result<Secret, Failure> {
    configured::checked(text).map_err(|why| Failure::new(Exit::Usage, format!("the password: {why}")))
}
