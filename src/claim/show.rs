//! `raspi-mcp claim --show`: the screen of a machine that waits for its owner, or whose owner enrols the first approver.

use super::{news::ChangeWatcher, qr, uri::ClaimUri};
use agent::{BootClock, hostname::is_label};
use appliance::{ApplianceState, CurrentClaim, Folder, certificate::Fingerprint};
use base::{
    error::ToolError,
    os::{Root, addresses},
};
use std::{
    io::{self, Write},
    net::IpAddr,
    time::Duration,
};

/// Clears the screen and the scrollback.
const CLEAR: &str = "\x1b[H\x1b[2J\x1b[3J";
/// Most addresses shown: a person does not choose from more.
const MOST_ADDRESSES: usize = 6;

/// The machine and where its claim is stored.
pub struct Show {
    pub folder: Folder,
    pub root: Root,
    pub port: u16,
    pub boot: BootClock,
}

/// The current contents of the screen.
enum Scene {
    Over,
    Waiting(Box<(CurrentClaim, ApplianceState)>),
    /// The code was used, and the owner is being written.
    Between,
}

impl Show {
    /// Shows the claim on `screen` until the machine has an owner or `told` resolves, then clears the code; the same for
    /// an enrolment, until it ends. Returns whether the machine has an owner.
    ///
    /// # Errors
    /// `failed_precondition` if this is not an appliance; `permission_denied` for all but root; `unavailable` if the
    /// screen cannot be written.
    pub async fn run(&self, screen: &mut impl Write, told: impl Future<Output = ()>) -> Result<bool, ToolError> {
        let mut told = std::pin::pin!(told);
        // Registered before reading the state, so that no change is missed.
        let news = ChangeWatcher::of(self.folder.path()).map_err(|error| self.failed(&error))?;
        let mut enrols = false;
        let over = loop {
            let left = match self.scene()? {
                Scene::Over => break true,
                Scene::Between => Duration::ZERO,
                Scene::Waiting(shown) => {
                    let (claim, standing) = *shown;
                    enrols = standing.claimed;
                    let left = claim.until.saturating_sub((self.boot)());
                    put(screen, &self.drawn(&claim, &standing, left))?;
                    left
                }
            };
            let late = async {
                if left.is_zero() {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(left).await;
            };
            tokio::select! {
                changed = news.next() => changed.map_err(|error| self.failed(&error))?,
                () = late => {}
                () = &mut told => break false,
            }
        };
        let last = match (over, enrols) {
            (true, false) => "This machine has its owner now.\n",
            (true, true) => "The enrolment is over.\n",
            (false, _) => "",
        };
        put(screen, &format!("{CLEAR}{last}"))?;
        Ok(over)
    }

    fn scene(&self) -> Result<Scene, ToolError> {
        let standing = self.folder.standing().map_err(|error| self.failed(&error))?;
        let Some(standing) = standing else {
            return Err(ToolError::precondition(format!("{} holds no identity", self.folder.path().display())).hint(
                "this is no appliance, or raspi-mcp-prepare.service failed: systemctl status raspi-mcp-prepare",
            ));
        };
        let claim = self.folder.claim().map_err(|error| self.failed(&error))?;
        // With an owner, an open one is the enrolment of an approver.
        let open = |claim: &CurrentClaim| claim.tries_left > 0 && (self.boot)() < claim.until;
        if standing.claimed && !claim.as_ref().is_some_and(open) {
            return Ok(Scene::Over);
        }
        Ok(claim.map_or(Scene::Between, |claim| Scene::Waiting(Box::new((claim, standing)))))
    }

    fn drawn(&self, claim: &CurrentClaim, standing: &ApplianceState, left: Duration) -> String {
        let mut text = String::from(CLEAR);
        let say = |text: &mut String, line: &str| text.push_str(&format!("{line}\n"));
        if left.is_zero() || claim.tries_left == 0 {
            let why = if left.is_zero() { "The time for a claim is over." } else { "Too many wrong codes were tried." };
            say(&mut text, "raspi-mcp: this machine has no owner yet.\n");
            say(&mut text, &format!("{why} Take the power from it and give it back: it then shows a new code."));
            return text;
        }
        let (hosts, device) = (self.hosts(), self.folder.device());
        let pin = standing.fingerprint.as_deref().and_then(Fingerprint::parse);
        if let (Some(host), Some(pin), false) = (hosts.first(), pin, standing.claimed) {
            text.push_str(&qr::drawn(&ClaimUri::line(host, pin, &claim.code, device.as_deref())).unwrap_or_default());
        }
        say(
            &mut text,
            match standing.claimed {
                false => "\nraspi-mcp: this machine has no owner yet. Whoever brings this code owns it.\n",
                true => {
                    "\nraspi-mcp: an admin enrols the first approver. Whoever brings this code may approve everything.\n"
                }
            },
        );
        say(&mut text, &format!("  code         {}", claim.code));
        say(
            &mut text,
            &format!("  fingerprint  {}", standing.fingerprint.as_deref().unwrap_or("none: it has no certificate")),
        );
        if let Some(device) = &device {
            say(&mut text, &format!("  device       {device}"));
        }
        let reached: Vec<String> = hosts.iter().map(|host| format!("https://{host}")).collect();
        let reached =
            if reached.is_empty() { "no address yet: connect it to a network".into() } else { reached.join(" ") };
        say(&mut text, &format!("  address      {reached}"));
        if let (Some(host), Some(fingerprint)) = (hosts.first(), &standing.fingerprint) {
            let (command, or) = match standing.claimed {
                false => (
                    format!("raspi-mcp claim https://{host} --fingerprint {fingerprint} --code {}", claim.code),
                    ", or with what the QR code holds",
                ),
                true => (
                    format!(
                        "raspi-mcp approver enroll --url https://{host} --pin {fingerprint} --token-file FILE --key FILE"
                    ),
                    "",
                ),
            };
            say(&mut text, &format!("\nOn a computer in its network{or}:\n\n  {command}"));
        }
        let minutes = claim.until.as_secs().div_ceil(60);
        say(
            &mut text,
            &format!("\nThe code is taken until {minutes} min after power-on; {} tries are left.", claim.tries_left),
        );
        for fault in &standing.faults {
            say(&mut text, &format!("! {}", crate::terminal::printable(fault)));
        }
        text
    }

    /// Its addresses, most useful first: private and public IPv4, then IPv6; last its name, which not every network
    /// resolves.
    fn hosts(&self) -> Vec<String> {
        let mut all: Vec<IpAddr> = addresses::addresses(&self.root);
        all.retain(|address| !address.is_loopback() && !address.is_unspecified());
        base::sort::sort_by_key(&mut all, IpAddr::is_ipv6);
        let port = self.port;
        let mut hosts: Vec<String> = all
            .iter()
            .take(MOST_ADDRESSES)
            .map(|address| match address {
                IpAddr::V4(v4) => format!("{v4}:{port}"),
                IpAddr::V6(v6) => format!("[{v6}]:{port}"),
            })
            .collect();
        let name = self.root.line("proc/sys/kernel/hostname").ok().filter(|name| is_label(name));
        if let Some(name) = name.filter(|_| !hosts.is_empty()) {
            hosts.push(format!("{name}.local:{port}"));
        }
        hosts
    }

    fn failed(&self, error: &io::Error) -> ToolError {
        let path = self.folder.path().display();
        match error.kind() {
            io::ErrorKind::NotFound => ToolError::precondition(format!(
                "there is no {path}: nobody prepared an identity"
            ))
            .hint("this is no appliance, or raspi-mcp-prepare.service failed: systemctl status raspi-mcp-prepare"),
            io::ErrorKind::PermissionDenied => {
                ToolError::denied(format!("{path} is root's: the code is for who holds the machine"))
                    .hint("run it as root")
            }
            _ => ToolError::unavailable(format!("{path} cannot be used: {error}")).hint("restart the machine"),
        }
    }
}

fn put(screen: &mut impl Write, text: &str) -> Result<(), ToolError> {
    screen
        .write_all(text.as_bytes())
        .and_then(|()| screen.flush())
        .map_err(|error| ToolError::unavailable(format!("the screen cannot be written: {error}")))
}
