//! Times of the same call over the bus and over the unix socket, in turn, on connections that stay open:
//!
//! ```text
//! cargo run --release --example bus_latency -- /run/raspi-mcp/mcp.sock [BUS-ADDRESS] [ROUNDS]
//! ```
//!
//! A running server with `dbus.serve = true` is asked. Prints medians and 99th percentiles in microseconds; ends with 1 if the medians
//! are further apart than half a millisecond.

use std::{
    collections::HashMap,
    error::Error,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};
use zbus::{Variant, connection::Builder};

/// What the door may cost beside the unix socket.
const MOST: Duration = Duration::from_micros(500);
/// A call that does little, and is never answered from memory.
const TOOL: &str = "system.get_clock";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let socket = args.next().ok_or("usage: bus_latency SOCKET [BUS-ADDRESS] [ROUNDS]")?;
    let bus = match args.next() {
        Some(address) => Builder::address(address.as_str()),
        None => Builder::system(),
    };
    let rounds: usize = args.next().map_or(Ok(500), |text| text.parse())?;
    let bus = bus.build().await?;
    let (reader, mut writer) = UnixStream::connect(socket).await?.into_split();
    let mut answers = BufReader::new(reader).lines();
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{TOOL}\",\"params\":{{}}}}\n");
    let body = (TOOL, "{}", HashMap::<&str, Variant<'_>>::new());

    let (mut by_socket, mut by_bus) = (Vec::new(), Vec::new());
    // In turn, so that both have the same machine. The first ten warm up.
    for round in 0..rounds + 10 {
        let began = Instant::now();
        writer.write_all(line.as_bytes()).await?;
        let answer = answers.next_line().await?.ok_or("the server closed the socket")?;
        let socket_time = began.elapsed();
        if !answer.contains("\"result\"") {
            return Err(answer.into());
        }
        let began = Instant::now();
        let name = Some("org.raspimcp");
        let interface = Some("org.raspimcp.Tools1");
        let answer = bus.call_method(name, "/org/raspimcp", interface, "Call", &body).await?;
        answer.body().deserialize::<&str>()?;
        if round >= 10 {
            by_socket.push(socket_time);
            by_bus.push(began.elapsed());
        }
        // Below the limit of calls a minute of one caller, which both doors share.
        tokio::time::sleep(Duration::from_millis(210)).await;
    }
    let [socket, bus] = [("unix socket", by_socket), ("system bus", by_bus)].map(|(door, mut times)| {
        times.sort();
        let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        println!("{door:<12} median {:>6} us, p99 {:>6} us", median.as_micros(), p99.as_micros());
        median
    });
    let more = bus.saturating_sub(socket);
    let ratio = bus.as_secs_f64() / socket.as_secs_f64();
    println!("the bus takes {} us more, {ratio:.1} times the socket", more.as_micros());
    if more > MOST { Err(format!("more than {} us", MOST.as_micros()).into()) } else { Ok(()) }
}
