//! Memory aligned for O_DIRECT.

/// The largest block size of disks; O_DIRECT never requires more (open(2)).
const ALIGNMENT: usize = 4096;

/// A buffer whose first byte is at a multiple of 4096.
pub struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    pub fn new(length: usize) -> Self {
        // Extra bytes for the alignment. The vector never grows, so its memory does not move.
        let bytes = vec![0; length + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { bytes, start, length }
    }

    pub fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_a_page_however_long_it_is() {
        for length in [0, 1, 512, 4095, 4096, 1 << 20] {
            let mut buffer = Aligned::new(length);
            let bytes = buffer.as_mut();
            assert_eq!((bytes.len(), bytes.as_ptr().addr() % ALIGNMENT), (length, 0));
        }
    }
}
