//! The result of a tool of an MCP server (Model Context Protocol 2025-11-25, "Tool Result"), as our clients can have it: text and
//! pictures. What they cannot have is named with its size and type.

use crate::tools::files::content::from_base64;
use base::redact::redact_text;
use serde_json::Value;

/// A result that is well formed.
#[derive(Debug, PartialEq)]
pub struct AgentResult {
    /// Everything that is text or can be named, secrets masked; never empty.
    pub text: String,
    /// Blocks of type "image".
    pub pictures: Vec<Value>,
    /// `structuredContent`.
    pub structured: Option<Value>,
    pub is_error: bool,
}

impl AgentResult {
    /// # Errors
    /// What is wrong with it, in words that go on from "answered".
    pub fn of(mut answer: Value) -> Result<Self, String> {
        if !answer.is_object() {
            return Err("with what is no object".into());
        }
        let structured = answer.get_mut("structuredContent").map(Value::take).filter(|value| !value.is_null());
        let blocks = match answer.get_mut("content").map(Value::take) {
            Some(Value::Array(blocks)) => blocks,
            None | Some(Value::Null) if structured.is_some() => Vec::new(),
            None | Some(Value::Null) => return Err("with neither content nor structuredContent".into()),
            Some(_) => return Err("with content that is no list".into()),
        };
        let (mut texts, mut pictures) = (Vec::new(), Vec::new());
        for (at, block) in blocks.into_iter().enumerate() {
            let wrong = |why: String| format!("with a malformed result: content[{at}] {why}");
            match Block::of(&block).map_err(wrong)? {
                Block::Text(text) => texts.push(text),
                Block::Picture => pictures.push(block),
            }
        }
        let mut text = texts.join("\n");
        if text.is_empty() {
            text = match (&structured, pictures.is_empty()) {
                (Some(structured), _) => structured.to_string(),
                (None, true) => "(The agent answered without content.)".into(),
                (None, false) => "(A picture.)".into(),
            };
        }
        Ok(Self { text: redact_text(&text), pictures, structured, is_error: answer["isError"] == true })
    }
}

enum Block {
    Text(String),
    Picture,
}

impl Block {
    fn of(block: &Value) -> Result<Self, String> {
        let text = |of: &Value, field: &str| of[field].as_str().map(str::to_owned);
        let needed = |of: &Value, field: &str| text(of, field).ok_or_else(|| format!("has no text \"{field}\""));
        let media = |of: &Value| text(of, "mimeType").unwrap_or_else(|| "unknown type".into());
        match needed(block, "type")?.as_str() {
            "text" => needed(block, "text").map(Self::Text),
            "image" => {
                let media = needed(block, "mimeType")?;
                if !media.starts_with("image/") {
                    return Err(format!("is an image of type \"{media}\""));
                }
                bytes(block, "data")?;
                Ok(Self::Picture)
            }
            "audio" => {
                Ok(Self::Text(format!("[audio, {}, {} bytes: not passed on]", media(block), bytes(block, "data")?)))
            }
            "resource_link" => {
                let about = ["name", "title", "description"].iter().filter_map(|field| text(block, field));
                let about: Vec<String> = about.chain(text(block, "mimeType")).collect();
                Ok(Self::Text(format!("[resource {}: {}]", needed(block, "uri")?, about.join(", "))))
            }
            "resource" => {
                let resource = &block["resource"];
                let uri = needed(resource, "uri")?;
                Ok(Self::Text(match text(resource, "text") {
                    Some(text) => format!("[resource {uri}]\n{text}"),
                    None if resource["blob"].is_string() => {
                        format!(
                            "[resource {uri}, {}, {} bytes: not passed on]",
                            media(resource),
                            bytes(resource, "blob")?
                        )
                    }
                    None => return Err(format!("is the resource {uri} without text or blob")),
                }))
            }
            other => Ok(Self::Text(format!("[a block of type \"{}\": not passed on]", base::redact::cut(other, 64)))),
        }
    }
}

/// How many bytes this field has in base64.
fn bytes(of: &Value, field: &str) -> Result<usize, String> {
    let text = of[field].as_str().ok_or_else(|| format!("has no text \"{field}\""))?;
    from_base64(text, field).map(|bytes| bytes.len()).map_err(|_| format!("has a \"{field}\" that is no base64"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(answer: Value) -> String {
        AgentResult::of(answer).unwrap().text
    }

    #[test]
    fn every_kind_of_content_arrives() {
        let content = json!([
            {"type": "text", "text": "one"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
            {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "application/pdf", "blob": "Zm9v"}},
            {"type": "resource_link", "uri": "file:///c", "name": "c", "mimeType": "text/plain"},
            {"type": "audio", "mimeType": "audio/wav", "data": "Zm9vYg=="},
            {"type": "image", "mimeType": "image/png", "data": "Zm9v"},
            {"type": "hologram", "x": 1},
        ]);
        let result = AgentResult::of(json!({"content": content})).unwrap();
        assert_eq!(
            result.text,
            "one\n[resource file:///a]\ntwo\n[resource file:///b, application/pdf, 3 bytes: not passed on]\n\
             [resource file:///c: c, text/plain]\n[audio, audio/wav, 4 bytes: not passed on]\n\
             [a block of type \"hologram\": not passed on]"
        );
        assert_eq!((result.pictures.len(), result.is_error), (1, false));
    }

    #[test]
    fn nothing_is_an_empty_success() {
        assert_eq!(text(json!({"structuredContent": {"n": 1}})), r#"{"n":1}"#);
        assert_eq!(text(json!({"content": [], "structuredContent": {"n": 1}})), r#"{"n":1}"#);
        assert!(text(json!({"content": []})).contains("without content"));
        assert_eq!(text(json!({"content": [{"type": "text", "text": "x"}], "structuredContent": {"n": 1}})), "x");
    }

    #[test]
    fn what_is_malformed_is_said() {
        for (answer, why) in [
            (json!("text"), "no object"),
            (json!({}), "neither content nor structuredContent"),
            (json!({"content": "text"}), "no list"),
            (json!({"content": ["text"]}), "content[0] has no text \"type\""),
            (json!({"content": [{"type": "text", "text": "a"}, {"type": "text"}]}), "content[1] has no text \"text\""),
            (json!({"content": [{"type": "text", "text": 7}]}), "has no text \"text\""),
            (json!({"content": [{"type": "image", "data": "Zm9v"}]}), "has no text \"mimeType\""),
            (json!({"content": [{"type": "image", "data": "Zm9v", "mimeType": "text/html"}]}), "image of type"),
            (json!({"content": [{"type": "image", "data": "?!", "mimeType": "image/png"}]}), "no base64"),
            (json!({"content": [{"type": "resource", "resource": {"uri": "a:b"}}]}), "without text or blob"),
            (json!({"content": [{"type": "resource"}]}), "has no text \"uri\""),
        ] {
            let told = AgentResult::of(answer.clone()).unwrap_err();
            assert!(told.contains(why), "{answer}: {told}");
        }
    }

    #[test]
    fn secrets_are_masked() {
        let told = text(json!({"content": [{"type": "text", "text": "password=hunter2hunter2 ok"}]}));
        assert!(!told.contains("hunter2") && told.ends_with("ok"), "{told}");
    }
}
