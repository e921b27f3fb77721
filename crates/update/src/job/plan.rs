//! A plan's hash: what a person approves for an OS update, and what the agent compares with what it is about to do.

use crate::{Slot, bundle::Digest};

/// Domain prefix, so that the hash cannot be confused with another kind.
const DOMAIN: &[u8] = b"raspi-mcp update plan 1\n";

/// What an update would do. Each half builds it from its own knowledge: the server from the channel and the agent's
/// status, the agent from the bundle and its own records.
#[derive(Clone, Copy, Debug)]
pub struct UpdatePlan<'a> {
    /// SHA-256 of the bundle's manifest, which covers content, hardware and counter.
    pub manifest: &'a Digest,
    pub to_version: &'a str,
    /// The running version; empty when it has none.
    pub from_version: &'a str,
    /// The slot that is overwritten.
    pub target: Slot,
}

impl UpdatePlan<'_> {
    /// Its hash. It changes with the bundle, the slot or the running version.
    pub fn hash(&self) -> Digest {
        let mut text = DOMAIN.to_vec();
        // Lengths precede variable parts, so that no two plans have the same encoding.
        for part in [&self.manifest.to_string(), self.to_version, self.from_version, self.target.name()] {
            text.extend_from_slice(format!("{}:{part}\n", part.len()).as_bytes());
        }
        Digest::of(&text)
    }

    /// Its name for people: the version and the first digits of the hash.
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
        let plan = UpdatePlan { manifest: &manifest, to_version: "1.2.0", from_version: "1.1.0", target: Slot::B };
        let other = Digest::of(b"another");
        let others = [
            UpdatePlan { manifest: &other, ..plan },
            UpdatePlan { to_version: "1.2.01", ..plan },
            UpdatePlan { from_version: "", ..plan },
            UpdatePlan { to_version: "1.2.0\n5:1.1.0", from_version: "", ..plan },
            UpdatePlan { target: Slot::A, ..plan },
        ];
        assert!(others.iter().all(|other| other.hash() != plan.hash()));
        assert_eq!(plan.hash(), UpdatePlan { manifest: &Digest::of(b"manifest"), ..plan }.hash());
        assert!(plan.id().starts_with("1.2.0-") && plan.id().len() == 18);
    }
}
