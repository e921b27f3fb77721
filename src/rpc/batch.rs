//! Batches of 2025-03-26: all answers to one batch are sent together, whether they come from the router or from rmcp.

use super::{envelope::Id, reply};
use base::error::{ErrorCode, ToolError};
use std::collections::HashMap;

/// An item to send on a connection.
#[derive(Debug)]
pub enum Outbound {
    /// Sent at once: notifications, server requests, answers to unreadable messages.
    Message(Vec<u8>),
    /// The answer to the request with this id.
    Answer(String, Vec<u8>),
    /// The answers to these requests, and these faults, are sent as one array.
    Batch { ids: Vec<Id>, ready: Vec<Vec<u8>> },
}

/// The answers of one batch, whose total size is limited like that of one answer.
#[derive(Debug)]
pub struct Answers {
    room: usize,
    limit: usize,
    pub ready: Vec<Vec<u8>>,
}

impl Answers {
    /// `limit`: longest answer that is sent, in bytes.
    pub fn new(limit: usize) -> Self {
        Self { room: limit, limit, ready: Vec::new() }
    }

    /// Adds the answer to `id`, or an error in its place if the batch has no room for it.
    pub fn push(&mut self, id: Option<&Id>, answer: Vec<u8>) {
        let answer = match self.room.checked_sub(answer.len()) {
            Some(room) => {
                self.room = room;
                answer
            }
            None => no_room(id, self.limit),
        };
        self.ready.push(answer);
    }
}

fn no_room(id: Option<&Id>, limit: usize) -> Vec<u8> {
    let error = ToolError::new(
        ErrorCode::ContentTooLarge,
        format!("the answers of a batch may have {limit} bytes together, and this one has no room left"),
    )
    .with("limit_bytes", limit)
    .hint("send this request by itself");
    reply::error(id, error.code.rpc(), &error.message, Some(&error.data()))
}

/// Collects the answers of each batch.
#[derive(Debug)]
pub struct Collector {
    limit: usize,
    next: u64,
    of_id: HashMap<String, (u64, Id)>,
    open: HashMap<u64, (usize, Answers)>,
}

impl Collector {
    /// `limit`: longest answer that is sent, in bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, next: 0, of_id: HashMap::new(), open: HashMap::new() }
    }

    /// Takes one item; returns the bytes of a message once one is complete.
    pub fn pass(&mut self, out: Outbound) -> Option<Vec<u8>> {
        match out {
            Outbound::Message(bytes) => Some(bytes),
            Outbound::Answer(key, bytes) => {
                let Some((batch, id)) = self.of_id.remove(&key) else { return Some(bytes) };
                let (missing, answers) = self.open.get_mut(&batch)?;
                answers.push(Some(&id), bytes);
                *missing -= 1;
                (*missing == 0).then(|| self.open.remove(&batch).map(|(_, answers)| join(&answers.ready))).flatten()
            }
            Outbound::Batch { ids, ready } if ids.is_empty() => (!ready.is_empty()).then(|| join(&ready)),
            Outbound::Batch { ids, ready } => {
                self.next += 1;
                self.open.insert(self.next, (ids.len(), Answers { ready, ..Answers::new(self.limit) }));
                self.of_id.extend(ids.into_iter().map(|id| (id.key(), (self.next, id))));
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
