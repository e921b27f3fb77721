//! Asks that a button never approves: trust, permissions, and erasing either. Those require `raspi-mcp approve`, where
//! a person reads the ask and is identified.

/// Namespaces of which every tool is reserved.
const NAMESPACES: [&str; 6] = ["trust", "policy", "access", "approval", "claim", "reset"];
/// Words in operation names that are reserved: `manage.add_trust`, `manage.set_policy`, `manage.factory_reset`,
/// `manage.new_token`.
const WORDS: [&str; 14] = [
    "trust", "trusted", "policy", "policies", "role", "roles", "token", "tokens", "key", "keys", "claim", "approve",
    "approver", "reset",
];

/// Whether a button may answer an ask about `tool`. False for anything that is not a tool's name.
pub fn answerable(tool: &str) -> bool {
    let Some((namespace, operation)) = tool.split_once('.') else { return false };
    let reserved = |word: &str| WORDS.contains(&word.to_ascii_lowercase().as_str());
    let words = |text: &str| text.split(|c: char| !c.is_ascii_alphanumeric()).any(reserved);
    if namespace.is_empty() || operation.is_empty() {
        return false;
    }
    !NAMESPACES.contains(&namespace) && !words(namespace) && !words(operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_policy_and_reset_are_never_for_a_button() {
        for tool in [
            "manage.trust_key",
            "manage.add_trust",
            "trust.add",
            "manage.set_policy",
            "policy.set",
            "access.new_token",
            "manage.reset",
            "manage.factory_reset",
            "manage.RESET",
            "manage.reset-all",
            "manage.x.reset",
            "claim.take",
            "access.anything",
            "manage.revoke_keys",
            "reset",
            "",
            ".",
            "x.",
            ".x",
            "manage.set_roles",
        ] {
            assert!(!answerable(tool), "{tool}");
        }
    }
}
