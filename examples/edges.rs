//! Measures how long an edge of an input takes to reach a client, on a simulated board in this process: the edge is made by a
//! thread that plays the outside, the client is that thread's own unix socket. Prints one line of JSON; `ci/bench` reads it.
//!
//! ```sh
//! cargo run --release --example edges -- FOLDER [EDGES]
//! ```

use contract::{
    config::{AgentChoice, BoardChoice, Places, Settings},
    values::Pin,
};
use hw::{gpio::SimulatedGpio, line::Level};
use raspi_mcp::{
    daemon::{self, Serve},
    log::Ring,
    registry::Registry,
    rpc::mcp::appliance::Appliance,
};
use serde_json::{Value, json};
use std::{
    error::Error,
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const PIN: u64 = 23;
/// Longer than the notifier's pace, so that each edge is news of its own.
const APART: Duration = Duration::from_millis(60);

fn main() -> Outcome<()> {
    let folder = std::env::args().nth(1).ok_or("usage: edges FOLDER [EDGES]")?;
    let edges: usize = std::env::args().nth(2).map_or(Ok(300), |edges| edges.parse())?;
    let home = Path::new(&folder).join(format!("edges-{}", std::process::id()));
    fs::create_dir_all(&home)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let measured = runtime.block_on(serve(&home, edges));
    fs::remove_dir_all(&home)?;
    println!("{}", measured?);
    Ok(())
}

async fn serve(home: &Path, edges: usize) -> Outcome<Value> {
    let mut settings = Settings::default_for(&Places::below(home));
    (settings.board, settings.agent) = (BoardChoice::Simulated, AgentChoice::Inprocess);
    settings.http.enabled = false;
    settings.limits.reads_per_minute = 1_000_000;
    let socket = settings.socket.path.clone();
    let log = Ring::new(settings.log.ring_lines);
    let serve = Serve {
        settings,
        registry: Registry::new(raspi_mcp::tools::NAMESPACES),
        stdio: false,
        log,
        reload: Default::default(),
        provider: Arc::new(Appliance::default()),
        prepare: None,
    };
    let running = daemon::start(serve).await?;
    let board = &running.server.pipeline.services.machine.board;
    let lines = board.simulated.as_ref().ok_or("the board is not simulated")?.gpio.clone();
    let (done, measured) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || done.send(outside(&socket, &lines, edges)));
    let measured = measured.await??;
    running.stop().await?;
    Ok(measured)
}

/// The client and its hand.
fn outside(socket: &PathBuf, lines: &SimulatedGpio, edges: usize) -> Outcome<Value> {
    let mut client = Client::connect(socket)?;
    let pin = Pin::try_from(PIN)?;
    let mut level = Level::Low;
    let mut turn = || {
        level = !level;
        lines.drive(pin, Some(level));
    };

    let mut waited = Vec::new();
    for _ in 0..edges {
        let id = client.send("gpio.wait_for_edge", &json!({ "pin": PIN }))?;
        held(lines, pin);
        let at = Instant::now();
        turn();
        client.answer(id)?;
        waited.push(at.elapsed());
        while lines.consumer(pin).is_some() {
            std::hint::spin_loop();
        }
    }

    let id = client.send("resources/subscribe", &json!({ "uri": format!("raspi://gpio/{PIN}") }))?;
    client.answer(id)?;
    held(lines, pin);
    let mut told = Vec::new();
    let mut next = Instant::now() + APART;
    for _ in 0..edges {
        while Instant::now() < next {
            std::hint::spin_loop();
        }
        let at = Instant::now();
        turn();
        client.news()?;
        told.push(at.elapsed());
        next = at + APART;
    }
    Ok(json!({ "edges": edges, "wait_for_edge": figures(waited), "subscription": figures(told) }))
}

/// Waits until the server holds the line, and then until it listens, which it does a few microseconds later: an edge between the
/// two is one from before.
fn held(lines: &SimulatedGpio, pin: Pin) {
    let mut since = Instant::now();
    while since.elapsed() < Duration::from_millis(2) {
        if lines.consumer(pin).is_none() {
            since = Instant::now();
        }
        std::hint::spin_loop();
    }
}

/// In microseconds.
fn figures(mut took: Vec<Duration>) -> Value {
    took.sort();
    let at = |share: usize| took[(took.len() * share / 100).min(took.len() - 1)].as_micros();
    json!({ "p50_us": at(50), "p99_us": at(99) })
}

struct Client {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    number: i64,
}

impl Client {
    fn connect(socket: &PathBuf) -> Outcome<Self> {
        let writer = UnixStream::connect(socket)?;
        let mut client = Self { reader: BufReader::new(writer.try_clone()?), writer, number: 0 };
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "edges", "version": "1" } });
        let id = client.send("initialize", &hello)?;
        client.answer(id)?;
        client.writer.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(client)
    }

    fn send(&mut self, method: &str, params: &Value) -> Outcome<i64> {
        self.number += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.number, "method": method, "params": params });
        self.writer.write_all(format!("{message}\n").as_bytes())?;
        Ok(self.number)
    }

    fn next(&mut self) -> Outcome<Value> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err("the server hung up".into());
        }
        Ok(serde_json::from_str(&line)?)
    }

    fn answer(&mut self, id: i64) -> Outcome<Value> {
        loop {
            let message = self.next()?;
            if message["id"] == id {
                return if message["result"].is_null() { Err(message.to_string().into()) } else { Ok(message) };
            }
        }
    }

    fn news(&mut self) -> Outcome<()> {
        while self.next()?["method"] != "notifications/resources/updated" {}
        Ok(())
    }
}
