//! Who is let in by a backup: its tokens and approvers. Whether one was revoked after the backup was made, only the card knows
//! on which that was done; on another one, a person says it.

use super::{Backup, files::APPROVERS};
use crate::revoked::Revoked;
use base::{canonical, signing::PublicKey};
use contract::{
    access::token,
    config::{Sha256, TokenSetting},
};
use serde::Deserialize;
use serde_json::Value;

/// Where `raspi-mcp token make` puts a token.
const TOKEN_FILE: &str = "60-token-";

/// A token or an approver of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// `token` or `approver`.
    pub kind: &'static str,
    pub name: String,
    /// A role, or a kind of key.
    pub about: String,
    hash: Sha256,
}

impl Credential {
    /// As people name it: `token:laptop`, `approver:anna`.
    pub fn label(&self) -> String {
        format!("{}:{}", self.kind, self.name)
    }

    fn of_token(token: TokenSetting) -> Self {
        Self { kind: "token", about: token.role.name().into(), name: token.name, hash: token.sha256 }
    }

    /// `None` for an entry whose key this version cannot read.
    fn of_approver(entry: &Value) -> Option<Self> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let hash = Sha256::from_hex(&PublicKey::parse(text("key")?)?.id())?;
        let [name, about] = ["name", "kind"].map(|field| text(field).unwrap_or_default().to_owned());
        Some(Self { kind: "approver", name, about, hash })
    }

    /// Whether it was revoked.
    pub fn is_in(&self, revoked: &Revoked) -> bool {
        if self.kind == "token" { revoked.tokens.contains(&self.hash) } else { revoked.approvers.contains(&self.hash) }
    }
}

impl Backup {
    /// Its tokens and approvers.
    pub fn credentials(&self) -> Vec<Credential> {
        self.without(|_| false).1
    }

    /// The backup without those that `left_out` chooses, and all that stay.
    #[must_use]
    pub fn without(&self, left_out: impl Fn(&Credential) -> bool) -> (Self, Vec<Credential>) {
        let (mut next, mut stay) = (self.clone(), Vec::new());
        let mut stays = |credential: Option<Credential>| match credential {
            Some(credential) if left_out(&credential) => false,
            credential => {
                stay.extend(credential);
                true
            }
        };
        if let Some(Value::Array(tokens)) = next.identity.get_mut("tokens") {
            tokens.retain(|token| stays(TokenSetting::deserialize(token).ok().map(Credential::of_token)));
        }
        next.files.site.retain(|path, file| {
            for token in token::in_fragment(&file.text) {
                let hash = token.sha256.hex();
                if stays(Some(Credential::of_token(token))) {
                    continue;
                }
                if path.starts_with(TOKEN_FILE) {
                    return false;
                }
                // Beside other settings: a hash that no token has takes its place.
                let none = canonical::sha256_of(format!("revoked {hash}").as_bytes());
                file.text = replaced(&file.text, &hash, &none);
            }
            true
        });
        if let Some(file) = next.files.agent.get_mut(APPROVERS)
            && let Ok(mut entries) = serde_json::from_str::<Vec<Value>>(&file.text)
        {
            let all = entries.len();
            entries.retain(|entry| stays(Credential::of_approver(entry)));
            if entries.len() < all {
                // Read from JSON, so this cannot fail.
                file.text = serde_json::to_string_pretty(&entries).unwrap_or_else(|_| "[]".into());
            }
        }
        (next, stay)
    }

    /// The backup without what was revoked, and that as people name it.
    #[must_use]
    pub fn without_revoked(&self, revoked: &Revoked) -> (Self, Vec<String>) {
        let gone = |credential: &Credential| credential.is_in(revoked);
        let all = self.credentials();
        let labels = all.iter().filter(|credential| gone(credential)).map(Credential::label).collect();
        (self.without(gone).0, labels)
    }
}

/// `text` with a hash replaced, in whichever case its digits are.
fn replaced(text: &str, hash: &str, by: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut next = text.to_owned();
    for (at, _) in lower.match_indices(hash) {
        next.replace_range(at..at + hash.len(), by);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::SavedFile;
    use base::signing::SigningKey;
    use contract::meta::Role;
    use serde_json::json;

    fn token(name: &str, byte: u8) -> TokenSetting {
        let (sha256, role) = (Sha256([byte; 32]), Role::Admin);
        TokenSetting { name: name.into(), sha256, role, owner: None, expires: None, devices: Vec::new() }
    }

    fn file(text: String) -> SavedFile {
        SavedFile { text, mode: 0o640 }
    }

    #[test]
    fn what_was_revoked_is_left_out_wherever_it_is_and_nothing_else() {
        let key = || SigningKey::from_pkcs8(&SigningKey::generate().unwrap()).unwrap().public();
        let (anna, ben) = (key(), key());
        let mut backup = Backup::default();
        backup.identity.insert("tokens".into(), json!([token("owner", 1), token("old", 2)]));
        let lines = |token: &TokenSetting| token::lines(token).unwrap();
        backup.files.site.insert("60-token-phone.toml".into(), file(lines(&token("phone", 3))));
        backup.files.site.insert("60-token-desk.toml".into(), file(lines(&token("desk", 4))));
        let both = format!("[http]\npage = false\n\n{}", lines(&token("mixed", 0xab)).to_ascii_uppercase());
        let both = both.replace("[[ACCESS.TOKENS]]\nNAME", "[[access.tokens]]\nname");
        let both = both.replace("SHA256", "sha256").replace("ROLE = \"ADMIN\"", "role = \"admin\"");
        backup.files.site.insert("20-mine.toml".into(), file(both));
        let entry =
            |name: &str, key: &PublicKey| json!({"name": name, "kind": "cli", "key": key.text(), "added_ms": 1});
        let list = json!([entry("anna", &anna), entry("ben", &ben), {"name": "later", "key": "?"}]).to_string();
        backup.files.agent.insert(APPROVERS.into(), file(list));
        let labels = |backup: &Backup| backup.credentials().iter().map(Credential::label).collect::<Vec<_>>();
        let all =
            ["token:owner", "token:old", "token:MIXED", "token:desk", "token:phone", "approver:anna", "approver:ben"];
        assert_eq!(labels(&backup), all);
        assert_eq!(backup.without_revoked(&Revoked::default()), (backup.clone(), Vec::new()));
        let revoked = Revoked {
            tokens: [2, 3, 0xab].map(|byte| Sha256([byte; 32])).into(),
            approvers: vec![Sha256::from_hex(&ben.id()).unwrap()],
        };
        let (next, gone) = backup.without_revoked(&revoked);
        assert_eq!(gone, ["token:old", "token:MIXED", "token:phone", "approver:ben"]);
        let sites: Vec<&str> = next.files.site.keys().map(String::as_str).collect();
        assert_eq!(sites, ["20-mine.toml", "60-token-desk.toml"]);
        let mixed = &next.files.site["20-mine.toml"].text;
        assert!(mixed.contains("page = false") && !mixed.to_ascii_lowercase().contains(&"ab".repeat(32)), "{mixed}");
        let approvers = &next.files.agent[APPROVERS].text;
        assert!(approvers.contains("anna") && approvers.contains("later") && !approvers.contains("ben"), "{approvers}");
        assert_eq!(next.identity["tokens"].as_array().unwrap().len(), 1);
        next.json().unwrap();
    }
}
