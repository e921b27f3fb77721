//! What does the calls: checks the arguments and the preconditions by itself, whoever sent them, and runs the row.

use super::{
    call::RouterCall,
    plans::Work,
    routers::{Router, Routers},
    table::{self, Run},
};
use base::error::ToolError;
use contract::{
    meta::{Environment, Tier},
    schema::{Checker, advertised::executed},
};
use futures::future::BoxFuture;
use serde_json::Value;
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// Whoever may let a write through: the privileged half, which knows the policy and what a person has approved.
pub trait WriteAuthority: Send + Sync {
    /// `subject` is what the write is about, as a person is shown it ([`RouterService::subject`]).
    ///
    /// # Errors
    /// `permission_denied`, or `failed_precondition` without an approval that fits.
    fn authorize<'a>(
        &'a self,
        tool: &'a str,
        principal: &'a str,
        subject: &'a Value,
        ask_id: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), ToolError>>;
}

/// Every tool for routers, with what it needs.
pub struct RouterService {
    pub routers: Routers,
    /// Plans, snapshots and jobs, and who works at which router.
    pub work: Work,
    pub authority: Arc<dyn WriteAuthority>,
    /// What this server is used for: it changes no router of a stricter environment.
    pub environment: Environment,
    /// One a tool, compiled on first use.
    checkers: Vec<OnceLock<Checker>>,
}

impl RouterService {
    pub fn new(routers: Routers, folder: PathBuf, authority: Arc<dyn WriteAuthority>) -> Self {
        let checkers = table::all().map(|_| OnceLock::new()).collect();
        Self { routers, work: Work::new(&folder), authority, environment: Environment::Prod, checkers }
    }

    /// # Errors
    /// `invalid_argument` for arguments that do not fit; those of the preconditions ([`RouterService::router`]); the tool's.
    pub async fn call(&self, mut call: RouterCall) -> Result<Value, ToolError> {
        self.check(&mut call)?;
        let call = &call;
        let run = async {
            match call.tool.run {
                Run::Call(run) | Run::Asked(_, run) => run(self, call).await,
                Run::Menu(read) => {
                    let router = self.router(call, call.text("device_id"))?;
                    let answer = read.run(&router.client, call).await;
                    router.note(answer.as_ref().err());
                    answer.map(Value::Object)
                }
                Run::Device(run) => {
                    let router = self.router(call, call.text("device_id"))?;
                    let answer = run(router, call).await;
                    router.note(answer.as_ref().err());
                    answer.map(Value::Object)
                }
            }
        };
        tokio::select! {
            biased;
            answer = run => answer,
            // A write ends itself: it was told by the same token.
            () = call.cancel.cancelled(), if !call.tool.effect.is_write() => Err(ToolError::cancelled(call.tool.name)),
        }
    }

    /// What a person is asked about: the arguments, with defaults, or what the row says in their place.
    ///
    /// # Errors
    /// As [`RouterService::call`].
    pub async fn subject(&self, call: &RouterCall) -> Result<Value, ToolError> {
        let mut call = call.clone();
        self.check(&mut call)?;
        match call.tool.run {
            Run::Asked(subject, _) => subject(self, &call).await,
            _ => Ok(Value::Object(call.args)),
        }
    }

    /// Asks the authority whether this write may be done, which is about its arguments. Writes call it last, just before they act.
    ///
    /// # Errors
    /// The authority's.
    pub async fn authorize(&self, call: &RouterCall) -> Result<(), ToolError> {
        self.authorize_subject(call, &Value::Object(call.args.clone())).await
    }

    /// As [`RouterService::authorize`], for a row with a subject of its own: that of what is about to be done.
    ///
    /// # Errors
    /// The authority's.
    pub async fn authorize_subject(&self, call: &RouterCall, subject: &Value) -> Result<(), ToolError> {
        self.authority.authorize(call.tool.name, &call.principal, subject, call.ask_id.as_deref()).await
    }

    /// A router that this call may be about.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` outside of the caller's devices; `failed_precondition` if its owner does not let tools of
    /// this tier change it.
    pub fn router(&self, call: &RouterCall, id: &str) -> Result<&Arc<Router>, ToolError> {
        let router = self.routers.get(id)?;
        if !in_scope(call, id) {
            return Err(ToolError::denied(format!("this caller's credential is not for the router {id}"))
                .with("device_id", id)
                .with("mcp_error_code", "FORBIDDEN")
                .hint("routeros.list_devices has those that it is for"));
        }
        let (allowed, setting) = match call.tool.tier {
            Tier::Fundamental => return Ok(router),
            Tier::Advanced => (router.standing.allow_advanced, "allow_advanced"),
            Tier::Professional => (router.standing.allow_professional, "allow_professional"),
        };
        let (own, theirs) = (self.environment, router.standing.environment);
        if strictness(theirs) > strictness(own) {
            return Err(ToolError::precondition(format!(
                "the router {id} is one of {theirs:?}, and this server one of {own:?}"
            ))
            .with("device_id", id)
            .with("mcp_error_code", "FORBIDDEN")
            .hint("its owner sets `environment` in the configuration of this server, or in the router's [[routeros]] table"));
        }
        if allowed {
            return Ok(router);
        }
        Err(ToolError::precondition(format!("the router {id} is not open for {}", call.tool.name))
            .with("device_id", id)
            .with("mcp_error_code", "FORBIDDEN")
            .hint(format!("its owner opens it with {setting} = true in its [[routeros]] table")))
    }

    /// Gives the arguments their defaults, and checks them.
    fn check(&self, call: &mut RouterCall) -> Result<(), ToolError> {
        let at = table::all().position(|tool| tool.name == call.tool.name).unwrap_or_default();
        let checker = self.checkers[at].get_or_init(|| {
            let (advertised, accepts) = call.tool.input();
            Checker::new(&executed(advertised, accepts)).expect("a contract test compiles the schemas of all rows")
        });
        let mut args = Value::Object(std::mem::take(&mut call.args));
        checker.without_nulls(&mut args);
        checker.check(&args).map_err(|fault| fault.refusal(&args))?;
        if let Some(path) = control_character(&args) {
            // No value of RouterOS has one, and a script could end with it.
            return Err(ToolError::invalid(format!("parameter '{path}' has a control character"))
                .with("parameter", path.as_str())
                .with("path", format!("/{}", path.replace('.', "/")))
                .hint("leave line breaks and other control characters out"));
        }
        let Value::Object(mut args) = args else { return Ok(()) };
        for arg in call.tool.arguments() {
            if let Some(default) = arg.default() {
                args.entry(arg.name).or_insert(default);
            }
        }
        call.args = args;
        Ok(())
    }
}

/// Whether the caller's credential is good for this device.
pub fn in_scope(call: &RouterCall, id: &str) -> bool {
    call.device_scope.as_ref().is_none_or(|devices| devices.iter().any(|device| device == id))
}

/// Lab, staging, prod.
fn strictness(environment: Environment) -> u8 {
    match environment {
        Environment::Lab => 0,
        Environment::Staging => 1,
        Environment::Prod => 2,
    }
}

/// Where a text has a control character, as `a.b.0`.
fn control_character(value: &Value) -> Option<String> {
    let inside = |name: String, item: &Value| {
        let rest = control_character(item)?;
        Some(if rest.is_empty() { name } else { format!("{name}.{rest}") })
    };
    match value {
        Value::String(text) => text.chars().any(char::is_control).then(String::new),
        Value::Array(items) => items.iter().enumerate().find_map(|(at, item)| inside(at.to_string(), item)),
        Value::Object(map) => map.iter().find_map(|(name, item)| inside(name.clone(), item)),
        _ => None,
    }
}
