//! `autoboot.txt`: the partition to start, and the one that a trial starts (Raspberry Pi documentation,
//! "autoboot.txt").

/// The firmware reads at most this many bytes.
pub const LONGEST: usize = 512;

/// The content of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Autoboot {
    /// `boot_partition` under `[all]`.
    pub all: u8,
    /// `boot_partition` under `[tryboot]`, where there is one.
    pub tryboot: Option<u8>,
    /// `tryboot_a_b=1`: a trial uses the other partition's `config.txt`, not a `tryboot.txt` of this one.
    pub a_b: bool,
}

/// The content written when nothing of the old file can be kept.
pub fn canonical(all: u8, tryboot: u8) -> String {
    format!("[all]\ntryboot_a_b=1\nboot_partition={all}\n[tryboot]\nboot_partition={tryboot}\n")
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    All,
    Tryboot,
    /// A filter for some board: its content may or may not apply here.
    Other,
}

/// A value and its range in the file.
type Found = (u8, std::ops::Range<usize>);

#[derive(Default)]
struct Parsed {
    all: Option<Found>,
    tryboot: Option<Found>,
    a_b: bool,
}

impl Autoboot {
    /// # Errors
    /// For people: why it is not the file of a card with two slots.
    pub fn parse(file: &[u8]) -> Result<Self, String> {
        let parsed = parse(file)?;
        let all = parsed.all.ok_or("it has no boot_partition under [all]")?.0;
        Ok(Self { all, tryboot: parsed.tryboot.map(|(number, _)| number), a_b: parsed.a_b })
    }

    /// Replaces the numbers and keeps the length, so that only one sector changes. The rest stays if both numbers are
    /// present with one digit; otherwise the file is rewritten.
    ///
    /// # Errors
    /// Why that is impossible, for people.
    pub fn rewrite(file: &[u8], all: u8, tryboot: u8) -> Result<Vec<u8>, String> {
        let mut new = file.to_vec();
        if let Ok(Parsed { all: Some((_, there)), tryboot: Some((_, other)), a_b: true }) = parse(file)
            && there.len() == 1
            && other.len() == 1
            && all.max(tryboot) < 10
        {
            new[there.start] = b'0' + all;
            new[other.start] = b'0' + tryboot;
            return Ok(new);
        }
        let text = canonical(all, tryboot);
        if text.len() > new.len() {
            return Err(format!("it has {} bytes where {} are needed", new.len(), text.len()));
        }
        new.fill(b'\n');
        new[..text.len()].copy_from_slice(text.as_bytes());
        Ok(new)
    }
}

fn parse(file: &[u8]) -> Result<Parsed, String> {
    let text = std::str::from_utf8(file).ok().filter(|text| !text.contains('\0')).ok_or("it is no text")?;
    if text.len() > LONGEST {
        return Err(format!("it has {} bytes, the firmware reads {LONGEST}", text.len()));
    }
    let (mut section, mut parsed) = (Section::All, Parsed::default());
    let mut next = 0;
    for line in text.split_inclusive('\n') {
        let start = next;
        next += line.len();
        let line = line.split('#').next().unwrap_or_default();
        let word = line.trim();
        if let Some(name) = word.strip_prefix('[') {
            section = match name {
                "all]" => Section::All,
                "tryboot]" => Section::Tryboot,
                _ => Section::Other,
            };
            continue;
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let at = start + name.len() + 1 + (value.len() - value.trim_start().len());
        let (name, value) = (name.trim(), value.trim());
        match (name, section) {
            (_, Section::Other) if name == "boot_partition" || name == "tryboot_a_b" => {
                return Err(format!("{name} stands under a filter that this program does not evaluate"));
            }
            ("tryboot_a_b", _) => parsed.a_b = value == "1",
            ("boot_partition", section) => {
                let number = value.parse().map_err(|_| format!("boot_partition={value} is no partition"))?;
                let place = if section == Section::All { &mut parsed.all } else { &mut parsed.tryboot };
                if place.replace((number, at..at + value.len())).is_some() {
                    return Err("boot_partition stands there twice".into());
                }
            }
            _ => {}
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let text = canonical(2, 3);
        assert_eq!(Autoboot::parse(text.as_bytes()), Ok(Autoboot { all: 2, tryboot: Some(3), a_b: true }));
        assert_eq!(canonical(3, 2).len(), text.len());
    }
}
