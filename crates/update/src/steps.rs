//! Copies whose caller hears how far they are.

use std::io::{self, Read, Write};

/// Bytes between two reports.
const STEP: u64 = 8 << 20;

/// Copies `size` bytes, or fewer if `from` ends before, and returns how many. `seen` gets the number after each 8 MiB and
/// at the end.
///
/// # Errors
/// Those of reading and writing.
pub(crate) fn copy(
    from: &mut (impl Read + ?Sized),
    to: &mut (impl Write + ?Sized),
    size: u64,
    seen: &mut dyn FnMut(u64),
) -> io::Result<u64> {
    let mut done = 0;
    while done < size {
        let step = io::copy(&mut from.take(STEP.min(size - done)), to)?;
        if step == 0 {
            break;
        }
        done += step;
        seen(done);
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_told_and_nothing_is_copied_twice() {
        let from = vec![7; STEP as usize + 5];
        for (size, told) in [(STEP + 5, vec![STEP, STEP + 5]), (STEP, vec![STEP]), (3, vec![3]), (0, vec![])] {
            let (mut to, mut seen) = (Vec::new(), Vec::new());
            assert_eq!(copy(&mut from.as_slice(), &mut to, size, &mut |done| seen.push(done)).unwrap(), size);
            assert_eq!((to.len() as u64, seen), (size, told));
        }
        let short = copy(&mut [1, 2].as_slice(), &mut Vec::new(), 9, &mut |_| {});
        assert_eq!(short.unwrap(), 2, "what ends early is no error here");
    }
}
