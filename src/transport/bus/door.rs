//! From a message to its answer: which object and method it means, who sent it, and whether there is room for it.

use super::{
    calls::Jobs,
    client::{Client, UNFINISHED},
    fault::Fault,
    methods::{EVENTS, Method, ORCHESTRATOR, PROPERTIES, Place, SMALL, TOOLS},
    tools::Asked,
    values::{Fields, fields_of, text, texts, with_fields},
};
use crate::{registry::listing::TOOLING_VERSION, rpc::router::Server};
use base::error::{ErrorCode, ToolError};
use bytes::Bytes;
use contract::access::{
    caller::Caller,
    shares::{Pool, PoolPlace, Rule},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use zbus::{Connection, Dict, Message, Signature, Variant, message::Flags};

/// Calls of all connections that run or wait.
const CALLS: usize = 64;
/// How long the bus may take no message from us. It takes none while others do not read theirs.
const PATIENCE: Duration = Duration::from_secs(10);

/// One connection of the server to the bus, and everybody who calls over it.
pub struct Door {
    pub server: Arc<Server>,
    pub bus: Connection,
    pub jobs: Jobs,
    pub tasks: TaskTracker,
    /// Cancelled when the bus takes no more messages: this connection is then replaced.
    pub stuck: CancellationToken,
    clients: Mutex<HashMap<String, Arc<Client>>>,
    places: Arc<Pool>,
}

/// What a method answers.
pub enum Reply {
    Fields(Fields),
    /// A media type and bytes.
    File(&'static str, Bytes),
    /// It has answered already.
    Sent,
}

impl Door {
    pub fn new(server: Arc<Server>, bus: Connection) -> Arc<Self> {
        Arc::new(Self {
            server,
            bus,
            jobs: Jobs::default(),
            tasks: TaskTracker::new(),
            stuck: CancellationToken::new(),
            clients: Mutex::default(),
            places: Pool::new(Rule::half(CALLS)),
        })
    }

    /// The sender of a call, and whether it is the first one there is.
    pub fn client(&self, name: &str) -> (Arc<Client>, bool) {
        let mut clients = self.lock();
        let first = clients.is_empty();
        let client = clients.entry(name.to_owned()).or_insert_with(|| Arc::new(Client::new(name, &self.server)));
        (Arc::clone(client), first)
    }

    /// The connection `name` has ended. Returns whether nobody is left.
    pub fn left(&self, name: &str) -> bool {
        let mut clients = self.lock();
        let Some(client) = clients.remove(name) else { return false };
        let last = clients.is_empty();
        drop(clients);
        client.leave(&self.server);
        self.jobs.forget(name);
        last
    }

    /// Our own connection has ended, and with it everybody's.
    pub fn all_left(&self) {
        let names: Vec<String> = self.lock().keys().cloned().collect();
        for name in &names {
            self.left(name);
        }
    }

    /// Answers one call. Returns when the next message may be taken, which is before the answer is ready.
    pub async fn accept(self: &Arc<Self>, client: Arc<Client>, message: Message) {
        let limit = self.server.options.request_bytes;
        let bytes = message.body().len();
        if bytes > limit {
            return self.refuse(&message, too_long(bytes, limit)).await;
        }
        let Some(unfinished) = client.begin() else {
            let error = ToolError::exhausted(format!("{UNFINISHED} calls of this connection are unfinished already"))
                .with("limit", UNFINISHED)
                .hint("wait for an answer before the next call");
            return self.refuse(&message, error.into()).await;
        };
        let door = Arc::clone(self);
        let served = self.tasks.track_future(async move {
            match door.method(&client, &message).await {
                Ok(reply) => door.reply(&message, reply).await,
                Err(fault) => door.refuse(&message, fault).await,
            }
            drop(unfinished);
        });
        base::task::spawn_on(&self.server.tasks, served);
    }

    async fn method(self: &Arc<Self>, client: &Arc<Client>, message: &Message) -> Result<Reply, Fault> {
        let header = message.header();
        let path = header.path().map_or("", |path| path.as_str());
        let place = match Place::at(path, self.server.pipeline.services.settings.has_dbus_mcp()) {
            Place::Call(number) if !self.jobs.is_of(number, &client.name) => Place::Nothing,
            place => place,
        };
        if let Place::Nothing = place {
            return Err(Fault::Bus("UnknownObject", format!("there is no object {path} for you")));
        }
        let Some(method) = Method::of(message).filter(|method| method.is_at(&place)) else {
            return Err(Fault::Bus("UnknownMethod", format!("{path} has no such method; see its introspection")));
        };
        if *header.signature() != method.takes {
            let (member, takes, given) = (method.member, method.takes, header.signature().to_string_no_parens());
            return Err(Fault::Bus("InvalidArgs", format!("{member} takes \"{takes}\", not \"{given}\"")));
        }
        let small = message.body().len() - if method.has_arguments() { of_texts(message)? } else { 0 };
        if small > SMALL {
            return Err(too_long(small, SMALL));
        }
        self.serve(client, message, place, method).await
    }

    async fn serve(
        self: &Arc<Self>,
        client: &Arc<Client>,
        message: &Message,
        place: Place,
        method: &Method,
    ) -> Result<Reply, Fault> {
        let machine = &self.server.pipeline.services.machine;
        match method.member {
            "Ping" => return Ok(Reply::Fields(Vec::new())),
            "GetMachineId" => {
                let id = machine.root.read("etc/machine-id").unwrap_or_default();
                return Ok(Reply::Fields(vec![text(id.trim())]));
            }
            "Introspect" => return Ok(Reply::Fields(vec![text(place.xml(self.jobs.of(&client.name).into_iter()))])),
            "Set" => return Err(Fault::Bus("PropertyReadOnly", "nothing can be set here".into())),
            _ => {}
        }
        let fields = fields_of(message)?;
        if method.interface == PROPERTIES {
            return self.properties(method, &fields);
        }
        self.server.pipeline.services.ownership.check()?;
        let known = self.within_patience(client.caller(&self.bus, &self.server)).await;
        let caller = &known.unwrap_or_else(|| Err(ToolError::unavailable("the system bus takes no more messages")))?;
        let serial = message.primary_header().serial_num();
        let asked = Asked { client, caller, message, request_id: format!("{}-{serial}", client.name) };
        if method.interface == ORCHESTRATOR {
            return self.orchestrate(&asked, method.member, &fields).await;
        }
        match (method.member, &place, &fields[..]) {
            ("List", ..) => self.list(caller, &fields),
            ("Describe", _, [Variant::Str(name)]) => self.describe(caller, name),
            ("Call", ..) => self.call(&asked, &fields).await,
            ("Start", ..) => self.start(&asked, &fields).await,
            ("Read", _, [Variant::Str(uri)]) => self.read(&asked, uri).await,
            ("Subscribe", _, [Variant::Array(uris)]) => {
                self.subscribe(client, caller, &asked.request_id, texts(uris)).await
            }
            ("Unsubscribe", _, [Variant::Array(uris)]) => Ok(self.unsubscribe(client, &texts(uris))),
            ("Cancel", Place::Call(number), _) => Ok(self.cancel(*number)),
            ("Result", Place::Call(number), _) => self.result(*number),
            // The table of methods and this one disagree.
            (member, ..) => Err(ToolError::internal(format!("{member} is not served")).into()),
        }
    }

    /// `Get` and `GetAll`.
    fn properties(&self, method: &Method, fields: &Fields) -> Result<Reply, Fault> {
        let simulated = self.server.pipeline.services.machine.board.is_simulated();
        let all = [("Version", text(TOOLING_VERSION)), ("Simulated", Variant::from(simulated))];
        let [Variant::Str(interface), named @ ..] = &fields[..] else {
            return Err(Fault::Bus("InvalidArgs", "an interface is missing".into()));
        };
        let all = all.into_iter().filter(|_| interface.as_str() == TOOLS);
        let boxed = |value| Variant::Variant(Box::new(value));
        if method.member == "Get" {
            let name = if let [Variant::Str(name)] = named { name.as_str() } else { "" };
            let found = all.into_iter().find(|(known, _)| *known == name);
            let (_, value) =
                found.ok_or_else(|| Fault::Bus("UnknownProperty", format!("{interface} has no property {name}")))?;
            return Ok(Reply::Fields(vec![boxed(value)]));
        }
        if ![TOOLS, EVENTS].contains(&interface.as_str()) {
            return Err(Fault::Bus("UnknownInterface", format!("there is no interface {interface} here")));
        }
        let mut properties = Dict::new(&Signature::Str, &Signature::Variant);
        for (name, value) in all {
            let added = properties.append(text(name), boxed(value));
            added.map_err(|error| ToolError::internal(format!("{name} is no property: {error}")))?;
        }
        Ok(Reply::Fields(vec![Variant::from(properties)]))
    }

    /// One of the places for calls of all connections.
    ///
    /// # Errors
    /// `resource_exhausted`
    pub(super) fn place(&self, caller: &Arc<Caller>) -> Result<PoolPlace, ToolError> {
        self.places.take(caller).map_err(|full| full.error("calls over the bus"))
    }

    pub(super) async fn reply(&self, call: &Message, reply: Reply) {
        if call.primary_header().flags().contains(Flags::NO_REPLY_EXPECTED) {
            return;
        }
        let header = call.header();
        let builder = Message::method_return(&header);
        let message = match reply {
            Reply::Fields(fields) => with_fields(builder, fields),
            Reply::File(mime, bytes) => builder.build(&(mime, &bytes[..])),
            Reply::Sent => return,
        };
        self.send(message).await;
    }

    async fn refuse(&self, call: &Message, fault: Fault) {
        if !call.primary_header().flags().contains(Flags::NO_REPLY_EXPECTED) {
            let (name, fields) = fault.parts();
            self.send(with_fields(Message::error(&call.header(), name.as_str()), fields)).await;
        }
    }

    /// Sends a signal to one connection, or to everybody.
    pub(super) async fn signal(&self, to: Option<&str>, path: &str, interface: &str, name: &str, fields: Fields) {
        let message = Message::signal(path, interface, name);
        let message = match to {
            Some(to) => message.destination(to),
            None => message,
        };
        self.send(with_fields(message, fields)).await;
    }

    pub(super) async fn send(&self, message: zbus::Result<Message>) {
        let sent = async { self.bus.send(&message?).await };
        if let Some(Err(error)) = self.within_patience(sent).await {
            tracing::debug!(%error, "a message did not reach the bus");
        }
    }

    /// What `done` gives; `None` if the bus takes no more messages. Then nothing waits for it any more, so that the connection
    /// ends: each message on its way holds it.
    async fn within_patience<T>(&self, done: impl Future<Output = T>) -> Option<T> {
        let done = self.stuck.run_until_cancelled(tokio::time::timeout(PATIENCE, done)).await?.ok();
        if done.is_none() {
            self.stuck.cancel();
        }
        done
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of the two texts that `Call` and `Start` begin with; the rest are options, which take many times their size
/// in memory.
fn of_texts(message: &Message) -> Result<usize, Fault> {
    let body = message.body();
    let texts: zbus::Result<(&str, &str)> = body.deserialize_ignore_signature();
    let (name, args) = texts.map_err(|_| Fault::Bus("InvalidArgs", "the arguments cannot be read".into()))?;
    Ok(name.len() + args.len())
}

fn too_long(bytes: usize, limit: usize) -> Fault {
    let message = format!("the message has {bytes} bytes of arguments, at most {limit} are accepted");
    ToolError::new(ErrorCode::ContentTooLarge, message).with("limit_bytes", limit).hint("send less at once").into()
}
