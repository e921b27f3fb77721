//! What has arrived at a port and was not read: the newest bytes, at most [`BUFFER_BYTES`], and how many were lost.

use std::collections::VecDeque;

/// Most bytes that wait for a reader: 5.7 s at 115,200 baud.
pub const BUFFER_BYTES: usize = 64 * 1024;

/// What ended a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Ended {
    // The delimiter came.
    Delimiter,
    // max_bytes were there.
    Full,
    // Something came, and then nothing for a while.
    Quiet,
    // timeout_ms were over.
    Timeout,
    // The line is gone: a USB device was unplugged, a modem hung up.
    HungUp,
}

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub struct SerialRead {
    pub bytes: Vec<u8>,
    pub ended: Ended,
    /// Bytes lost before these, because nobody read them in time.
    pub lost: u64,
    /// Bytes that wait behind these.
    pub waiting: usize,
    /// Since the last read: framing errors, overruns of the hardware, parity errors, breaks, overruns of the kernel's buffer.
    pub faults: [u32; 5],
}

/// The buffer of one port. It takes memory when something arrives.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: VecDeque<u8>,
    /// Since the last read.
    lost: u64,
    /// Since the port was opened, with those that were lost.
    pub received: u64,
}

impl Buffer {
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// How many more it takes without losing one.
    pub fn room(&self) -> usize {
        BUFFER_BYTES - self.bytes.len()
    }

    /// Adds what has arrived; the oldest make room.
    pub fn add(&mut self, new: &[u8]) {
        let over = (self.bytes.len() + new.len()).saturating_sub(BUFFER_BYTES).min(self.bytes.len());
        self.bytes.drain(..over);
        self.bytes.extend(new);
        self.lost += over as u64;
        self.received += new.len() as u64;
    }

    /// How many bytes a read of at most `most` takes now: up to `delimiter` and with it, or `most`; `None`: it waits.
    pub fn whole(&mut self, most: usize, delimiter: Option<&[u8]>) -> Option<(usize, Ended)> {
        let reachable = self.bytes.len().min(most);
        if let Some(delimiter) = delimiter {
            let bytes = &self.bytes.make_contiguous()[..reachable];
            if let Some(at) = bytes.windows(delimiter.len()).position(|window| window == delimiter) {
                return Some((at + delimiter.len(), Ended::Delimiter));
            }
        }
        (reachable == most).then_some((most, Ended::Full))
    }

    /// The first bytes, which stay.
    pub fn first(&self, most: usize) -> Vec<u8> {
        self.bytes.iter().take(most).copied().collect()
    }

    /// Takes the first `count` bytes. An empty buffer takes no memory.
    pub fn take(&mut self, count: usize, ended: Ended) -> SerialRead {
        let bytes = self.bytes.drain(..count.min(self.bytes.len())).collect();
        if self.bytes.is_empty() {
            self.bytes.shrink_to_fit();
        }
        let lost = std::mem::take(&mut self.lost);
        SerialRead { bytes, ended, lost, waiting: self.bytes.len(), faults: [0; 5] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_bytes_stay_and_the_lost_are_counted_once() {
        let mut buffer = Buffer::default();
        buffer.add(&vec![1; BUFFER_BYTES]);
        buffer.add(&[2, 3]);
        assert_eq!((buffer.len(), buffer.room(), buffer.received), (BUFFER_BYTES, 0, BUFFER_BYTES as u64 + 2));
        let read = buffer.take(BUFFER_BYTES, Ended::Full);
        assert_eq!((read.lost, read.waiting, &read.bytes[BUFFER_BYTES - 2..]), (2, 0, &[2, 3][..]));
        buffer.add(&[4]);
        assert_eq!(buffer.take(9, Ended::Quiet).lost, 0);
        assert_eq!(buffer.bytes.capacity(), 0, "what is empty takes no memory");
    }

    #[test]
    fn a_read_ends_with_the_delimiter_or_with_so_many_bytes() {
        let mut buffer = Buffer::default();
        buffer.add(b"OK\r\nERR");
        assert_eq!(buffer.whole(100, Some(b"\r\n")), Some((4, Ended::Delimiter)));
        assert_eq!(buffer.whole(4, Some(b"\r\n")), Some((4, Ended::Delimiter)), "the last byte of so many");
        assert_eq!(buffer.whole(3, Some(b"\r\n")), Some((3, Ended::Full)), "one before it");
        assert_eq!(buffer.take(4, Ended::Delimiter).bytes, b"OK\r\n");
        assert_eq!((buffer.whole(100, Some(b"\r\n")), buffer.whole(4, None)), (None, None));
        assert_eq!((buffer.whole(3, None), buffer.first(2)), (Some((3, Ended::Full)), b"ER".to_vec()));
    }
}
