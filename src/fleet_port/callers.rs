//! `serve.toml` in the folder of a fleet: whose tokens `fleet.call` uses (docs/fleet.md, "One endpoint for an assistant").

use base::error::ToolError;
use fleet_protocol::name;
use serde::Deserialize;
use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

const FILE: &str = "serve.toml";
/// Bytes of serve.toml, at most.
const LONGEST: u64 = 64 * 1024;
/// Bytes of a file with a token, at most.
const TOKEN_BYTES: u64 = 4096;

/// The callers, each with a folder of device tokens.
pub struct FleetCallers {
    folder: PathBuf,
    callers: Vec<FleetCaller>,
}

/// `[[callers]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FleetCaller {
    /// The principal, as the audit has it.
    name: String,
    /// The folder of its tokens: one file for each device, with the device's name.
    tokens: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    callers: Vec<FleetCaller>,
}

impl FleetCallers {
    /// Reads serve.toml in the fleet's folder. Without the file, nobody has a token.
    ///
    /// # Errors
    /// `invalid_argument` that says what is wrong with it.
    pub fn read(folder: &Path) -> Result<Self, ToolError> {
        let file = folder.join(FILE);
        let text = match limited(&file, LONGEST, |_| Ok(())) {
            Ok(text) => text,
            Err(Unread::Missing) => String::new(),
            Err(Unread::Wrong(why)) => return Err(wrong(&file, &why)),
        };
        let Written { callers } =
            toml::from_str(&text).map_err(|error| wrong(&file, &error.to_string().trim_end().replace('\n', " ")))?;
        for (at, caller) in callers.iter().enumerate() {
            if caller.name.is_empty() || caller.tokens.as_os_str().is_empty() {
                return Err(wrong(&file, "name and tokens of [[callers]] are not empty"));
            }
            if callers[..at].iter().any(|other| other.name == caller.name) {
                return Err(wrong(&file, &format!("the caller {} is there twice", caller.name)));
            }
        }
        Ok(Self { folder: folder.to_owned(), callers })
    }

    /// The token of `caller` for `device`. It is read at each call: a new device needs no restart.
    ///
    /// # Errors
    /// `not_found` for a device that the folder does not have; `permission_denied` that names the file which is missing, or which
    /// everybody may read.
    pub fn token(&self, caller: &str, device: &str) -> Result<String, ToolError> {
        // It becomes part of a path.
        name::check("device", device)?;
        if !self.folder.join("devices").join(format!("{device}.json")).exists() {
            return Err(ToolError::not_found(format!("the fleet has no device {device}"))
                .hint("fleet.list_devices lists them")
                .with("device", device));
        }
        let Some(found) = self.callers.iter().find(|one| one.name == caller) else {
            let file = self.folder.join(FILE);
            return Err(ToolError::denied(format!("{} has no [[callers]] with the name {caller:?}", file.display()))
                .hint(
                    "the owner adds it, with the folder of that caller's device tokens, and starts fleet serve again",
                ));
        };
        let file = self.folder.join(&found.tokens).join(device);
        let denied = |why: &str, hint: String| {
            ToolError::denied(format!("{}: {why}", file.display())).hint(hint).with("device", device)
        };
        let text = limited(&file, TOKEN_BYTES, |about| match about.permissions().mode() & 0o007 {
            0 => Ok(()),
            _ => Err("everybody on this machine may read this token".into()),
        });
        let text = match text {
            Ok(text) => text,
            Err(Unread::Missing) => {
                let hint = format!(
                    "{caller} has no token for {device}: `raspi-mcp token new` on the device prints one, which belongs into this file"
                );
                return Err(denied("this file is missing", hint));
            }
            Err(Unread::Wrong(why)) => return Err(denied(&why, "chmod 600, one token, and nothing else in it".into())),
        };
        let token = text.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(denied("it holds no token", "one line, with the token and nothing else".into()));
        }
        Ok(token.to_owned())
    }
}

enum Unread {
    Missing,
    Wrong(String),
}

/// The text of a file that has at most `most` bytes and passes `check`.
fn limited(file: &Path, most: u64, check: impl FnOnce(&Metadata) -> Result<(), String>) -> Result<String, Unread> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Unread::Missing,
        _ => Unread::Wrong(error.to_string()),
    };
    let about = fs::metadata(file).map_err(failed)?;
    if about.len() > most {
        return Err(Unread::Wrong(format!("it has more than {most} bytes")));
    }
    check(&about).map_err(Unread::Wrong)?;
    fs::read_to_string(file).map_err(failed)
}

fn wrong(file: &Path, why: &str) -> ToolError {
    ToolError::invalid(format!("{}: {why}", file.display()))
        .hint("[[callers]] has name and tokens, and nothing else (docs/fleet.md)")
        .with("configuration", true)
}
