//! One message, in ntfy's form and as JSON.

use super::{
    encoded_word::encoded,
    event::{Event, clean},
    told::Mark,
};
use base::{canonical::hex, clock::Stamp, error::ToolError};
use contract::config::WebhookForm;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;

/// Bytes that no body reaches: ntfy makes an attachment of a longer one.
pub const MOST_BYTES: usize = 4096;
/// Most characters of a device's name.
const DEVICE: usize = 64;

/// A message that waits. The same for all receivers.
#[derive(Debug)]
pub struct Message {
    /// 64 random bits as hexadecimal digits, by which a receiver knows one that is sent again.
    pub id: String,
    pub event: Event,
    /// Milliseconds since 1970 UTC.
    pub at_ms: i64,
    /// What is remembered once it has been sent.
    pub mark: Option<Mark>,
}

/// A message as it is sent.
#[derive(Debug)]
pub struct Written {
    /// Names and values of headers: ASCII without control characters.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Message {
    /// # Errors
    /// `internal` when the system provides no random bytes.
    pub fn new(event: Event, at_ms: i64, mark: Option<Mark>) -> Result<Self, ToolError> {
        let mut id = [0; 8];
        SystemRandom::new().fill(&mut id).map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
        Ok(Self { id: hex(&id), event, at_ms, mark })
    }

    /// The message of `device` in this form. `page`: the address it links to, or nothing. `dropped`: how many messages
    /// before it were lost.
    pub fn written(&self, form: WebhookForm, device: &str, page: &str, dropped: u64) -> Written {
        let device = clean(device, DEVICE);
        let told = self.event.told(&device);
        match form {
            WebhookForm::Ntfy => {
                let mut headers = vec![
                    ("Content-Type", "text/plain; charset=utf-8".to_owned()),
                    ("Title", encoded(&told.title)),
                    ("Priority", told.priority.to_string()),
                    ("Tags", self.event.word()),
                ];
                if !page.is_empty() {
                    headers.push(("Click", page.to_owned()));
                }
                let lost = if dropped > 0 {
                    format!("\n{dropped} messages before this one were lost.")
                } else {
                    String::new()
                };
                Written { headers, body: format!("{}{lost}", told.text).into_bytes() }
            }
            WebhookForm::Json => {
                let mut body = json!({
                    "id": self.id,
                    "event": self.event.word(),
                    "device": device,
                    "time": Stamp(self.at_ms).to_string(),
                    "title": told.title,
                    "message": told.text,
                    "data": told.data,
                    "dropped": dropped,
                });
                if !page.is_empty() {
                    body["page"] = page.into();
                }
                let headers = vec![("Content-Type", "application/json".to_owned())];
                Written { headers, body: body.to_string().into_bytes() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest and most hostile names there can be.
    fn hostile() -> Vec<Event> {
        let name = "\r\nX-Evil: 1\0\u{202e}😀".repeat(100);
        vec![
            Event::AskOpened { tool: name.clone(), ask_id: name.clone(), expires_ms: i64::MAX },
            Event::UpdateFailed { version: Some(name.clone()), code: name.clone() },
            Event::UpdateRolledBack { version: name.clone(), reset_cause: Some(name.clone()) },
            Event::CardWorn { device: name.clone(), life_used_percent: Some(110), spare_blocks: Some("urgent") },
            Event::UnderVoltage { times: u32::MAX },
            Event::DiskNearlyFull { mount: name, used_percent: 100 },
            Event::Test,
        ]
    }

    #[test]
    fn no_name_breaks_a_header_or_the_bound_of_a_body() {
        let page = format!("https://host/{}", "p".repeat(490));
        for event in hostile() {
            let message = Message::new(event, i64::MAX, None).unwrap();
            for form in [WebhookForm::Ntfy, WebhookForm::Json] {
                let written = message.written(form, &"\n\"😀".repeat(100), &page, u64::MAX);
                assert!(written.body.len() < MOST_BYTES, "{} bytes: {message:?}", written.body.len());
                for (name, value) in written.headers {
                    assert!(value.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{name}: {value:?}");
                }
                let body = String::from_utf8(written.body).unwrap();
                assert!(!body.contains("\nX-Evil") && !body.contains('\r') && !body.contains('\u{202e}'), "{body}");
            }
        }
    }

    #[test]
    fn ids_differ() {
        let id = || Message::new(Event::Test, 0, None).unwrap().id;
        assert_ne!(id(), id());
        assert_eq!(id().len(), 16);
    }
}
