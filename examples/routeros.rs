//! A simulated MikroTik router: `cargo run --example routeros [-- 7.12|7.16|7.21]`.
//!
//! It prints where it listens, its certificate's fingerprint, and its users. Then it takes commands, a line each: `reboot`,
//! `export`, `cut` (the connection breaks after the next write), `full` (its disk), `slow SECONDS`, `certificate` (another one),
//! `clock SECONDS` (since 1970), `mend`.

use ring::digest::{SHA256, digest};
use routeros_simulator::{Fault, PASSWORD, Profile, Router, server::Listener};
use std::{fmt::Write, time::Duration};
use tokio::io::{AsyncBufReadExt, BufReader};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let profile = match std::env::args().nth(1).as_deref() {
        Some("7.12") => Profile::V7_12,
        Some("7.16") => Profile::V7_16,
        None | Some("7.21") => Profile::V7_21,
        Some(other) => return Err(format!("{other} is not simulated: use 7.12, 7.16 or 7.21").into()),
    };
    let router = Router::new(profile);
    let mut listener = Listener::bind(router.clone(), "127.0.0.1:0").await?;
    listener.follow_the_clock();
    let fingerprint = digest(&SHA256, listener.certificate()).as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    println!("RouterOS {} (simulated) at https://{}/rest", profile.version(), listener.address());
    println!("certificate sha256:{fingerprint}");
    println!("users admin, raspi, reader; password {PASSWORD:?}");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        if let Err(error) = obeys(&router, line.trim()) {
            println!("{error}");
        }
    }
    Ok(())
}

fn obeys(router: &Router, line: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (command, argument) = line.split_once(' ').unwrap_or((line, ""));
    match command {
        "" => {}
        "reboot" => router.reboot(),
        "export" => print!("{}", router.export()),
        "cut" => router.fault(Fault::CutAfterWrite),
        "full" => router.fault(Fault::DiskFull),
        "certificate" => router.fault(Fault::OtherCertificate),
        "slow" => router.fault(Fault::Slow(Duration::try_from_secs_f64(argument.parse()?)?)),
        "clock" => router.fault(Fault::ClockJump(argument.parse()?)),
        "mend" => router.mend(),
        _ => {
            return Err(format!(
                "{command:?} is no command: reboot, export, cut, full, slow, certificate, clock, mend"
            )
            .into());
        }
    }
    Ok(())
}
