//! Hears of changes of single pins, for those who subscribed to them: edges of inputs by the kernel, everything else from the
//! lines themselves.

use super::book::Book;
use crate::{
    hw::{board::Pin, gpio::Lines},
    world::World,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::{sync::broadcast::error::RecvError, task::JoinHandle};

/// The pins that are listened to, each with what listens to it.
#[derive(Default)]
pub(super) struct Pins(BTreeMap<Pin, Listener>);

struct Listener(JoinHandle<()>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Pins {
    /// Listens to these pins and no others.
    pub fn listen_to(&mut self, world: &World, book: &Arc<Book>, wanted: &BTreeSet<Pin>) {
        self.0.retain(|pin, listener| wanted.contains(pin) && !listener.0.is_finished());
        for pin in wanted.iter().copied().filter(|pin| world.gpio.rules.allows(*pin)) {
            self.0.entry(pin).or_insert_with(|| {
                let (lines, book) = (Arc::clone(&world.gpio), Arc::clone(book));
                Listener(tokio::spawn(listen(lines, book, pin)))
            });
        }
    }
}

async fn listen(lines: Arc<Lines>, book: Arc<Book>, pin: Pin) {
    let mut altered = lines.altered();
    loop {
        // What is no input, or is held by somebody else, has no edges for us: it tells when it becomes another.
        let mut edges = lines.listen(pin).ok();
        loop {
            let edge = async {
                match &mut edges {
                    Some(edges) => edges.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                edge = edge => match edge {
                    Some(_) => book.pin_moved(pin),
                    None => break,
                },
                change = altered.recv() => match change {
                    Ok(changed) if changed == pin => {
                        book.pin_moved(pin);
                        break;
                    }
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => break,
                    Err(RecvError::Closed) => return,
                },
            }
        }
    }
}
