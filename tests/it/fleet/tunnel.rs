//! Both ends of a tunnel over a real broker: much data, slow readers, ends that break the rules or are silent.

use super::Fleet;
use crate::support::{
    fleet::FLEET,
    served::{PATIENCE, soon},
};
use fleet_protocol::{
    subject::Subjects,
    tunnel::{FIRST_WINDOW, Frame, MAX_WINDOW},
};
use raspi_mcp::{
    broker::{
        Broker, BrokerSubscription,
        tunnel::{LOCAL_BUFFER, TunnelEnd},
    },
    fleet::tunnel::open,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};

const NAME: &str = "kitchen";

/// The device's side of the next dial: the subject towards the console, and the frames from it.
async fn dialled(device: &Broker, dials: &mut BrokerSubscription) -> (String, BrokerSubscription) {
    let dial = soon(dials.next()).await.unwrap();
    let payload: Value = serde_json::from_slice(&dial.payload).unwrap();
    let connection = payload["connection"].as_str().unwrap();
    let subjects = Subjects::of(FLEET);
    let frames = device.subscribe(subjects.up(NAME, connection)).await.unwrap();
    let down = subjects.down(NAME, connection);
    device.publish(down.clone(), Frame::Accept(FIRST_WINDOW).write().into()).await.unwrap();
    (down, frames)
}

/// A device that takes one tunnel; returns what is at both its ends.
async fn connected(fleet: &Fleet) -> (DuplexStream, DuplexStream) {
    let device = fleet.clients[0].broker.clone();
    let mut dials = device.subscribe(Subjects::of(FLEET).dial(NAME)).await.unwrap();
    device.flush().await.unwrap();
    let console = fleet.server.console(&fleet.desk).await;
    let subjects = Subjects::of(FLEET);
    let (near, (down, frames)) = tokio::join!(open(&console, &subjects, NAME), dialled(&device, &mut dials));
    let (local, far) = duplex(LOCAL_BUFFER);
    let end = TunnelEnd { broker: device, to: down, frames, credit: FIRST_WINDOW, most: MAX_WINDOW };
    tokio::spawn(end.carry(local));
    (near.unwrap(), far)
}

#[tokio::test]
async fn sixteen_megabytes_go_there_and_back_whole() {
    let fleet = Fleet::of(&[NAME]).await;
    let (near, far) = connected(&fleet).await;
    let sent: Vec<u8> = (0..16_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    tokio::spawn(async move {
        let (mut read, mut write) = split(far);
        tokio::io::copy(&mut read, &mut write).await.unwrap();
        write.shutdown().await.unwrap();
    });
    let (mut read, mut write) = split(near);
    let expected = sent.clone();
    let writing = async {
        write.write_all(&sent).await.unwrap();
        write.shutdown().await.unwrap();
    };
    let reading = async {
        let mut got = Vec::new();
        read.read_to_end(&mut got).await.unwrap();
        got
    };
    let ((), got) = tokio::time::timeout(3 * PATIENCE, async { tokio::join!(writing, reading) }).await.unwrap();
    assert!(got == expected, "{} bytes came back, or others", got.len());
}

#[tokio::test]
async fn nobody_sends_more_than_a_reader_takes() {
    let fleet = Fleet::of(&[NAME]).await;
    let (mut near, _far) = connected(&fleet).await;
    // Nobody reads at the other end: what is accepted here is a window, and the buffers beside it.
    let most = FIRST_WINDOW as usize + 4 * LOCAL_BUFFER;
    let mut sent = 0;
    let block = vec![7; 16 * 1024];
    while let Ok(written) = tokio::time::timeout(std::time::Duration::from_secs(1), near.write(&block)).await {
        sent += written.unwrap();
        assert!(sent <= most, "{sent} bytes were taken, and nobody read");
    }
    assert!(sent >= FIRST_WINDOW as usize, "{sent}");
}

#[tokio::test]
async fn an_end_that_breaks_the_rules_loses_the_tunnel() {
    let fleet = Fleet::of(&[NAME]).await;
    let device = fleet.clients[0].broker.clone();
    let mut dials = device.subscribe(Subjects::of(FLEET).dial(NAME)).await.unwrap();
    device.flush().await.unwrap();
    let console = fleet.server.console(&fleet.desk).await;
    let subjects = Subjects::of(FLEET);
    // Nobody reads: credit is given for what the local buffer takes, and for nothing else.
    let most = FIRST_WINDOW as usize + LOCAL_BUFFER;
    let too_much = vec![Frame::Data(&[1; 16 * 1024]).write(); most / (16 * 1024) + 1];
    for wrong in [vec![vec![9]], vec![Vec::new()], vec![Frame::Accept(1).write()], too_much] {
        let (near, (down, mut frames)) = tokio::join!(open(&console, &subjects, NAME), dialled(&device, &mut dials));
        let _near = near.unwrap();
        for message in wrong {
            device.publish(down.clone(), message.into()).await.unwrap();
        }
        let told = async {
            loop {
                let told = frames.next().await.unwrap();
                if !matches!(Frame::read(&told.payload), Some(Frame::Credit(_))) {
                    return told;
                }
            }
        };
        let told = soon(told).await;
        assert!(matches!(Frame::read(&told.payload), Some(Frame::Reset(_))), "{told:?}");
    }
}
