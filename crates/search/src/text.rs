//! Words and kinds of text.

/// Words that say nothing about what is wanted.
const STOP_WORDS: &str = include_str!("stop_words.txt");
/// Longest word that is kept, in bytes: longer ones are hashes and encoded data.
const LONGEST: usize = 40;

/// The words of a text in lower case: letters and digits.
pub fn split(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Those that are kept.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    split(text).filter(|word| word.len() <= LONGEST)
}

/// The words of a question that say something, in lower case; all words, if none does. "Wi-Fi" is "wi", "fi" and "wifi".
/// `more`: words that say nothing here, beside the usual ones; white space is between them.
pub fn telling(question: &str, more: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for part in question.split_whitespace() {
        let parts: Vec<String> = split(part).collect();
        let joined = (parts.len() > 1 && part.contains('-')).then(|| parts.concat());
        all.extend(parts);
        all.extend(joined);
    }
    let says_something =
        |word: &String| !STOP_WORDS.split_whitespace().chain(more.split_whitespace()).any(|stop| stop == word);
    if all.iter().any(says_something) {
        all.retain(says_something);
    }
    all
}

/// The text of a file; `None` for one that has none: a NUL byte, or bytes that are no UTF-8.
pub fn text_of(bytes: &[u8]) -> Option<&str> {
    if bytes.contains(&0) { None } else { std::str::from_utf8(bytes).ok() }
}

/// The language of a file, by the ending of its name.
pub fn language(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?;
    Some(match name.rsplit_once('.')?.1 {
        "md" | "markdown" => "markdown",
        "rst" => "restructuredtext",
        "txt" | "log" => "text",
        "rs" => "rust",
        "py" => "python",
        "sh" | "bash" => "shell",
        "c" | "h" => "c",
        "cc" | "cpp" | "hpp" => "cpp",
        "js" | "mjs" => "javascript",
        "ts" => "typescript",
        "go" => "go",
        "toml" => "toml",
        "json" => "json",
        "yaml" | "yml" => "yaml",
        "ini" | "conf" | "cfg" => "ini",
        "xml" => "xml",
        "html" | "htm" => "html",
        "css" => "css",
        "sql" => "sql",
        "csv" => "csv",
        "service" | "timer" | "socket" | "mount" => "systemd",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_cut_into_the_words_that_say_something() {
        let telling = |question| telling(question, "");
        assert_eq!(telling("Is the Wi-Fi up?"), ["wi", "fi", "wifi", "up"]);
        assert_eq!(telling("what is it"), ["what", "is", "it"]);
        assert_eq!(telling("\"*(NEAR) gpio.write_pin\""), ["near", "gpio", "write", "pin"]);
    }

    #[test]
    fn text_is_utf_8_without_nul() {
        assert_eq!(text_of("größe".as_bytes()), Some("größe"));
        assert_eq!((text_of(b"a\0b"), text_of(&[0xff, 0x20])), (None, None));
        assert_eq!((language("a/b.md"), language("Makefile"), language("x.y")), (Some("markdown"), None, None));
    }
}
