//! The approval page's listener: which pages of other origins may carry asks and answers through it.

use crate::support::served::{Pi, secure::pinned, soon};
use ::agent::{
    AgentLink, Client,
    approvers::{ApproverSecret, KeyKind, NewApprover, SignedOrder},
    operations::approvals::{AddApprover, RevokeApprover, RevokeRequest},
};
use appliance::certificate::{self, Fingerprint};
use contract::config::Tls;
use raspi_mcp::{
    approval_page::{Page, serve},
    tls::shown::ServedCertificate,
};
use reqwest::{Method, RequestBuilder, Response};
use std::{path::PathBuf, sync::Arc};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

const FLEET: &str = "https://approve.example.org";
const ALLOWED: &str = "access-control-allow-origin";

struct Served {
    pi: Pi,
    socket: PathBuf,
    client: reqwest::Client,
    pin: Fingerprint,
    url: String,
    _stop: DropGuard,
    _folder: TempDir,
}

impl Served {
    async fn new() -> Self {
        let (pi, sources) = Pi::of_site(&[]).await;
        let (socket, folder) = (sources.places.agent_socket, TempDir::new().unwrap());
        let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
        let tls = Tls { enabled: true, certificate, key };
        let pin = certificate::init(&tls, vec!["127.0.0.1".into()], false).unwrap().fingerprint;
        let client = pinned(pin).build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let agent = AgentLink::Socket(Client::new(&socket));
        let page = Page::new(agent, ServedCertificate::load(&tls).unwrap());
        tokio::spawn(serve(Arc::new(page), listener, None, stop.clone()));
        Self { pi, socket, client, pin, url, _stop: stop.drop_guard(), _folder: folder }
    }

    /// A visitor with connections of its own.
    fn visitor(&self) -> reqwest::Client {
        pinned(self.pin).build().unwrap()
    }

    fn console(&self) -> AgentLink {
        AgentLink::Socket(Client::new(&self.socket))
    }

    /// Enrols a browser's key at this origin, as root would.
    async fn enrols(&self, name: &str, origin: &str) {
        let secret = ApproverSecret::from_pkcs8(&ApproverSecret::generate().unwrap()).unwrap();
        let key = secret.public().text().into();
        let new = NewApprover { name: name.into(), kind: KeyKind::Browser, key, origin: Some(origin.into()) };
        self.console().call::<AddApprover>(new).await.unwrap();
    }

    fn ask(&self, method: Method, path: &str, origin: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).header("origin", origin)
    }

    /// What a browser asks before a page of `origin` may send JSON.
    async fn preflight(&self, path: &str, origin: &str) -> Response {
        let asked = self.ask(Method::OPTIONS, path, origin).header("access-control-request-method", "POST");
        soon(asked.header("access-control-request-headers", "content-type").send()).await.unwrap()
    }

    async fn device(&self, origin: &str) -> Response {
        soon(self.ask(Method::GET, "/approvals/device", origin).send()).await.unwrap()
    }

    async fn refuses(&self, origin: &str) {
        for answer in [self.preflight("/approvals/list", origin).await, self.device(origin).await] {
            let headers = answer.headers().clone();
            assert_eq!(answer.status(), 403, "{origin}");
            assert!(!headers.keys().any(|name| name.as_str().starts_with("access-control-")), "{headers:?}");
            assert!(!answer.text().await.unwrap().contains("boot"));
        }
    }
}

fn header<'a>(answer: &'a Response, name: &str) -> Option<&'a str> {
    answer.headers().get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn the_origin_of_an_enrolled_approver_may_carry_until_it_is_revoked() {
    let served = Served::new().await;
    served.refuses(FLEET).await;
    served.enrols("phone", FLEET).await;
    for path in ["/approvals/device", "/approvals/list", "/approvals/answer", "/owner"] {
        let preflight = served.preflight(path, FLEET).await;
        assert_eq!((preflight.status().as_u16(), header(&preflight, ALLOWED)), (204, Some(FLEET)), "{path}");
        let allows = ["methods", "headers", "credentials", "private-network"]
            .map(|what| header(&preflight, &format!("access-control-allow-{what}")));
        assert_eq!(allows, [Some("GET, POST"), Some("content-type"), None, None], "{path}");
    }
    let device = served.device(FLEET).await;
    assert_eq!((header(&device, ALLOWED), header(&device, "vary")), (Some(FLEET), Some("origin")));
    assert_eq!(header(&device, "access-control-allow-credentials"), None);
    let said: serde_json::Value = device.json().await.unwrap();
    assert_eq!(said.as_object().unwrap().len(), 4, "no origin is told to anybody: {said}");
    // A refusal can be read by the page, to tell it.
    let refused = served.ask(Method::POST, "/approvals/list", FLEET).json(&serde_json::json!({}));
    let refused = soon(refused.send()).await.unwrap();
    assert_eq!((refused.status().as_u16(), header(&refused, ALLOWED)), (400, Some(FLEET)));

    served.console().call::<RevokeApprover>(RevokeRequest { name: "phone".into() }).await.unwrap();
    served.refuses(FLEET).await;
    served.pi.stop().await.unwrap();
}

#[tokio::test]
async fn no_other_origin_is_let_in_and_only_to_asks_answers_and_orders() {
    let served = Served::new().await;
    served.enrols("phone", FLEET).await;
    served.enrols("laptop", "http://localhost:8080").await;
    for other in [
        "https://approve.example.org:8444",
        "http://approve.example.org",
        "https://approve.example.org.evil.example",
        "https://APPROVE.example.org",
        "https://example.org",
        "http://localhost",
        "https://localhost:8080",
        "null",
        "*",
        "",
    ] {
        served.refuses(other).await;
    }
    assert_eq!(header(&served.device("http://localhost:8080").await, ALLOWED), Some("http://localhost:8080"));
    // The page itself is for its own origin.
    for path in ["/", "/style.css", "/approvals", "/ownership"] {
        let answer = soon(served.ask(Method::GET, path, FLEET).send()).await.unwrap();
        assert_eq!((answer.status().as_u16(), header(&answer, ALLOWED)), (403, None), "{path}");
    }
    // Programs name no origin, the page's own script names this one; neither needs to be allowed.
    for own in [None, Some(&*served.url)] {
        let request = served.client.get(format!("{}/approvals/device", served.url));
        let request = if let Some(own) = own { request.header("origin", own) } else { request };
        let answer = soon(request.send()).await.unwrap();
        assert_eq!((answer.status().as_u16(), header(&answer, ALLOWED)), (200, None), "{own:?}");
    }
    served.pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_page_of_the_internet_may_reach_into_the_local_network_if_it_is_an_approvers() {
    let served = Served::new().await;
    served.enrols("phone", FLEET).await;
    let ask = |origin| {
        let asked = served.ask(Method::OPTIONS, "/approvals/list", origin);
        soon(asked.header("access-control-request-private-network", "true").send())
    };
    let name = "access-control-allow-private-network";
    assert_eq!(header(&ask(FLEET).await.unwrap(), name), Some("true"));
    assert_eq!(header(&ask("https://evil.example").await.unwrap(), name), None);
    served.pi.stop().await.unwrap();
}

#[tokio::test]
async fn nobody_shuts_the_page_with_connections() {
    let served = Served::new().await;
    let address = served.url.trim_start_matches("https://").to_owned();
    // Silent ones, that speak no TLS, and visitors that keep their connection: more than there are places.
    let mut held = Vec::new();
    for _ in 0..40 {
        held.push(tokio::net::TcpStream::connect(&address).await.unwrap());
    }
    let mut visitors = Vec::new();
    for n in 0..40 {
        let visitor = served.visitor();
        let answer = soon(visitor.get(&served.url).send()).await.unwrap_or_else(|error| panic!("visit {n}: {error}"));
        assert_eq!(answer.status(), 200);
        answer.bytes().await.unwrap();
        visitors.push(visitor);
    }
    // Whoever was closed for others comes back by itself.
    assert_eq!(soon(visitors[0].get(&served.url).send()).await.unwrap().status(), 200);
    served.pi.stop().await.unwrap();
}

#[tokio::test]
async fn strangers_signatures_cost_their_network_answers_and_the_owner_nothing() {
    let served = Served::new().await;
    let [anna, eve] = [(); 2].map(|()| ApproverSecret::from_pkcs8(&ApproverSecret::generate().unwrap()).unwrap());
    let key = anna.public().text().into();
    let new = NewApprover { name: "anna".into(), kind: KeyKind::Cli, key, origin: None };
    served.console().call::<AddApprover>(new).await.unwrap();
    let device = soon(served.client.get(format!("{}/approvals/device", served.url)).send()).await.unwrap();
    let device: serde_json::Value = device.json().await.unwrap();
    let (id, boot) = (device["id"].as_str().unwrap(), device["boot"].as_str().unwrap());
    let order = |by: &ApproverSecret| {
        let facts = (id, boot, device["time_ms"].as_i64().unwrap());
        SignedOrder::by_cli(by, facts, "list_approvers", &serde_json::json!({})).unwrap()
    };
    let give = async |order: &SignedOrder| {
        let request = served.client.post(format!("{}/owner", served.url)).json(order);
        soon(request.send()).await.unwrap().status().as_u16()
    };
    let good = order(&anna);
    let forged = SignedOrder { signature: order(&eve).signature, ..order(&anna) };
    for n in 0..60 {
        let status = if n < 10 { 403 } else { 429 };
        let order = if n % 2 == 0 { order(&eve) } else { forged.clone() };
        assert_eq!(give(&order).await, status, "{n}");
    }
    assert_eq!(give(&good).await, 200);
    assert_eq!(give(&order(&anna)).await, 200);
    served.pi.stop().await.unwrap();
}
