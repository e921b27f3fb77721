//! `raspi-mcp claim`: claims a machine without an owner (docs/claim.md); on that machine, shows how.

mod restore;

use super::{
    approver,
    exit::{Exit, Failure},
    say::{errln, outln},
    sources, target,
};
use crate::{
    claim::{client, led::Led, show::Show, uri},
    daemon,
    registry::Registry,
    terminal,
};
use agent::{
    approvers::{KeyKind, NewApprover, approver_key},
    boot_clock,
};
use appliance::{Code, Folder, certificate::Fingerprint};
use base::{error::ToolError, os::Root};
use contract::config::Settings;
use serde_json::json;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, IsTerminal, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

#[derive(clap::Args)]
pub struct Args {
    /// The machine's address, https://HOST:PORT; or the whole text of its QR code; or "-" to be asked for that text
    #[arg(value_name = "ADDRESS", required_unless_present = "show")]
    address: Option<String>,
    /// The fingerprint of its certificate, as the machine shows it (sha256:...); the code is sent to no other machine
    #[arg(long, value_name = "PIN", value_parser = target::pin)]
    fingerprint: Option<Fingerprint>,
    /// The code that the machine shows; if omitted, the command asks for it. Other users of this computer can see the command line
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// The machine's device ID, as it shows it; the machine must prove it
    #[arg(long, value_name = "ID", value_parser = approver::device)]
    device: Option<String>,
    /// The key that approves for you from now on: the file of `raspi-mcp approver key`, or the public key that it printed. All other approvers are removed
    #[arg(long, value_name = "FILE|KEY")]
    approver: Option<String>,
    /// The approver's name, as the audit log will show it
    #[arg(long, value_name = "NAME", default_value = "owner", requires = "approver")]
    approver_name: String,
    /// The folder of a fleet: the machine becomes its member. The orders are signed with the key of --approver, which has to be its file
    #[cfg(feature = "console")]
    #[arg(long, value_name = "DIR", requires = "approver")]
    fleet: Option<PathBuf>,
    /// The name that the machine shall have in the fleet; default: its host name
    #[cfg(feature = "console")]
    #[arg(long, value_name = "NAME", requires = "fleet")]
    name: Option<String>,
    #[command(flatten)]
    restore: restore::RestoreArgs,
    /// Write the token to this new file, which only you can read, instead of printing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print address, fingerprint and token as JSON
    #[arg(long)]
    json: bool,
    /// Show code, fingerprint, addresses and QR code until the machine has an owner. Runs on the machine itself, as root
    #[arg(long, conflicts_with_all = ["address", "fingerprint", "code", "device", "approver", "out", "json"])]
    #[cfg_attr(feature = "console", arg(conflicts_with = "fleet"))]
    show: bool,
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    if args.show {
        return show(&sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?);
    }
    let claim = wanted(&args)?;
    let approver = args.approver.as_deref().map(|key| first_approver(key, &args.approver_name)).transpose()?;
    #[cfg(feature = "console")]
    let member = match &args.fleet {
        Some(folder) => {
            let key = args.approver.as_deref().unwrap_or_default();
            Some(super::fleet::NewMember::checked(folder, args.name.clone(), Path::new(key))?)
        }
        None => None,
    };
    // Before anything is sent: a token that cannot be stored must not be created.
    let mut kept = args.out.as_deref().map(create).transpose()?;
    let keep = |token: &str| match &mut kept {
        Some((path, file)) => write(file, token).map_err(|error| unwritten(path, &error)),
        None if args.json => said(&format!(
            "{}\n",
            json!({ "url": claim.url.as_str(), "fingerprint": claim.pin.to_string(), "token": token })
        )),
        None => said(&format!("{token}\n")),
    };
    if let Some(file) = args.restore.file() {
        let done = args.restore.run(file, &claim, approver.as_ref(), keep, args.out.is_some());
        return done.inspect_err(|_| args.out.iter().for_each(|path| drop(fs::remove_file(path))));
    }
    let claimed = super::runtime()?.block_on(client::claim(&claim, approver.as_ref(), keep));
    if let Some((path, file)) = &kept
        && file.metadata().is_ok_and(|about| about.len() == 0)
    {
        let _ = fs::remove_file(path);
    }
    let claimed = claimed?;
    if let Some((path, _)) = &kept
        && args.json
    {
        outln!(
            "{}",
            json!({
                "url": claim.url.as_str(), "fingerprint": claim.pin.to_string(), "token_file": path,
                "device": claimed.device,
            })
        );
    }
    if !args.json {
        let name = claimed.name.clone().unwrap_or_else(|| "The machine".into());
        let file = kept.as_ref().map(|(path, _)| path.display().to_string());
        let token =
            file.as_ref().map_or("The token is shown only now".into(), |file| format!("The token is in {file}"));
        // Standard output gets only the token, so that it can be piped.
        errln!(
            "{name} is yours. {token}: whoever has it may do everything.\n\
             Next: raspi-mcp call system.get_basic_info --url {} --pin {} --token-file {}",
            claim.url.as_str().trim_end_matches('/'),
            claim.pin,
            file.as_deref().unwrap_or("FILE")
        );
        if let Some(device) = &claimed.device {
            let url = claim.url.as_str().trim_end_matches('/');
            errln!("{}", approver::how_to_approve(url, Some(claim.pin), args.approver.as_deref(), device));
        }
    }
    #[cfg(feature = "console")]
    if let Some(member) = member {
        let text = member.join(&claim, claimed.name, claimed.device)?;
        if !args.json {
            errln!("{text}");
        }
    }
    Ok(())
}

/// The claiming person's approver, from a secret key's file or a public key.
pub(super) fn first_approver(key: &str, name: &str) -> Result<NewApprover, Failure> {
    let key = match approver_key(key, KeyKind::Cli) {
        Ok(key) => key,
        Err(_) => approver::secret(Path::new(key))?.public(),
    };
    Ok(NewApprover { name: name.into(), kind: KeyKind::Cli, key: key.text().into(), origin: None })
}

/// The machine to claim, its certificate and the code.
fn wanted(args: &Args) -> Result<uri::ClaimUri, Failure> {
    let usage = |why: &str| Failure::new(Exit::Usage, why);
    let address = args.address.as_deref().unwrap_or_default();
    let line = match address {
        "-" => Some(asked("The line of its QR code: ")?),
        line if line.get(..uri::SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(uri::SCHEME)) => {
            Some(line.into())
        }
        _ => None,
    };
    if let Some(line) = line {
        if args.fingerprint.is_some() || args.code.is_some() || args.device.is_some() {
            return Err(usage(
                "the line of a QR code holds fingerprint, code and device: leave --fingerprint, --code and --device out",
            ));
        }
        return Ok(uri::ClaimUri::parse(&line)?);
    }
    let url = uri::address(address)?;
    let pin = args.fingerprint.ok_or_else(|| {
        usage("--fingerprint is missing: without it the code could go to anybody who answers there\n  it stands on the machine's screen, below the code")
    })?;
    let code = match &args.code {
        Some(code) => Code::parse(code),
        None => Code::parse(&asked("The code it shows: ")?),
    };
    Ok(uri::ClaimUri { url, pin, code: code.map_err(ToolError::from)?, device: args.device.clone() })
}

/// Reads a line of standard input.
pub(super) fn asked(question: &str) -> Result<String, Failure> {
    let mut input = io::stdin().lock();
    if io::stdin().is_terminal() {
        terminal::err(format_args!("{question}"));
    }
    let mut line = String::new();
    let failed = |error: io::Error| Failure::new(Exit::Usage, format!("standard input cannot be read: {error}"));
    io::Read::take(&mut input, 1024).read_line(&mut line).map_err(failed)?;
    Ok(line)
}

fn create(path: &Path) -> Result<(PathBuf, File), ToolError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.map(|file| (path.to_owned(), file)).map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &io::Error) -> ToolError {
    ToolError::precondition(format!("--out {}: {error}", path.display())).hint("name a file that is not there yet")
}

fn write(file: &mut File, token: &str) -> io::Result<()> {
    writeln!(file, "{token}")?;
    file.sync_all()
}

/// Prints the token. Unlike other output, it must be written before the machine is told so.
fn said(text: &str) -> Result<(), ToolError> {
    terminal::out(format_args!("{text}")).and_then(|()| io::stdout().flush()).map_err(|error| {
        ToolError::unavailable(format!("the token cannot be printed: {error}")).hint("name a file with --out")
    })
}

/// Runs until the machine has an owner, or until a signal to stop.
fn show(settings: &Settings) -> Result<(), Failure> {
    let root = Root::system();
    if shown_elsewhere(&root) {
        outln!("the same screen is shown on tty1");
        return Ok(());
    }
    let folder = Folder::at(&settings.identity_dir);
    let led = Led::named(&root, &settings.claim.led, folder.path().join("led"));
    let show = Show { folder, root, port: settings.http.listen.port(), boot: boot_clock() };
    if let Some(led) = &led
        && let Err(error) = led.blink()
    {
        errln!("raspi-mcp: LED {} does not blink: {error}", settings.claim.led);
    }
    let ended = super::runtime()?.block_on(async {
        let told = daemon::told_to_stop();
        show.run(&mut io::stdout().lock(), told).await
    });
    if let Some(Err(error)) = led.map(|led| led.restore()) {
        errln!("raspi-mcp: LED {} is not as it was: {error}", settings.claim.led);
    }
    ended.map(drop).map_err(Failure::from)
}

/// Whether standard output is `/dev/console` (5:1) and that is the screen: the instance on tty1 already shows it there.
fn shown_elsewhere(root: &Root) -> bool {
    let about = rustix::fs::fstat(io::stdout()).ok();
    let console = about.is_some_and(|about| about.st_rdev == rustix::fs::makedev(5, 1));
    console
        && root.line("sys/class/tty/console/active").is_ok_and(|active| active.split(' ').next_back() == Some("tty1"))
}
