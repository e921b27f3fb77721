//! Restores partition 1 from a template when it cannot be read any more. It is never written otherwise.

use super::{Autoboot, FILE, SECTOR, card, place};
use crate::{
    boot::{LONGEST_HEAD, head_of_image},
    disk::{Access, Area, BlockDevice, Disk},
};
use base::error::{ErrorCode, ToolError};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

const PIECE: usize = 256 << 10;

/// Writes the image `template` over partition 1, with `autoboot` in place of its `autoboot.txt`: first all but its
/// head, then the head, the first sector last, each on the medium before the next. A power cut meanwhile leaves what
/// was there before: no file system.
///
/// # Errors
/// `failed_precondition` when the template is not an image of such a partition or does not fit, `unavailable` for
/// errors of the card, `verification_failed` when it reads back something else.
pub fn restore(disk: &dyn Disk, template: &Path, autoboot: &str) -> Result<(), ToolError> {
    let refuse = |why: String| {
        ToolError::precondition(format!("{} is no template for partition 1: {why}", template.display()))
            .hint("the layout's config_template has to be an image of partition 1 as the factory wrote it")
    };
    let file = File::open(template).map_err(|fault| refuse(fault.to_string()))?;
    let size = file.metadata().map_err(|fault| refuse(fault.to_string()))?.len();
    let image = Image { file, size };
    let device = disk.open(Area::Config, Access::Exclusive)?;
    if size > device.size() || size % SECTOR as u64 != 0 {
        return Err(refuse(format!("it has {size} bytes, the partition has {}", device.size())));
    }
    let mut first = [0; SECTOR];
    image.read(0, &mut first).map_err(|fault| refuse(fault.to_string()))?;
    let head = head_of_image(&first, size).map_err(|error| refuse(error.into_message()))?.min(LONGEST_HEAD);
    let (at, mut sector, length) = place(&image).map_err(|fault| refuse(ToolError::from(fault).into_message()))?;
    // The length in the directory stays: the rest becomes empty lines.
    if autoboot.len() > length {
        return Err(refuse(format!("its {FILE} has {length} bytes where {} are needed", autoboot.len())));
    }
    sector[..length].fill(b'\n');
    sector[..autoboot.len()].copy_from_slice(autoboot.as_bytes());
    Autoboot::parse(&sector[..length]).map_err(refuse)?;

    let failed = |fault: io::Error| card(&fault);
    device.write(0, &[0; SECTOR]).and_then(|()| device.flush()).map_err(failed)?;
    for span in [head..size, SECTOR as u64..head, 0..SECTOR as u64] {
        let mut buffer = vec![0; PIECE];
        let mut back = vec![0; PIECE];
        let pieces = || (span.start..span.end).step_by(PIECE).map(|from| (from, span.end.min(from + PIECE as u64)));
        let content = |from: u64, piece: &mut [u8]| -> io::Result<()> {
            image.read(from, piece)?;
            // Sectors are never split: all pieces are aligned to sectors.
            if let Some(inside) = at.checked_sub(from).and_then(|inside| usize::try_from(inside).ok())
                && let Some(place) = piece.get_mut(inside..).and_then(|rest| rest.get_mut(..SECTOR))
            {
                place.copy_from_slice(&sector);
            }
            Ok(())
        };
        for (from, to) in pieces() {
            let piece = &mut buffer[..(to - from) as usize];
            content(from, piece).map_err(|fault| refuse(fault.to_string()))?;
            device.write(from, piece).map_err(failed)?;
        }
        device.flush().map_err(failed)?;
        for (from, to) in pieces() {
            let (piece, back) = (&mut buffer[..(to - from) as usize], &mut back[..(to - from) as usize]);
            content(from, piece).map_err(|fault| refuse(fault.to_string()))?;
            device.read_back(from, back).map_err(failed)?;
            if piece != back {
                let lost = format!("partition 1 was written and reads back differently at byte {from}");
                return Err(ToolError::new(ErrorCode::VerificationFailed, lost).hint("the card is failing: replace it"));
            }
        }
    }
    Ok(())
}

/// The template as a device.
struct Image {
    file: File,
    size: u64,
}

impl BlockDevice for Image {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(into)
    }

    fn write(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn read_back(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.read(at, into)
    }
}
