//! `raspi-mcp approval-page`: serves the page on which approval requests are answered with a phone (docs/approvals.md).

use super::{
    exit::{Exit, Failure},
    say::errln,
    sources,
};
use crate::{
    approval_page::{Page, export, serve},
    daemon,
    registry::Registry,
    tls::shown::ServedCertificate,
};
use agent::{AgentLink, Client};
use appliance::certificate;
use base::os::{Root, addresses, notify::ServiceManager};
use contract::config::{Places, Settings, Tls};
use std::{
    io::{self, IsTerminal},
    net::{SocketAddr, TcpListener},
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Time without a visitor after which the service ends, to use no memory.
const IDLE: Duration = Duration::from_secs(300);

#[derive(clap::Args)]
pub struct Args {
    /// Listen on this address; default: approval.listen
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Listen on the socket that is standard input, as systemd passes it
    #[arg(long, conflicts_with = "listen")]
    inherited: bool,
    /// The folder of the page's own certificate, which is made at the first start
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Write the page for many devices into this folder, for any web server, and serve nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["listen", "inherited", "folder"])]
    export: Option<PathBuf>,
}

pub fn run(args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    if let Some(folder) = &args.export {
        export(folder).map_err(|error| failed("the page was not written", &error))?;
        errln!("the page is in {}; write your devices into its devices.json (docs/approvals.md)", folder.display());
        return Ok(());
    }
    // As a service it reads no configuration: parts of it are for the server's user alone.
    let settings = if args.inherited {
        Settings::default_for(&Places::detect().map_err(|faults| Failure::new(Exit::Config, faults.to_string()))?)
    } else {
        sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?
    };
    let socket = sources::reach(&settings.places.agent_socket, |places| places.agent_socket.clone());
    let folder = args.folder.clone().unwrap_or_else(|| settings.places.state_dir.with_file_name("raspi-mcp-approval"));
    let tls = identity(&folder)?;
    let page = Arc::new(Page::new(AgentLink::Socket(Client::new(&socket)), tls));
    let listener = if args.inherited { inherited()? } else { bind(args.listen.unwrap_or(settings.approval.listen))? };
    let address = listener.local_addr().map_err(|error| failed("its socket has no address", &error))?;
    errln!("the approval page listens on https://{address}, certificate {}", page.fingerprint());
    let idle = args.inherited.then_some(IDLE);
    super::runtime()?.block_on(async {
        let told = daemon::told_to_stop();
        let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| failed("cannot listen", &error))?;
        let stop = tokio_util::sync::CancellationToken::new();
        let mut serving = base::task::spawn(serve(page, listener, idle, stop.clone()));
        ServiceManager::of_process().ready("carries approval requests");
        tokio::select! {
            () = told => {
                stop.cancel();
                let _ = serving.await;
            }
            // systemd starts it again at the next visit.
            _ = &mut serving => {}
        }
        Ok(())
    })
}

/// The page's own certificate, made if there is none: for this machine's names, as `raspi-mcp tls init` does. A key
/// without its certificate is what a power cut left; nobody has seen that one.
fn identity(folder: &Path) -> Result<ServedCertificate, Failure> {
    let tls = Tls { enabled: true, certificate: folder.join("certificate.pem"), key: folder.join("key.pem") };
    if !(tls.key.exists() && tls.certificate.exists()) {
        std::fs::create_dir_all(folder)
            .map_err(|error| failed(&format!("cannot make {}", folder.display()), &error))?;
        certificate::init(&tls, addresses::names(&Root::system()), true)?;
    }
    ServedCertificate::load(&tls).map_err(|why| Failure::new(Exit::Failed, why))
}

fn inherited() -> Result<TcpListener, Failure> {
    if io::stdin().is_terminal() {
        return Err(Failure::new(Exit::Failed, "standard input is a terminal, not a listening socket; see --listen"));
    }
    let socket = io::stdin().as_fd().try_clone_to_owned().map_err(|error| failed("standard input", &error))?;
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(true).map_err(|error| failed("standard input is no listening socket", &error))?;
    Ok(listener)
}

fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener =
        TcpListener::bind(address).map_err(|error| failed(&format!("cannot listen on {address}"), &error))?;
    listener.set_nonblocking(true).map_err(|error| failed("cannot listen", &error))?;
    Ok(listener)
}

fn failed(what: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pair_that_a_power_cut_left_is_made_anew_and_a_whole_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let made = || identity(folder.path()).unwrap().now().fingerprint;
        let first = made();
        assert_eq!(made(), first);
        for half in ["certificate.pem", "key.pem"] {
            std::fs::remove_file(folder.path().join(half)).unwrap();
            std::fs::write(folder.path().join("certificate.new"), "half").unwrap();
            assert_ne!(made(), first, "without {half}");
        }
    }
}
