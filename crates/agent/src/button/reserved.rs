//! What a button never approves: who is trusted, what is allowed, and forgetting either. For those a person has to read what
//! is asked, and say who they are: `raspi-mcp approve`.

/// Namespaces that are about nothing else.
const NAMESPACES: [&str; 6] = ["trust", "policy", "access", "approval", "claim", "reset"];
/// Words in the name of an operation: `manage.add_trust`, `manage.set_policy`, `manage.factory_reset`, `manage.new_token`.
const WORDS: [&str; 14] = [
    "trust", "trusted", "policy", "policies", "role", "roles", "token", "tokens", "key", "keys", "claim", "approve",
    "approver", "reset",
];

/// Whether a button may answer an ask about `tool`. What is no tool's name is nothing to be approved in passing.
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
