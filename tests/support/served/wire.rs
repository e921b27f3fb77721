//! One conversation through one door, the same to use for all of them.

use super::{Answer, Door, PATIENCE, post::Poster};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
    task::JoinSet,
};
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};

/// Messages that come in, with their HTTP status.
pub type Inbox = mpsc::UnboundedReceiver<(Option<u16>, Value)>;
pub type ToInbox = mpsc::UnboundedSender<(Option<u16>, Value)>;

/// One conversation. Dropping it hangs up.
pub struct Wire {
    pub door: Door,
    out: Out,
    inbox: Inbox,
    /// Messages that came while another was waited for.
    pub seen: Vec<Answer>,
    next_id: i64,
    _tasks: JoinSet<()>,
}

enum Out {
    Queue(mpsc::UnboundedSender<Vec<u8>>),
    Post(Poster),
}

impl Wire {
    fn new(door: Door, out: Out, inbox: Inbox, tasks: JoinSet<()>) -> Self {
        Self { door, out, inbox, seen: Vec::new(), next_id: 0, _tasks: tasks }
    }

    /// One message a line.
    pub fn lines(
        door: Door,
        reader: impl AsyncRead + Unpin + Send + 'static,
        mut writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (out, mut queue) = mpsc::unbounded_channel::<Vec<u8>>();
        let (to_inbox, inbox) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(mut bytes) = queue.recv().await {
                bytes.push(b'\n');
                if writer.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            let _ = writer.shutdown().await;
        });
        tasks.spawn(async move {
            let mut lines = BufReader::new(reader).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let _ = to_inbox.send((None, serde_json::from_str(&line).expect("the server sends JSON")));
            }
        });
        Self::new(door, Out::Queue(out), inbox, tasks)
    }

    /// One message a text frame.
    pub async fn websocket(url: &str) -> Self {
        let (socket, _) = tokio_tungstenite::connect_async(url.into_client_request().unwrap()).await.unwrap();
        let (mut sink, mut stream) = socket.split();
        let (out, mut queue) = mpsc::unbounded_channel::<Vec<u8>>();
        let (to_inbox, inbox) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(bytes) = queue.recv().await {
                let message = match String::from_utf8(bytes) {
                    Ok(text) => Message::text(text),
                    Err(bytes) => Message::binary(bytes.into_bytes()),
                };
                if sink.send(message).await.is_err() {
                    return;
                }
            }
            let _ = sink.close().await;
        });
        tasks.spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                if let Message::Text(text) = message {
                    let _ = to_inbox.send((None, serde_json::from_str(&text).expect("the server sends JSON")));
                }
            }
        });
        Self::new(Door::Ws, Out::Queue(out), inbox, tasks)
    }

    /// One message a POST; answers come in its response, as JSON or as events.
    pub fn http(door: Door, url: String) -> Self {
        let (to_inbox, inbox) = mpsc::unbounded_channel();
        Self::new(door, Out::Post(Poster::new(url, to_inbox)), inbox, JoinSet::new())
    }

    /// What HTTP requests carry beside their body.
    pub fn post(&mut self) -> &mut Poster {
        match &mut self.out {
            Out::Post(poster) => poster,
            Out::Queue(_) => panic!("{:?} is not HTTP", self.door),
        }
    }

    /// Sends these bytes as one message.
    pub fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref().to_vec();
        match &mut self.out {
            Out::Queue(queue) => drop(queue.send(bytes)),
            Out::Post(poster) => poster.send(bytes),
        }
    }

    /// The next message, whatever it is; `None` when the server hung up.
    pub async fn next(&mut self) -> Option<Answer> {
        let next = tokio::time::timeout(PATIENCE, self.inbox.recv());
        let (status, message) = next.await.unwrap_or_else(|_| panic!("{:?}: silence", self.door))?;
        Some(Answer { door: self.door, status, message })
    }

    /// The next message that is an answer; notifications before it go to `seen`.
    pub async fn answer(&mut self) -> Answer {
        loop {
            let next = self.next().await.unwrap_or_else(|| panic!("{:?}: the server hung up", self.door));
            if next.message.get("method").is_none() {
                return next;
            }
            self.seen.push(next);
        }
    }

    /// The answer under `id`; everything before it goes to `seen`.
    pub async fn answer_to(&mut self, id: impl Into<Value>) -> Answer {
        let id = id.into();
        if let Some(at) = self.seen.iter().position(|seen| seen.message.get("method").is_none() && *seen.id() == id) {
            return self.seen.remove(at);
        }
        loop {
            let answer = self.answer().await;
            if *answer.id() == id {
                return answer;
            }
            self.seen.push(answer);
        }
    }

    /// A request that is refused before it is read: the answer has no id.
    pub async fn request_unread(&mut self, method: &str, params: Value) -> Answer {
        self.ask(method, params);
        self.answer().await
    }

    /// Sends a request without waiting; returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        self.raw(request(&json!(id), method, &params));
        id
    }

    pub async fn request(&mut self, method: &str, params: Value) -> Answer {
        let id = self.ask(method, params);
        self.answer_to(id).await
    }

    pub async fn call(&mut self, tool: &str, args: Value) -> Answer {
        self.request("tools/call", json!({ "name": tool, "arguments": args })).await
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.raw(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// The handshake of the revisions that have one. Over HTTP it opens a session and stays in it.
    pub async fn initialize(&mut self, version: &str, client: &str) -> Answer {
        let params = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": client, "version": "1" },
        });
        let answer = self.request("initialize", params).await;
        if let Out::Post(poster) = &mut self.out {
            poster.join().await;
        }
        self.notify("notifications/initialized", json!({}));
        if let Out::Post(poster) = &mut self.out {
            poster.join().await;
        }
        answer
    }

    /// The next requests are 2026-07-28 ones: over HTTP that takes headers that repeat the body.
    pub fn modern(&mut self, method: &str, name: Option<&str>) {
        let Out::Post(poster) = &mut self.out else { return };
        poster.headers =
            vec![("mcp-protocol-version".into(), "2026-07-28".into()), ("mcp-method".into(), method.into())];
        poster.headers.extend(name.map(|name| ("mcp-name".into(), name.into())));
    }

    /// A 2026-07-28 request of a client that has the tasks extension.
    pub async fn task_request(&mut self, method: &str, params: Value) -> Answer {
        let mut params = modern_meta(params);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let name = params.get("name").or(params.get("taskId")).and_then(Value::as_str).map(str::to_owned);
        self.modern(method, name.as_deref());
        self.request(method, params).await
    }

    /// No more will be sent; answers still come.
    pub fn finish(&mut self) {
        self.out = Out::Queue(mpsc::unbounded_channel().0);
    }

    /// Everything until the server hangs up.
    pub async fn rest(&mut self) -> Vec<Answer> {
        let mut all = Vec::new();
        while let Some(answer) = self.next().await {
            all.push(answer);
        }
        all
    }
}

pub fn request(id: &Value, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// `params` of a 2026-07-28 request: everything the client is, every time.
pub fn modern_meta(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "a client", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}
