//! What has to be read of a certificate that this folder has: when it ends, and the names in it.
//!
//! Source: RFC 5280, sections 4.1 and 4.2.1.6; the encoding is DER (ITU-T X.690). Only certificates of the fleet's own authority are
//! read, so nothing is decided by what a stranger wrote.

use base::error::ToolError;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::{net::IpAddr, path::Path};
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// `[3]`, the extensions of a certificate.
const EXTENSIONS: u8 = 0xa3;
const OCTETS: u8 = 0x04;
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;
/// 2.5.29.17, with its tag and length.
const ALTERNATIVE_NAMES: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x11];

/// A certificate.
pub struct KnownCertificate {
    pub expires: OffsetDateTime,
    /// DNS names and addresses.
    pub names: Vec<String>,
}

impl KnownCertificate {
    /// Reads the first one of a PEM file.
    ///
    /// # Errors
    /// `invalid_argument` that names the file.
    pub fn read(file: &Path) -> Result<Self, ToolError> {
        let wrong = |why: &str| {
            ToolError::invalid(format!("{}: {why}", file.display()))
                .hint("`raspi-mcp fleet init` wrote it, and `raspi-mcp fleet renew` writes it again")
                .with("configuration", true)
        };
        let der = CertificateDer::from_pem_file(file).map_err(|error| wrong(&error.to_string()))?;
        Self::parse(&der).ok_or_else(|| wrong("it is no certificate that is understood"))
    }

    fn parse(der: &[u8]) -> Option<Self> {
        let (whole, _) = tagged(der, SEQUENCE)?;
        let (mut rest, _) = tagged(whole, SEQUENCE)?;
        // Version, serial number, algorithm, issuer.
        for _ in 0..4 {
            rest = element(rest)?.2;
        }
        let (validity, mut rest) = tagged(rest, SEQUENCE)?;
        let (tag, end, _) = element(element(validity)?.2)?;
        let expires = moment(tag, end)?;
        let mut names = Vec::new();
        // Subject, key, and what may follow.
        while let Some((tag, content, next)) = element(rest) {
            if tag == EXTENSIONS {
                names = alternative_names(tagged(content, SEQUENCE)?.0)?;
            }
            rest = next;
        }
        Some(Self { expires, names })
    }
}

/// The tag of the first element, its content, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(first) {
        short @ 0..=0x7f => (short, rest),
        long @ 0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(long - 0x80)?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// The content of the first element, if it has this tag, and what follows it.
fn tagged(der: &[u8], wanted: u8) -> Option<(&[u8], &[u8])> {
    element(der).filter(|(tag, ..)| *tag == wanted).map(|(_, content, rest)| (content, rest))
}

/// A time in UTC: `YYMMDDHHMMSSZ`, or with four digits of the year.
fn moment(tag: u8, content: &[u8]) -> Option<OffsetDateTime> {
    let text = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
    let (year, rest) = text.split_at_checked(match tag {
        UTC_TIME => 2,
        GENERALIZED_TIME => 4,
        _ => return None,
    })?;
    let year: i32 = year.parse().ok()?;
    // RFC 5280, 4.1.2.5.1.
    let year = match tag {
        UTC_TIME if year >= 50 => 1900 + year,
        UTC_TIME => 2000 + year,
        _ => year,
    };
    let field = |at: usize| rest.get(at..at + 2)?.parse::<u8>().ok();
    let month = Month::try_from(field(0)?).ok()?;
    let date = Date::from_calendar_date(year, month, field(2)?).ok()?;
    let time = Time::from_hms(field(4)?, field(6)?, field(8)?).ok()?;
    Some(PrimitiveDateTime::new(date, time).assume_utc())
}

fn alternative_names(mut extensions: &[u8]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    while let Some((_, extension, next)) = element(extensions) {
        extensions = next;
        let Some(mut rest) = extension.strip_prefix(&ALTERNATIVE_NAMES) else { continue };
        while let Some((tag, content, next)) = element(rest) {
            rest = next;
            if tag != OCTETS {
                continue;
            }
            let (mut general, _) = tagged(content, SEQUENCE)?;
            while let Some((tag, content, next)) = element(general) {
                general = next;
                match tag {
                    DNS_NAME => names.push(std::str::from_utf8(content).ok()?.to_owned()),
                    IP_ADDRESS => names.push(address(content)?.to_string()),
                    _ => {}
                }
            }
        }
    }
    Some(names)
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        _ => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::desk::certificates::{VALID, authority};

    #[test]
    fn the_end_and_the_names_are_those_that_were_signed() {
        let folder = tempfile::tempdir().unwrap();
        let made = authority("home", None).unwrap();
        let signer = crate::fleet::desk::certificates::Authority::read("home", made.key.as_deref().unwrap()).unwrap();
        let names = ["broker.example.org", "192.0.2.7", "2001:db8::7"].map(String::from);
        let issued = signer.make(names.to_vec(), true, None).unwrap();
        for (text, names, expires) in
            [(&issued.certificate, &names[..], issued.expires), (&made.certificate, &[][..], made.expires)]
        {
            let file = folder.path().join("x.pem");
            std::fs::write(&file, text).unwrap();
            let known = KnownCertificate::read(&file).unwrap();
            assert_eq!((known.names.as_slice(), known.expires), (names, expires));
        }
        assert!((issued.expires - OffsetDateTime::now_utc() - VALID).abs() < time::Duration::minutes(5));
    }

    #[test]
    fn what_is_cut_off_or_changed_is_no_certificate_and_no_panic() {
        let made = authority("home", None).unwrap();
        let der = CertificateDer::from_pem_slice(made.certificate.as_bytes()).unwrap();
        for length in 0..der.len() {
            assert!(KnownCertificate::parse(&der[..length]).is_none(), "{length}");
        }
        for at in 0..der.len() {
            for byte in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut other = der.to_vec();
                other[at] = byte;
                let _ = KnownCertificate::parse(&other);
            }
        }
        for (tag, text, year) in [
            (UTC_TIME, "491231235959Z", 2049),
            (UTC_TIME, "500101000000Z", 1950),
            (GENERALIZED_TIME, "20500101000000Z", 2050),
        ] {
            assert_eq!(moment(tag, text.as_bytes()).unwrap().year(), year);
        }
        for text in ["", "Z", "26010100000Z", "261301000000Z", "260101000000", "2601010000\u{e9}Z"] {
            assert!(moment(UTC_TIME, text.as_bytes()).is_none(), "{text}");
        }
    }
}
