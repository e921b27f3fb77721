//! The frames of a tunnel, and its windows: how many bytes each end may send before the other one has read some.
//!
//! A frame is one message of the broker; its first byte says what it is. Both ends do the same, except that the device
//! begins with [`Frame::Accept`] or [`Frame::Reset`].

/// Bytes of data in one frame, at most.
pub const CHUNK: usize = 16 * 1024;
/// Bytes that each end may send at the beginning.
pub const FIRST_WINDOW: u32 = 512 * 1024;
/// Largest window, in bytes.
pub const MAX_WINDOW: u32 = 4 * 1024 * 1024;
/// Credit is given back in portions of at least so many bytes: what the sender may not use yet is little beside any window.
const PORTION: u32 = 64 * 1024;

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// 1 to [`CHUNK`] bytes.
    Data(&'a [u8]),
    /// So many bytes more may be sent.
    Credit(u32),
    /// No more data from this end.
    End,
    /// The tunnel is over, and why.
    Reset(&'a str),
    /// The device is here; so many bytes may be sent to it.
    Accept(u32),
    /// There is data, and no credit.
    Blocked,
    /// Are you there? Any frame is an answer.
    Probe,
}

impl<'a> Frame<'a> {
    /// Reads a message; `None` for what is no frame.
    pub fn read(message: &'a [u8]) -> Option<Self> {
        let (kind, rest) = message.split_first()?;
        let number = || rest.try_into().ok().map(u32::from_be_bytes);
        let alone = |frame| rest.is_empty().then_some(frame);
        match kind {
            0 => (1..=CHUNK).contains(&rest.len()).then_some(Self::Data(rest)),
            1 => number().map(Self::Credit),
            2 => alone(Self::End),
            3 => str::from_utf8(rest).ok().map(Self::Reset),
            4 => number().map(Self::Accept),
            5 => alone(Self::Blocked),
            6 => alone(Self::Probe),
            _ => None,
        }
    }

    /// The message.
    pub fn write(self) -> Vec<u8> {
        let with = |kind: u8, rest: &[u8]| [&[kind], rest].concat();
        match self {
            Self::Data(data) => with(0, data),
            Self::Credit(bytes) => with(1, &bytes.to_be_bytes()),
            Self::End => vec![2],
            Self::Reset(why) => with(3, why.as_bytes()),
            Self::Accept(bytes) => with(4, &bytes.to_be_bytes()),
            Self::Blocked => vec![5],
            Self::Probe => vec![6],
        }
    }
}

/// The window of the receiving end.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    size: u32,
    most: u32,
    /// Bytes that the other end may still send.
    open: u32,
    /// Bytes that were read here and are not given back yet.
    read: u32,
}

impl Window {
    /// One that grows up to `most` bytes.
    pub fn new(most: u32) -> Self {
        Self { size: FIRST_WINDOW, most, open: FIRST_WINDOW, read: 0 }
    }

    /// Its size: so many bytes are held here, at most.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Counts received bytes. Returns `false` when the other end had no credit for them.
    #[must_use]
    pub fn received(&mut self, bytes: usize) -> bool {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let fits = bytes <= self.open;
        self.open = self.open.saturating_sub(bytes);
        fits
    }

    /// Counts bytes that were passed on here. Returns the credit to give, if it is enough for a message.
    pub fn passed(&mut self, bytes: usize) -> Option<u32> {
        self.read += u32::try_from(bytes).unwrap_or(u32::MAX);
        if self.read < PORTION {
            return None;
        }
        let credit = std::mem::take(&mut self.read);
        self.open += credit;
        Some(credit)
    }

    /// The other end has data and no credit. Returns how much the window grows, if it may grow: when what is `held` here
    /// is little, so that the reader keeps up and the network is what takes long.
    pub fn blocked(&mut self, held: usize) -> Option<u32> {
        if held > (self.size / 4) as usize || self.size >= self.most {
            return None;
        }
        let more = self.size.min(self.most - self.size);
        self.size += more;
        self.open += more;
        Some(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_written_and_nothing_else_is_one() {
        let frames = [
            Frame::Data(b"x"),
            Frame::Credit(7),
            Frame::End,
            Frame::Reset("why"),
            Frame::Accept(9),
            Frame::Blocked,
            Frame::Probe,
        ];
        for frame in frames {
            assert_eq!(Frame::read(&frame.write()), Some(frame));
        }
        let long = [&[0][..], &[1; CHUNK + 1]].concat();
        for wrong in [&b""[..], &[0], &long, &[1, 0, 0, 0], &[1, 0, 0, 0, 0, 0], &[2, 0], &[3, 0xff], &[7], &[255]] {
            assert_eq!(Frame::read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_sender_never_has_more_than_the_window() {
        let mut window = Window::new(MAX_WINDOW);
        assert!(window.received(FIRST_WINDOW as usize));
        assert!(!window.received(1), "it had no credit");
        let mut window = Window::new(MAX_WINDOW);
        assert!(window.received(FIRST_WINDOW as usize));
        assert_eq!(window.passed(CHUNK), None);
        assert_eq!(window.passed(FIRST_WINDOW as usize / 4), Some(FIRST_WINDOW / 4 + CHUNK as u32));
        assert!(window.received(FIRST_WINDOW as usize / 4 + CHUNK) && !window.received(1));
    }

    #[test]
    fn a_sender_always_has_nearly_the_whole_window() {
        let mut window = Window::new(MAX_WINDOW);
        while window.blocked(0).is_some() {}
        let mut owed = 0;
        for _ in 0..1_000 {
            assert!(window.received(CHUNK), "all that was sent was credited");
            owed += CHUNK as u32;
            owed -= window.passed(CHUNK).unwrap_or(0);
            assert!(owed < PORTION, "{owed}");
        }
    }

    #[test]
    fn it_grows_for_a_reader_that_keeps_up_and_no_further_than_allowed() {
        let mut window = Window::new(MAX_WINDOW);
        assert_eq!(window.blocked(FIRST_WINDOW as usize), None, "nobody reads");
        let mut grown = FIRST_WINDOW;
        while let Some(more) = window.blocked(0) {
            grown += more;
        }
        assert_eq!((grown, window.size()), (MAX_WINDOW, MAX_WINDOW));
        assert!(window.received(MAX_WINDOW as usize) && !window.received(1));
        assert_eq!(Window::new(FIRST_WINDOW).blocked(0), None);
    }
}
