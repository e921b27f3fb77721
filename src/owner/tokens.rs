//! Bearer tokens in the site's folder: `raspi-mcp token make`, `list` and `revoke`, and the orders. A running server
//! detects changes by itself.

use super::{misconfigured, unreadable};
use agent::REVOKED;
use base::{
    error::ToolError,
    os::{Root, groups, whole},
};
use contract::{
    access::token,
    config::{self, KeptToken, SERVER_USER, Sha256, Sources, TokenFiles, TokenSetting, is_name},
};
use serde_json::{Map, Value, json};
use std::{
    fs::{self, DirBuilder, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// The tokens as a running server reads them.
fn kept(sources: &Sources) -> Result<Vec<KeptToken>, ToolError> {
    let set_aside = config::load(sources).map(|settings| settings.restricted).unwrap_or_default();
    TokenFiles::of(sources).read(&set_aside).map_err(|faults| misconfigured(&faults))
}

/// The file of a token that was made by [`make`].
fn file_of(name: &str, sources: &Sources) -> PathBuf {
    sources.places.site_dir.join(format!("60-token-{name}.toml"))
}

/// Writes a token's hash into a fragment of its own, and returns that file.
///
/// # Errors
/// An invalid or used name, a configuration that cannot be read, a folder that cannot be written: then no token was
/// made.
pub fn make(setting: &TokenSetting, sources: &Sources) -> Result<PathBuf, ToolError> {
    if let Some(file) = &sources.file {
        return Err(ToolError::precondition(format!(
            "with --config this server reads {} and no folder that a token could be put into; `raspi-mcp token new` prints \
             the lines for that file",
            file.display()
        )));
    }
    token::check_names(&setting.name, setting.owner.as_deref())?;
    // With an invalid configuration a new token would not become valid.
    let before = kept(sources)?;
    if let Some(taken) = before.iter().find(|token| token.setting.name == setting.name) {
        return Err(ToolError::precondition(format!(
            "there is a token named {} already, in {}; revoke it first, or take another name",
            setting.name,
            taken.file.display()
        )));
    }
    let file = file_of(&setting.name, sources);
    put(&file, &token::lines(setting)?).map_err(|error| unwritten("no token was made", &file, "be written", &error))?;
    // Read it as the server does; if the token would not be valid, remove it.
    let counts = kept(sources).and_then(|kept| match kept.iter().any(|kept| kept.setting == *setting) {
        true => Ok(()),
        false => Err(ToolError::unavailable(format!("{} was written and is not read", file.display()))),
    });
    if let Err(error) = counts {
        let _ = whole::remove(&file);
        let message = format!("no token was made: {}", error.message);
        return Err(error.with_message(message));
    }
    Ok(file)
}

/// Writes one file that the server may read and others may not.
fn put(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    }
    whole::replace(file, 0o640, |new| {
        if rustix::process::geteuid().is_root()
            && let Some((_, group)) = groups::user_ids(&Root::system(), SERVER_USER)
        {
            fchown(&*new, None, Some(group))?;
        }
        // Also with the agent's umask, which leaves the group nothing.
        new.set_permissions(Permissions::from_mode(0o640))?;
        new.write_all(text.as_bytes())
    })
}

fn unwritten(what: &str, file: &Path, verb: &str, error: &io::Error) -> ToolError {
    let message = format!("{what}: {} cannot {verb}: {error}", file.display());
    match error.kind() {
        io::ErrorKind::PermissionDenied => ToolError::denied(message).hint("do it as root"),
        _ => ToolError::unavailable(message).hint("look at the file system and its free space, then try again"),
    }
}

/// The configured tokens, for people and as JSON.
///
/// # Errors
/// A configuration that cannot be read.
pub fn list(sources: &Sources) -> Result<Value, ToolError> {
    let kept = kept(sources)?;
    let all: Vec<Value> = kept
        .iter()
        .map(|token| {
            let mut shown = token.setting.summary();
            shown["file"] = token.file.display().to_string().into();
            shown["made"] = made(token).into();
            shown
        })
        .collect();
    if kept.is_empty() {
        let none = "the configuration has no token; `raspi-mcp token make` makes one";
        return Ok(json!({ "text": none, "tokens": all }));
    }
    let mut text = format!("{:<20} {:<10} {:<16} {:<21} {:<21} file", "name", "role", "owner", "made", "expires");
    for token in &kept {
        let TokenSetting { name, role, owner, expires, .. } = &token.setting;
        let expires = expires.and_then(|moment| moment.format(&Rfc3339).ok());
        let (owner, made) = (owner.as_deref().unwrap_or("-"), made(token));
        let (made, expires) = (made.as_deref().unwrap_or("-"), expires.as_deref().unwrap_or("never"));
        let (role, file) = (role.name(), token.file.display());
        text.push_str(&format!("\n{name:<20} {role:<10} {owner:<16} {made:<21} {expires:<21} {file}"));
    }
    Ok(json!({ "text": text, "tokens": all }))
}

/// When its file was written, to the second, in UTC; `None` if the file has other contents too.
fn made(token: &KeptToken) -> Option<String> {
    let modified = fs::metadata(&token.file).ok().filter(|_| token.alone)?.modified().ok()?;
    OffsetDateTime::from(modified).replace_nanosecond(0).ok()?.format(&Rfc3339).ok()
}

/// Removes a token from the configuration; returns the consequences as text, and the hash of what was removed, which the
/// agent records.
///
/// # Errors
/// No token with that name, a file with other contents too, or a file that cannot be removed. Also if a running server
/// cannot load the change because another file is invalid.
pub fn revoke(name: &str, sources: &Sources) -> Result<(String, Vec<Sha256>), ToolError> {
    let (file, others) = found(name, sources)?;
    let hashes = hashes_in(&file);
    fs::remove_file(&file).map_err(|error| unwritten("nothing was revoked", &file, "be removed", &error))?;
    if let Err(error) = kept(sources) {
        // The server keeps its previous tokens until it can read the files.
        let message = format!(
            "{} is removed, and a running server does NOT notice: it keeps all its tokens while another file is wrong. Mend that, \
             or restart raspi-mcp:\n{}",
            file.display(),
            error.message
        );
        return Err(error.with_message(message).with("changed", true).with(REVOKED, json!(hashes)));
    }
    let more = match config::load(sources) {
        Err(faults) => format!("\nWithout it the next start of the server is refused:\n{faults}"),
        Ok(_) if others == 0 => "\nIt was the last token.".into(),
        Ok(_) => String::new(),
    };
    let text =
        format!("{name} is revoked: {} is removed, and a running server ends its connections.{more}", file.display());
    Ok((text, hashes))
}

/// The hashes of the tokens in a file.
fn hashes_in(file: &Path) -> Vec<Sha256> {
    let text = fs::read_to_string(file).unwrap_or_default();
    token::in_fragment(&text).into_iter().map(|token| token.sha256).collect()
}

/// The file of a token that can be revoked, and the number of the other tokens.
fn found(name: &str, sources: &Sources) -> Result<(PathBuf, usize), ToolError> {
    let refuse = |message: String| Err(ToolError::precondition(message));
    let own = file_of(name, sources);
    let kept = match kept(sources) {
        Ok(kept) => kept,
        // An error elsewhere must not prevent revoking a token that was made here.
        Err(_) if is_name(name, 64) && own.is_file() => return Ok((own, usize::MAX)),
        Err(error) => return Err(error),
    };
    let Some(found) = kept.iter().find(|token| token.setting.name == name) else {
        let known: Vec<&str> = kept.iter().map(|token| token.setting.name.as_str()).collect();
        let near = config::nearest(name, known).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        return Err(ToolError::not_found(format!("the configuration has no token named {name:?}{near}"))
            .hint("`raspi-mcp token list` shows all of them"));
    };
    let in_site = found.file.parent() == Some(&*sources.places.site_dir) && sources.file.is_none();
    if found.file.starts_with(&sources.places.identity_dir) {
        return refuse(format!(
            "the token {name} belongs to this machine's identity, which is made anew at each start: docs/first-boot.md says what \
             changes it"
        ));
    }
    if !(found.alone && in_site) {
        return refuse(format!(
            "the token {name} is in {}, which {}; take its [[access.tokens]] out there: a running server notices",
            found.file.display(),
            if in_site { "says other things as well" } else { "is not a file of the site's folder" },
        ));
    }
    Ok((found.file.clone(), kept.len() - 1))
}

/// The order `make_token`: its secret stays with who ordered it.
pub(super) fn ordered(sources: &Sources, args: Map<String, Value>) -> Result<Value, ToolError> {
    let setting: TokenSetting = serde_json::from_value(Value::Object(args)).map_err(|error| unreadable(&error))?;
    let file = make(&setting, sources)?;
    let text = format!("{} has the hash of {}. A running server accepts it from now on.", file.display(), setting.name);
    Ok(json!({ "text": text, "token": setting.summary() }))
}

/// The order `revoke_token`.
pub(super) fn ordered_revoke(sources: &Sources, args: &Map<String, Value>) -> Result<Value, ToolError> {
    let name = args.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| ToolError::invalid("args.name is the token's name").with("name", "name"))?;
    revoke(name, sources).map(|(text, hashes)| json!({ "text": text, REVOKED: hashes }))
}
