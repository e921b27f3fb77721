//! Removes secrets from logs, errors and audit records, by the name of a value and by its form.
//!
//! Also limits the copied amount, so that the record of a large call stays small.

mod address;
mod command;

pub use address::{shown_address, without_passwords};
pub use command::redact_command;

use serde_json::{Map, Value};

/// Replaces a secret.
pub const MASK: &str = "[redacted]";
/// Longest string kept, in characters: enough for any path or reason, too short for a payload.
const MAX_STRING: usize = 256;
/// Most entries kept of one array or object.
const MAX_ENTRIES: usize = 64;
/// Deepest nesting kept.
const MAX_DEPTH: usize = 12;
/// Most values kept of one document, because width times depth would still be large.
const MAX_VALUES: usize = 1024;

/// Parts that make a name secret at any position.
const ANYWHERE: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "privatekey",
    "accesskey",
    "signingkey",
    "credential",
    "authorization",
];
/// Parts that make a name secret only at its end: `token_count` is not secret, `progress_token` is an identifier.
const AT_END: &[&str] = &["token", "cookie", "cookies", "psk", "jwt"];

/// Whether a value with this name is a secret. The last segment of a path or pointer counts; case and separators do
/// not.
pub fn is_secret_name(name: &str) -> bool {
    let last = name.rsplit(['/', '.', ':']).next().unwrap_or(name);
    let plain: String = last.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    if plain == "progresstoken" {
        return false;
    }
    plain == "tokens"
        || ANYWHERE.iter().any(|part| plain.contains(part))
        || AT_END.iter().any(|part| plain.ends_with(part))
}

/// A copy of `value` that is safe to store: secrets masked, and limited in size.
pub fn redact(value: &Value) -> Value {
    copy(value, 0, &mut { MAX_VALUES })
}

fn copy(value: &Value, depth: usize, budget: &mut usize) -> Value {
    if *budget == 0 {
        return Value::String("[left out]".into());
    }
    *budget -= 1;
    match value {
        Value::Object(_) | Value::Array(_) if depth >= MAX_DEPTH => Value::String("[nested too deeply]".into()),
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, item) in map.iter().take(MAX_ENTRIES) {
                let safe = if is_secret_name(key) && !item.is_null() {
                    Value::String(MASK.into())
                } else if let ("principal", Value::String(principal)) = (key.as_str(), item) {
                    Value::String(cut(&redact_own(principal), MAX_STRING))
                } else {
                    copy(item, depth + 1, budget)
                };
                out.insert(cut(key, MAX_STRING), safe);
            }
            if map.len() > MAX_ENTRIES {
                out.insert("…".into(), Value::String(format!("{} more", map.len() - MAX_ENTRIES)));
            }
            Value::Object(out)
        }
        Value::Array(items) => {
            let words = command_line(items);
            let kept = words.as_deref().unwrap_or(items).iter().take(MAX_ENTRIES);
            let mut out: Vec<Value> = kept.map(|item| copy(item, depth + 1, budget)).collect();
            if items.len() > MAX_ENTRIES {
                out.push(Value::String(format!("… {} more", items.len() - MAX_ENTRIES)));
            }
            Value::Array(out)
        }
        // Masked before it is cut, because the cut could hide the end of a pattern.
        Value::String(text) => Value::String(cut(&redact_text(text), MAX_STRING)),
        scalar => scalar.clone(),
    }
}

/// A list of texts, masked as the command line that it may be; `None` for other lists.
fn command_line(items: &[Value]) -> Option<Vec<Value>> {
    let words =
        items.iter().take(MAX_ENTRIES).map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
    Some(redact_command(words).into_iter().map(Value::String).collect())
}

/// At most `longest` characters of `text`, and an ellipsis in place of the rest.
pub fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Masks anything that looks like a secret in free text: our own tokens, bearer and basic credentials, values assigned
/// to secret names or given to an option of such a name, the password of a URL or of `-u user:password`, and private keys.
pub fn redact_text(text: &str) -> String {
    masked(text, false)
}

/// The same for our own texts, in which `token:NAME` and `jwt:SUBJECT` are callers and not secrets. A token in them is
/// still masked. Options are not looked at: our hints are full of them.
pub fn redact_own(text: &str) -> String {
    masked(text, true)
}

fn masked(text: &str, own: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("-----BEGIN") && private_key_len(rest).is_some_and(|len| len > 0) {
            let len = private_key_len(rest).unwrap_or(rest.len());
            out.push_str(MASK);
            rest = &rest[len..];
            continue;
        }
        if let Some(after) = rest.strip_prefix("://") {
            out.push_str("://");
            rest = mask_userinfo(after, &mut out);
            continue;
        }
        let len = word_len(rest);
        if len == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(len);
        rest = mask_after(word, after, own, &mut out);
    }
    out
}

/// Writes `word`, and the mask in place of a secret that follows it; returns the rest.
fn mask_after<'a>(word: &str, after: &'a str, own: bool, out: &mut String) -> &'a str {
    if word.len() > 5 && word.starts_with("rmcp_") {
        out.push_str("rmcp_");
        out.push_str(MASK);
        return after;
    }
    if is_signed_token(word) {
        out.push_str(MASK);
        return after;
    }
    out.push_str(word);
    if own && is_principal(word, after) {
        return after;
    }
    if is_scheme(word) {
        let spaces = spaces_len(after);
        let len = value_len(&after[spaces..]);
        if spaces > 0 && len > 0 {
            out.push_str(&after[..spaces]);
            out.push_str(MASK);
            return &after[spaces + len..];
        }
        return after;
    }
    if !own
        && word.starts_with('-')
        && let Some(rest) = mask_option(word, after, out)
    {
        return rest;
    }
    if !is_secret_name(word) {
        return after;
    }
    // `name=value`, `name: value`, `"name":"value"`, `name = 'value'`.
    let quote = usize::from(after.starts_with(['"', '\'']));
    let at = quote + spaces_len(&after[quote..]);
    let Some(value) = after[at..].strip_prefix(['=', ':']) else { return after };
    let lead = &after[..at + 1];
    let spaces = spaces_len(value);
    let value = &value[spaces..];
    out.push_str(lead);
    out.push_str(&after[at + 1..at + 1 + spaces]);
    if let Some(mark) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        out.push(mark);
        out.push_str(MASK);
        return value[1..].find(mark).map_or("", |end| &value[1 + end..]);
    }
    let len = value_len(value);
    if len == 0 {
        return value;
    }
    out.push_str(MASK);
    let tail = &value[len..];
    if is_scheme(&value[..len]) {
        // `Authorization: Bearer x`: the scheme is the first word, the secret the second.
        let spaces = spaces_len(tail);
        return &tail[spaces + value_len(&tail[spaces..])..];
    }
    tail
}

/// Masks the value of an option, `--token x` or `-u user:x`, and returns the rest; `None` if it has none to mask.
fn mask_option<'a>(option: &str, after: &'a str, out: &mut String) -> Option<&'a str> {
    if let Some(glued) = option.strip_prefix("-u").filter(|user| !user.is_empty() && !user.starts_with('-')) {
        // `-uuser:x`: the word ends at the colon.
        let len = value_len(after);
        let masked = command::login(&format!("{glued}{}", &after[..len]))?;
        out.push_str(masked.strip_prefix(glued)?);
        return Some(&after[len..]);
    }
    let login = command::is_login(option);
    let spaces = if login { spaces_len(after).max(usize::from(after.starts_with('='))) } else { spaces_len(after) };
    let value = &after[spaces..];
    if spaces == 0 || value.starts_with('-') || !(login || is_secret_name(option)) {
        return None;
    }
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let inner = &value[quote.map_or(0, char::len_utf8)..];
    let len = quote.map_or_else(|| value_len(inner), |mark| inner.find(mark).unwrap_or(inner.len()));
    let masked = if login { command::login(&inner[..len])? } else { MASK.to_owned() };
    if len == 0 || !login && value.starts_with(['=', ':']) {
        return None;
    }
    out.push_str(&after[..spaces]);
    out.extend(quote);
    out.push_str(&masked);
    Some(&inner[len..])
}

/// Whether this is a JWT: three parts, of which the first two begin like JSON objects in base64url.
fn is_signed_token(word: &str) -> bool {
    let mut parts = word.split('.');
    let mut object = || parts.next().is_some_and(|part| part.len() > 8 && part.starts_with("eyJ"));
    object() && object() && parts.next().is_some()
}

/// Whether `word` and the following text are a caller's name, such as `token:NAME`. A secret is written `token=`,
/// `token: ` or `"token":"`.
fn is_principal(word: &str, after: &str) -> bool {
    let named = |name: &str| name.starts_with(|c: char| !(c.is_whitespace() || matches!(c, '"' | '\'' | ':' | '=')));
    matches!(word, "token" | "jwt") && after.strip_prefix(':').is_some_and(named)
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn mask_userinfo<'a>(after: &'a str, out: &mut String) -> &'a str {
    let end =
        after.find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '?' | '#')).unwrap_or(after.len());
    let Some(at) = after[..end].rfind('@') else { return after };
    // A lone name before the @ may be a token, and is masked.
    if let Some((user, _)) = after[..at].split_once(':') {
        out.push_str(user);
        out.push(':');
    }
    out.push_str(MASK);
    &after[at..]
}

/// Length of the private key block at the start of `text`, if there is one.
fn private_key_len(text: &str) -> Option<usize> {
    let line = text.lines().next()?;
    if !line.contains("PRIVATE KEY-----") {
        return None;
    }
    let end = text[line.len()..].find("-----END").map_or(text.len(), |at| {
        let from = line.len() + at;
        text[from..].find('\n').map_or(text.len(), |newline| from + newline)
    });
    Some(end)
}

fn word_len(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))).unwrap_or(text.len())
}

fn spaces_len(text: &str) -> usize {
    text.find(|c| !matches!(c, ' ' | '\t')).unwrap_or(text.len())
}

fn value_len(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '&' | ')' | '}' | ']' | '"' | '\''))
        .unwrap_or(text.len())
}
