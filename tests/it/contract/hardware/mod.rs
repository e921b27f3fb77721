//! What holds of pins, buses, sensors and cameras on every board: the same assertions on the simulated one and on the kernel's drivers.
//!
//! An assertion is a plain `async fn name(bench: &Bench)`. It calls tools, as clients would, and moves what is outside the
//! board with the bench's hand; what it tries is what the hand says is there, so that it names no board. Each file has
//! its own table ([`assertions!`]). They run twice: here, a test each, on the simulated board; and one after the other by
//! `tests/hardware.rs`, which also runs in the guests of `ci/qemu-hw` and on a real board (docs/hardware.md).

pub mod boards;
mod button;
mod camera;
mod exists;
mod gpio;
pub mod hand;
pub mod here;
mod i2c;
pub mod killed;
mod onewire;
mod pwm;
mod seen;
mod sensors;
mod serial;
mod spi;

use crate::support::pi::{Answer, Pi};
use base::os::Root;
use contract::{
    access::caller::Transport,
    config::{self, Places, Sources},
    meta::{Mode, Role},
};
use hand::Hand;
use hw::{board::Board, machine::Machine};
use raspi_mcp::registry::Registry;
use serde_json::Value;
use std::{future::Future, path::Path, pin::Pin};
use tempfile::TempDir;

/// A server on some board, and what is outside it.
pub struct Bench {
    /// Which board: its name, which a second process of this program can be given.
    pub board: String,
    pub hand: Hand,
    server: Pi,
    client: Pi,
    _home: Option<TempDir>,
}

impl Bench {
    /// A fresh server on that board, configured as [`boards::Setup`] says. The hand is fresh as well.
    ///
    /// # Panics
    /// When this machine is not that board, or the configuration is not accepted.
    pub fn on(name: &str) -> Self {
        // What a server writes down of its lines lies in memory, as /run does.
        let home = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = home.path().to_owned();
        Self::made(name, &path, Some(home))
    }

    /// The same, on the folder of a server that was there before.
    ///
    /// # Panics
    /// As [`Bench::on`].
    pub fn living_in(name: &str, home: &Path) -> Self {
        Self::made(name, home, None)
    }

    fn made(name: &str, home: &Path, kept: Option<TempDir>) -> Self {
        let setup = boards::setup(name).unwrap_or_else(|fault| panic!("{fault}"));
        let mut sources = Sources::new(Places::below(home), known());
        let file = home.join("bench.toml");
        std::fs::write(&file, &*setup.configuration).unwrap();
        sources.file = Some(file);
        let settings = config::load(&sources).unwrap_or_else(|faults| panic!("{faults}"));
        let root = Root::system();
        let board = Board::detect(settings.board, &root).unwrap_or_else(|conflict| panic!("{conflict}"));
        let hand = (setup.hand)(&board);
        let server = Pi::set(settings, Machine::new(root, board, None));
        server.services.gpio.begin();
        let client = server.caller("bench", Role::OpsRw, Transport::Stdio);
        Self { board: setup.name, hand, server, client, _home: kept }
    }

    /// A call by the client that most assertions need no other beside.
    pub async fn call(&self, tool: &str, args: Value) -> Answer {
        self.client.call(tool, args).await
    }

    /// What the server was told.
    pub fn settings(&self) -> &config::Settings {
        &self.server.services.settings
    }

    /// Another client, with a connection of its own, which lasts until [`Pi::hang_up`].
    pub fn client(&self, principal: &str, role: Role) -> Pi {
        self.server.caller(principal, role, Transport::Stdio)
    }

    /// Another client, without a connection that lasts.
    pub fn over_http(&self, principal: &str, role: Role) -> Pi {
        self.server.caller(principal, role, Transport::Http)
    }
}

/// Stops as a server does, so that the next one finds the board as this one did.
impl Drop for Bench {
    fn drop(&mut self) {
        self.server.services.gpio.end();
        self.server.services.serial.end();
    }
}

fn known() -> Vec<(&'static str, Mode)> {
    Registry::new(raspi_mcp::tools::NAMESPACES).rows().map(|entry| (entry.name(), entry.meta.mode)).collect()
}

/// One row of a table.
pub struct Assertion {
    /// `gpio::an_output_reads_back`.
    pub name: &'static str,
    /// Whether that board has what it is about.
    pub applies: fn(&Hand) -> bool,
    pub run: for<'a> fn(&'a Bench) -> Pin<Box<dyn Future<Output = ()> + 'a>>,
}

/// All there are.
pub fn all() -> impl Iterator<Item = &'static Assertion> {
    [
        exists::ASSERTIONS,
        seen::ASSERTIONS,
        gpio::ASSERTIONS,
        button::ASSERTIONS,
        i2c::ASSERTIONS,
        spi::ASSERTIONS,
        onewire::ASSERTIONS,
        serial::ASSERTIONS,
        camera::ASSERTIONS,
        pwm::ASSERTIONS,
        sensors::ASSERTIONS,
        killed::ASSERTIONS,
    ]
    .into_iter()
    .flatten()
}

/// `assertions! { gpio: |hand| hand.lines.is_some() => first, second; |hand| ... => third }`: the table `ASSERTIONS` of a
/// file, and a test on the simulated board for each.
macro_rules! assertions {
    ($part:ident: $(|$hand:ident| $applies:expr => $($name:ident),+ $(,)?);* $(;)?) => {
        pub const ASSERTIONS: &[$crate::contract::hardware::Assertion] = &[$($(
            $crate::contract::hardware::Assertion {
                name: concat!(stringify!($part), "::", stringify!($name)),
                applies: |$hand| $applies,
                run: |bench| Box::pin($name(bench)),
            },
        )+)*];

        mod on_the_simulated_board {
            $($(
                #[test]
                fn $name() {
                    $crate::contract::hardware::tried_on_the_simulated_board(concat!(stringify!($part), "::", stringify!($name)));
                }
            )+)*
        }
    };
}
use assertions;

/// Runs one assertion on a fresh server: what the runner in `tests/hardware.rs` does as well.
///
/// # Errors
/// When it is about something that this board does not have.
pub fn try_on(board: &str, assertion: &Assertion) -> Result<(), Lacking> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bench = Bench::on(board);
        if !(assertion.applies)(&bench.hand) {
            return Err(Lacking);
        }
        (assertion.run)(&bench).await;
        Ok(())
    })
}

/// The board does not have what an assertion is about.
#[derive(Debug)]
pub struct Lacking;

fn tried_on_the_simulated_board(name: &str) {
    let assertion = all().find(|assertion| assertion.name == name).unwrap();
    try_on("simulated", assertion).expect("the simulated board has everything");
}
