//! The file of a backup: a header, and JSON that only the passphrase opens.
//!
//! ```text
//! offset  bytes
//!      0      8  RMBACKUP
//!      8      4  version of this format, 1; numbers are little-endian
//!     12      4  rounds of PBKDF2-HMAC-SHA256 (RFC 8018, section 5.2)
//!     16     16  salt
//!     32     12  nonce
//!     44      4  number of the bytes that follow, at most 512 KiB and 16
//!     48      -  ChaCha20-Poly1305 (RFC 8439) of the JSON, with the header as additional data; the last 16 are its tag
//! ```

use super::{aead, random};
use base::error::{ErrorCode, ToolError};
use ring::pbkdf2;
use std::{num::NonZeroU32, ops::RangeInclusive};

/// Longest JSON, in bytes: with the rest of the agent state it has to fit into one record (`update::slots::MAX_RECORD`).
pub const MAX_PLAIN: usize = 512 << 10;
/// Longest file, in bytes.
pub const MAX_FILE: usize = HEADER + MAX_PLAIN + aead::TAG;
/// Characters of a passphrase. The longest is a bound for what is read.
pub const PASSPHRASE: RangeInclusive<usize> = 12..=256;
/// What a passphrase must be, for people.
pub const PASSPHRASE_IS: &str = "12 to 256 characters without control characters";

const MAGIC: &[u8; 8] = b"RMBACKUP";
const VERSION: u32 = 1;
const HEADER: usize = 48;
const SALT: usize = 16;

/// Rounds of PBKDF2. Outside of this module's tests there is one number.
#[derive(Clone, Copy)]
struct Rounds(NonZeroU32);

impl Rounds {
    /// OWASP's number for PBKDF2-HMAC-SHA256 (Password Storage Cheat Sheet, 2023).
    const STANDARD: Self = Self(NonZeroU32::new(600_000).expect("is not zero"));
    /// The most that a file may ask for, as a multiple of what is used: a minute of a Pi Zero 2 W, which starts with it.
    const MOST: u32 = 10;

    /// The number in a file, if it is none that makes the passphrase easy to guess, or the machine busy for long.
    fn of_file(self, number: u32) -> Result<Self, ToolError> {
        let most = self.0.get().saturating_mul(Self::MOST);
        let good = NonZeroU32::new(number).filter(|number| (self.0.get()..=most).contains(&number.get()));
        good.map(Self)
            .ok_or_else(|| damaged(&format!("it asks for {number} rounds; {} to {most} are accepted", self.0)))
    }
}

/// Whether a passphrase is one that seals a backup.
pub fn is_passphrase(text: &str) -> bool {
    PASSPHRASE.contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

/// Seals JSON of at most [`MAX_PLAIN`] bytes.
///
/// # Errors
/// `invalid_argument` for a passphrase that is none; `content_too_large`; `internal` without random bytes.
pub fn seal(plain: &[u8], passphrase: &str) -> Result<Vec<u8>, ToolError> {
    seal_with(Rounds::STANDARD, plain, passphrase)
}

/// The JSON of a file. Nothing is allocated for lengths that a file only claims.
///
/// # Errors
/// `invalid_argument` for what is no backup or not whole; `permission_denied` for another passphrase or an altered file.
pub fn open(file: &[u8], passphrase: &str) -> Result<Vec<u8>, ToolError> {
    open_with(Rounds::STANDARD, file, passphrase)
}

fn seal_with(rounds: Rounds, plain: &[u8], passphrase: &str) -> Result<Vec<u8>, ToolError> {
    if !is_passphrase(passphrase) {
        return Err(ToolError::invalid(format!("the passphrase of a backup has {PASSPHRASE_IS}"))
            .hint("five or more words that do not belong together are good"));
    }
    if plain.len() > MAX_PLAIN {
        return Err(too_long(plain.len()));
    }
    let (salt, nonce) = (random::<SALT>()?, random::<{ aead::NONCE }>()?);
    let length = u32::try_from(plain.len() + aead::TAG).map_err(|_| too_long(plain.len()))?;
    let mut file = Vec::with_capacity(HEADER + plain.len() + aead::TAG);
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&VERSION.to_le_bytes());
    file.extend_from_slice(&rounds.0.get().to_le_bytes());
    file.extend_from_slice(&salt);
    file.extend_from_slice(&nonce);
    file.extend_from_slice(&length.to_le_bytes());
    let sealed = aead::seal(&key(rounds, &salt, passphrase), nonce, &file, plain)?;
    file.extend_from_slice(&sealed);
    Ok(file)
}

fn open_with(least: Rounds, file: &[u8], passphrase: &str) -> Result<Vec<u8>, ToolError> {
    let Some((header, sealed)) = file.split_at_checked(HEADER).filter(|(header, _)| header.starts_with(MAGIC)) else {
        return Err(damaged("it does not begin as one"));
    };
    let number = |at: usize| header[at..at + 4].iter().rev().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    if number(8) != VERSION {
        let told = format!("this backup is of version {}, and this program knows {VERSION}", number(8));
        return Err(ToolError::new(ErrorCode::InvalidArgument, told)
            .hint("use the version of raspi-mcp that made it, or a newer one"));
    }
    let rounds = least.of_file(number(12))?;
    let length = usize::try_from(number(44)).unwrap_or(usize::MAX);
    if length != sealed.len() || length > MAX_PLAIN + aead::TAG {
        return Err(damaged(&format!("it says that {length} bytes follow its header, and there are {}", sealed.len())));
    }
    let mut nonce = [0; aead::NONCE];
    nonce.copy_from_slice(&header[32..44]);
    aead::open(&key(rounds, &header[16..32], passphrase), nonce, header, sealed).ok_or_else(|| {
        ToolError::denied("the passphrase does not open this backup, or its file was altered")
            .hint("check the passphrase; if it is right, take another copy of the file")
    })
}

fn key(Rounds(rounds): Rounds, salt: &[u8], passphrase: &str) -> [u8; aead::KEY] {
    let mut key = [0; aead::KEY];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, passphrase.as_bytes(), &mut key);
    key
}

fn damaged(why: &str) -> ToolError {
    ToolError::new(ErrorCode::InvalidArgument, format!("this is no whole backup of raspi-mcp: {why}"))
        .hint("copy the file that `raspi-mcp backup` wrote again")
}

pub(super) fn too_long(bytes: usize) -> ToolError {
    ToolError::new(ErrorCode::ContentTooLarge, format!("the backup has {bytes} bytes; {MAX_PLAIN} is the most"))
        .hint("make the files below /etc/raspi-mcp smaller")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For tests only: 600,000 rounds take most of a second.
    const FEW: Rounds = Rounds(NonZeroU32::new(2).expect("is not zero"));
    const WORDS: &str = "five words that nobody guesses";

    fn sealed(plain: &[u8]) -> Vec<u8> {
        seal_with(FEW, plain, WORDS).unwrap()
    }

    fn refused(file: &[u8]) -> (ErrorCode, String) {
        let error = open_with(FEW, file, WORDS).unwrap_err();
        (error.code, error.message.clone())
    }

    #[test]
    fn it_opens_with_its_passphrase_only_and_no_two_are_the_same() {
        let file = sealed(b"{\"key\":\"value\"}");
        assert_eq!(open_with(FEW, &file, WORDS).unwrap(), b"{\"key\":\"value\"}");
        assert_eq!(
            open_with(FEW, &file, "other words that nobody says").unwrap_err().code,
            ErrorCode::PermissionDenied
        );
        assert_ne!(file, sealed(b"{\"key\":\"value\"}"));
        assert!(!file.windows(5).any(|bytes| bytes == b"value"));
        assert_eq!(open_with(FEW, &sealed(b""), WORDS).unwrap(), b"");
    }

    #[test]
    fn no_bit_can_be_altered_and_no_byte_be_missing_or_added() {
        let file = sealed(b"some text");
        for at in 0..file.len() * 8 {
            let mut altered = file.clone();
            altered[at / 8] ^= 1 << (at % 8);
            // A bit of the rounds may make a number that is accepted, and then another key.
            assert!(open_with(FEW, &altered, WORDS).is_err(), "bit {at}");
        }
        for length in 0..file.len() {
            assert_eq!(refused(&file[..length]).0, ErrorCode::InvalidArgument, "{length} bytes");
        }
        assert_eq!(refused(&[&file[..], b"x"].concat()).0, ErrorCode::InvalidArgument);
    }

    #[test]
    fn rounds_are_within_bounds_and_the_lengths_are_those_of_the_file() {
        let with = |at: usize, number: u32| {
            let mut file = sealed(b"some text");
            file[at..at + 4].copy_from_slice(&number.to_le_bytes());
            refused(&file)
        };
        for rounds in [0, 1, 21, u32::MAX] {
            let (code, why) = with(12, rounds);
            assert!(code == ErrorCode::InvalidArgument && why.contains(&format!("{rounds} rounds")), "{why}");
        }
        for rounds in [3, 20] {
            assert_eq!(with(12, rounds).0, ErrorCode::PermissionDenied);
        }
        for length in [0, 24, 26, u32::MAX] {
            assert!(with(44, length).1.contains("follow its header"), "{length}");
        }
        assert!(with(8, 2).1.contains("version 2"));
        // What programs use does not open it at all.
        assert!(open(&sealed(b"some text"), WORDS).unwrap_err().message.contains("2 rounds; 600000 to 6000000"));
    }

    #[test]
    fn the_longest_is_sealed_and_one_byte_more_is_not() {
        let file = sealed(&vec![7; MAX_PLAIN]);
        assert_eq!(file.len(), MAX_FILE);
        assert_eq!(open_with(FEW, &file, WORDS).unwrap().len(), MAX_PLAIN);
        assert_eq!(seal_with(FEW, &vec![7; MAX_PLAIN + 1], WORDS).unwrap_err().code, ErrorCode::ContentTooLarge);
        for bad in ["elevenchars", &"x".repeat(257), "twelve\tchars"] {
            assert_eq!(seal_with(FEW, b"", bad).unwrap_err().code, ErrorCode::InvalidArgument, "{bad}");
        }
        assert!(is_passphrase("twelve chars") && is_passphrase(&"ä".repeat(256)));
    }

    #[test]
    fn programs_use_six_hundred_thousand_rounds() {
        let file = seal(b"some text", WORDS).unwrap();
        assert_eq!(file[12..16], 600_000_u32.to_le_bytes());
        assert_eq!(open(&file, WORDS).unwrap(), b"some text");
    }
}
