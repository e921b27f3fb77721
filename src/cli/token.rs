//! `raspi-mcp token`: creates, lists and revokes bearer tokens. A running server detects changes by itself.

use super::exit::{Exit, Failure};
use super::say::outln;
use super::sources;
use crate::registry::Registry;
use base::{
    error::ToolError,
    os::{Root, groups, whole},
};
use contract::{
    access::token::{self, Token},
    config::{self, KeptToken, SERVER_USER, Sources, TokenFiles, TokenSetting, is_name},
    meta::Role,
};
use std::{
    fs::{self, DirBuilder},
    io::Write,
    os::unix::fs::{DirBuilderExt, fchown},
    path::PathBuf,
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Args)]
struct What {
    /// The token's name, e.g. of the device that will use it: laptop
    #[arg(long)]
    name: String,
    /// The token's role: read_only, ops_rw or admin
    #[arg(long, value_parser = super::serve::role)]
    role: Role,
    /// The token's owner. Credentials of one owner share pin leases and limits
    #[arg(long)]
    owner: Option<String>,
    /// When it expires, e.g. 2027-01-01T00:00:00Z; default: never
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Create a token and print it once; a running server accepts it immediately
    Make(What),
    /// Create a token and print it once, with the configuration lines that make a server accept it
    New(What),
    /// List the configured tokens by name; the tokens themselves are not stored
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a token from the configuration; a running server closes its connections immediately
    Revoke {
        /// The token's name, as in `raspi-mcp token list`
        name: String,
    },
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let gather = || sources.gather(&Registry::new(crate::tools::NAMESPACES), Vec::new());
    match args.command {
        Command::Make(what) => {
            let sources = gather()?;
            let wanted = TokenRequest { expires: what.expires()?, name: what.name, role: what.role, owner: what.owner };
            let CreatedToken { secret, file } = make(wanted, &sources)?;
            outln!(
                "This is the token. It is shown only now; give it to whoever will use it, and to nobody else:\n\n    {secret}\n\n{} has \
                 its hash. A running server accepts it from now on.",
                file.display()
            );
            Ok(())
        }
        Command::New(what) => {
            let expires = what.expires()?;
            outln!("{}", token::run_new(&what.name, what.role, what.owner.as_deref(), expires)?.trim_end());
            Ok(())
        }
        Command::List { json } => {
            outln!("{}", list(json, &gather()?)?.trim_end());
            Ok(())
        }
        Command::Revoke { name } => {
            outln!("{}", revoke(&name, &gather()?)?);
            Ok(())
        }
    }
}

impl What {
    fn expires(&self) -> Result<Option<OffsetDateTime>, Failure> {
        let parsed = self.expires.as_ref().map(|text| OffsetDateTime::parse(text, &Rfc3339)).transpose();
        parsed.map_err(|error| {
            Failure::new(Exit::Usage, format!("--expires: {error}; write it like 2027-01-01T00:00:00Z"))
        })
    }
}

/// The tokens as a running server reads them.
fn kept(sources: &Sources) -> Result<Vec<KeptToken>, Failure> {
    let set_aside = config::load(sources).map(|settings| settings.restricted).unwrap_or_default();
    Ok(TokenFiles::of(sources).read(&set_aside)?)
}

/// The file of a token that was created by this command.
fn file_of(name: &str, sources: &Sources) -> PathBuf {
    sources.places.site_dir.join(format!("60-token-{name}.toml"))
}

/// The requested token.
pub struct TokenRequest {
    pub name: String,
    pub role: Role,
    pub owner: Option<String>,
    pub expires: Option<OffsetDateTime>,
}

/// A created token.
pub struct CreatedToken {
    /// Shown once.
    pub secret: String,
    /// The file with its hash.
    pub file: PathBuf,
}

/// Creates a token and writes its hash into its own fragment.
///
/// # Errors
/// An invalid or used name, a configuration that cannot be read, a folder that cannot be written: then nothing was
/// created.
pub fn make(what: TokenRequest, sources: &Sources) -> Result<CreatedToken, Failure> {
    let refuse = |message: String| Err(Failure::new(Exit::Refused, message));
    if let Some(file) = &sources.file {
        return refuse(format!(
            "with --config this server reads {} and no folder that a token could be put into; `raspi-mcp token new` prints \
             the lines for that file",
            file.display()
        ));
    }
    token::check_names(&what.name, what.owner.as_deref())?;
    // With an invalid configuration a new token would not become valid.
    let before = kept(sources)?;
    if let Some(taken) = before.iter().find(|token| token.setting.name == what.name) {
        return refuse(format!(
            "there is a token named {} already, in {}; revoke it first, or take another name",
            what.name,
            taken.file.display()
        ));
    }
    let token = Token::mint()?;
    let setting = TokenSetting {
        name: what.name.clone(),
        sha256: token.sha256(),
        role: what.role,
        owner: what.owner,
        expires: what.expires,
    };
    let file = file_of(&what.name, sources);
    put(&file, &token::lines(&setting)?)?;
    // Read it as the server does; if the token would not be valid, remove it.
    let counts = kept(sources).and_then(|kept| match kept.iter().any(|kept| kept.setting == setting) {
        true => Ok(()),
        false => Err(Failure::new(Exit::Failed, format!("{} was written and is not read", file.display()))),
    });
    if let Err(failure) = counts {
        let _ = whole::remove(&file);
        return Err(Failure::new(failure.exit, format!("no token was made: {}", failure.message)));
    }
    Ok(CreatedToken { secret: token.reveal().to_owned(), file })
}

/// Writes one file that the server may read and others may not.
fn put(file: &std::path::Path, text: &str) -> Result<(), Failure> {
    let write = || {
        if let Some(folder) = file.parent() {
            DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
        }
        whole::replace(file, 0o640, |new| {
            if rustix::process::geteuid().is_root()
                && let Some((_, group)) = groups::user_ids(&Root::system(), SERVER_USER)
            {
                fchown(&*new, None, Some(group))?;
            }
            new.write_all(text.as_bytes())
        })
    };
    write().map_err(|error: std::io::Error| {
        let who = if error.kind() == std::io::ErrorKind::PermissionDenied { "; do it as root" } else { "" };
        Failure::new(Exit::Failed, format!("no token was made: {} cannot be written: {error}{who}", file.display()))
    })
}

/// The configured tokens, for people or as JSON.
///
/// # Errors
/// A configuration that cannot be read.
pub fn list(json: bool, sources: &Sources) -> Result<String, Failure> {
    let kept = kept(sources)?;
    if json {
        let all: Vec<serde_json::Value> = kept
            .iter()
            .map(|token| {
                let mut shown = token.setting.summary();
                shown["file"] = token.file.display().to_string().into();
                shown["made"] = made(token).into();
                shown
            })
            .collect();
        return Ok(format!("{:#}", serde_json::Value::Array(all)));
    }
    if kept.is_empty() {
        return Ok("the configuration has no token; `raspi-mcp token make` makes one".into());
    }
    let mut text = format!("{:<20} {:<10} {:<16} {:<21} {:<21} file\n", "name", "role", "owner", "made", "expires");
    for token in &kept {
        let TokenSetting { name, role, owner, expires, .. } = &token.setting;
        let expires = expires.and_then(|moment| moment.format(&Rfc3339).ok());
        let (owner, made) = (owner.as_deref().unwrap_or("-"), made(token));
        let (made, expires) = (made.as_deref().unwrap_or("-"), expires.as_deref().unwrap_or("never"));
        let (role, file) = (role.name(), token.file.display());
        text.push_str(&format!("{name:<20} {role:<10} {owner:<16} {made:<21} {expires:<21} {file}\n"));
    }
    Ok(text)
}

/// When its file was written, to the second, in UTC; `None` if the file has other contents too.
fn made(token: &KeptToken) -> Option<String> {
    let modified = fs::metadata(&token.file).ok().filter(|_| token.alone)?.modified().ok()?;
    OffsetDateTime::from(modified).replace_nanosecond(0).ok()?.format(&Rfc3339).ok()
}

/// Removes a token from the configuration; returns the consequences as text.
///
/// # Errors
/// No token with that name, a file with other contents too, or a file that cannot be removed. Also if a running server
/// cannot load the change because another file is invalid.
pub fn revoke(name: &str, sources: &Sources) -> Result<String, Failure> {
    let refuse = |message: String| Err(Failure::new(Exit::Refused, message));
    let own = file_of(name, sources);
    let (file, others) = match kept(sources) {
        Ok(kept) => {
            let Some(found) = kept.iter().find(|token| token.setting.name == name) else {
                let known: Vec<&str> = kept.iter().map(|token| token.setting.name.as_str()).collect();
                let near =
                    config::nearest(name, known).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                return Err(ToolError::not_found(format!("the configuration has no token named {name:?}{near}"))
                    .hint("`raspi-mcp token list` shows all of them")
                    .into());
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
            (found.file.clone(), kept.len() - 1)
        }
        // An error elsewhere must not prevent revoking a token that was created here.
        Err(_) if is_name(name, 64) && own.is_file() => (own, usize::MAX),
        Err(failure) => return Err(failure),
    };
    fs::remove_file(&file).map_err(|error| {
        let who = if error.kind() == std::io::ErrorKind::PermissionDenied { "; do it as root" } else { "" };
        Failure::new(Exit::Failed, format!("nothing was revoked: {} cannot be removed: {error}{who}", file.display()))
    })?;
    if let Err(failure) = kept(sources) {
        // The server keeps its previous tokens until it can read the files.
        let why = format!(
            "{} is removed, and a running server does NOT notice: it keeps all its tokens while another file is wrong. Mend that, \
             or restart raspi-mcp:\n{}",
            file.display(),
            failure.message
        );
        return Err(Failure::new(Exit::Config, why));
    }
    let more = match config::load(sources) {
        Err(faults) => format!("\nWithout it the next start of the server is refused:\n{faults}"),
        Ok(_) if others == 0 => "\nIt was the last token.".into(),
        Ok(_) => String::new(),
    };
    Ok(format!("{name} is revoked: {} is removed, and a running server ends its connections.{more}", file.display()))
}
