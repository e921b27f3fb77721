//! Batches of 2025-03-26: the answers of one batch leave together, whoever made them.

use std::collections::HashMap;

/// Something on its way out of a connection.
#[derive(Debug)]
pub enum Out {
    /// Goes out at once: notifications, server requests, answers to unreadable messages.
    Message(Vec<u8>),
    /// The answer to the request of this id.
    Answer(String, Vec<u8>),
    /// The answers to these requests, and these faults, leave as one array.
    Batch { ids: Vec<String>, ready: Vec<Vec<u8>> },
}

/// Collects answers that belong together.
#[derive(Debug, Default)]
pub struct Collector {
    next: u64,
    of_id: HashMap<String, u64>,
    open: HashMap<u64, (usize, Vec<Vec<u8>>)>,
}

impl Collector {
    /// Takes one item; returns the bytes of a message when one is complete.
    pub fn pass(&mut self, out: Out) -> Option<Vec<u8>> {
        match out {
            Out::Message(bytes) => Some(bytes),
            Out::Answer(id, bytes) => {
                let Some(batch) = self.of_id.remove(&id) else { return Some(bytes) };
                let (missing, ready) = self.open.get_mut(&batch)?;
                ready.push(bytes);
                *missing -= 1;
                (*missing == 0).then(|| self.open.remove(&batch).map(|(_, ready)| join(&ready))).flatten()
            }
            Out::Batch { ids, ready } if ids.is_empty() => (!ready.is_empty()).then(|| join(&ready)),
            Out::Batch { ids, ready } => {
                self.next += 1;
                self.open.insert(self.next, (ids.len(), ready));
                self.of_id.extend(ids.into_iter().map(|id| (id, self.next)));
                None
            }
        }
    }
}

/// `[a,b,…]`
pub fn join(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(messages.iter().map(|message| message.len() + 1).sum::<usize>() + 2);
    out.push(b'[');
    for (n, message) in messages.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        out.extend_from_slice(message);
    }
    out.push(b']');
    out
}
