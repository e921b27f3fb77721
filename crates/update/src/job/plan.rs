//! A plan's hash: what a person approves when they approve an OS update, and what the agent compares with what it is about to do.

use crate::{Slot, bundle::Digest};

/// Before all else that is hashed: a hash made for this is one for nothing else.
const DOMAIN: &[u8] = b"raspi-mcp update plan 1\n";

/// What an update is to do. Both halves make it from what they know themselves: the server from the channel and the agent's status,
/// the agent from the bundle it was given and from its own records.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// SHA-256 of the bundle's manifest: content, hardware, counter and all.
    pub manifest: &'a Digest,
    pub to_version: &'a str,
    /// The version that runs now; empty when it has none.
    pub from_version: &'a str,
    /// The slot that is overwritten.
    pub target: Slot,
}

impl Plan<'_> {
    /// Its hash. Another bundle, another slot or another version that runs meanwhile is another plan.
    pub fn hash(&self) -> Digest {
        let mut text = DOMAIN.to_vec();
        // Lengths before what has any: no two plans are the same bytes.
        for part in [&self.manifest.to_string(), self.to_version, self.from_version, self.target.name()] {
            text.extend_from_slice(format!("{}:{part}\n", part.len()).as_bytes());
        }
        Digest::of(&text)
    }

    /// Its name, for people: the version and the first digits of the hash.
    pub fn id(&self) -> String {
        let hash = self.hash().to_string();
        format!("{}-{}", self.to_version, &hash[..12])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_plan_is_in_its_hash() {
        let manifest = Digest::of(b"manifest");
        let plan = Plan { manifest: &manifest, to_version: "1.2.0", from_version: "1.1.0", target: Slot::B };
        let other = Digest::of(b"another");
        let others = [
            Plan { manifest: &other, ..plan },
            Plan { to_version: "1.2.01", ..plan },
            Plan { from_version: "", ..plan },
            Plan { to_version: "1.2.0\n5:1.1.0", from_version: "", ..plan },
            Plan { target: Slot::A, ..plan },
        ];
        assert!(others.iter().all(|other| other.hash() != plan.hash()));
        assert_eq!(plan.hash(), Plan { manifest: &Digest::of(b"manifest"), ..plan }.hash());
        assert!(plan.id().starts_with("1.2.0-") && plan.id().len() == 18);
    }
}
