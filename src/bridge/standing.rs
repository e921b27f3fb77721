//! Lasting requests of a client: its log level and its subscriptions. They are repeated in a session that replaces a
//! lost one; otherwise the client would miss notifications.

use super::message::ClientMessage;

/// Far more than a server allows in one conversation.
const MOST: usize = 64;

/// The newest request for each subject.
#[derive(Debug, Default)]
pub struct LatestRequests(Vec<(String, Vec<u8>)>);

impl LatestRequests {
    /// Remembers a request that was answered.
    pub fn note(&mut self, message: &ClientMessage, body: Vec<u8>) {
        let about = match (message.method.as_deref(), &message.uri) {
            (Some("logging/setLevel"), _) => "level".to_owned(),
            (Some("resources/subscribe" | "resources/unsubscribe"), Some(uri)) => format!("resource {uri}"),
            _ => return,
        };
        self.0.retain(|(known, _)| *known != about);
        if !message.is("resources/unsubscribe") && self.0.len() < MOST {
            self.0.push((about, body));
        }
    }

    pub fn all(&self) -> Vec<Vec<u8>> {
        self.0.iter().map(|(_, body)| body.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_each_stands_until_it_is_taken_back() {
        let mut standing = LatestRequests::default();
        let mut say = |body: &str| standing.note(&ClientMessage::read(body.as_bytes()), body.as_bytes().to_vec());
        let subscribe = r#"{"id":1,"method":"resources/subscribe","params":{"uri":"raspi://health"}}"#;
        let level = r#"{"id":3,"method":"logging/setLevel","params":{"level":"error"}}"#;
        say(subscribe);
        say(r#"{"id":2,"method":"logging/setLevel","params":{"level":"info"}}"#);
        say(r#"{"id":4,"method":"tools/list"}"#);
        say(level);
        say(r#"{"id":5,"method":"resources/subscribe","params":{"uri":"raspi://audit"}}"#);
        say(r#"{"id":6,"method":"resources/unsubscribe","params":{"uri":"raspi://audit"}}"#);
        assert_eq!(standing.all(), [subscribe.as_bytes(), level.as_bytes()]);
    }
}
