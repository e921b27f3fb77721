//! `org.raspimcp.Tools1`: the tools, and calls of them.

use super::{
    client::Client,
    door::{Door, Reply},
    fault::Fault,
    methods::{SMALL, path_of},
    values::{Fields, Options, filter_of, text},
};
use crate::{
    registry::{
        listing::{CallLimits, at_run_time},
        pipeline::{Call, CallOutcome},
        progress::{Progress, Update},
    },
    resources::ResourceAddress,
    rpc::{bare_list, envelope::depth},
};
use base::error::{ErrorCode, ToolError};
use contract::access::{caller::Caller, shares::PoolPlace};
use serde_json::{Map, Value};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::sync::mpsc;
use zbus::{Array, Message, ObjectPath, Signature, Structure, Variant};

/// Who calls, and by which message.
pub struct Asked<'a> {
    pub client: &'a Arc<Client>,
    pub caller: &'a Arc<Caller>,
    pub message: &'a Message,
    /// In the audit.
    pub request_id: String,
}

/// A call that may run.
pub(super) struct Wanted {
    call: Call,
    timeout: Option<Duration>,
    /// One of the calls of all connections.
    _place: PoolPlace,
}

impl Door {
    /// `List`: all tools that fit, by name.
    pub(super) fn list(&self, caller: &Caller, fields: &Fields) -> Result<Reply, Fault> {
        let [Variant::Dict(filter)] = &fields[..] else { return Err(unfit()) };
        let row = Signature::try_from("(sssssb)").map_err(|_| unfit())?;
        let mut rows = Array::new(&row);
        for (entry, enabled) in bare_list::fitting(&self.server.pipeline, caller, &filter_of(filter)?) {
            let meta = entry.meta();
            let summary = meta.description.split("\n\n").next().unwrap_or_default();
            let tier = match meta.tier {
                contract::meta::Tier::Fundamental => "fundamental",
                contract::meta::Tier::Advanced => "advanced",
                contract::meta::Tier::Professional => "professional",
            };
            let texts = [meta.name, meta.title, tier, meta.role.name(), summary];
            let fields = texts.into_iter().fold(Structure::builder(), |all, field| all.append_field(text(field)));
            let built = fields.append_field(Variant::from(enabled)).build();
            // It has the signature above.
            built.and_then(|row| rows.append(Variant::from(row))).map_err(|_| unfit())?;
        }
        Ok(Reply::Fields(vec![Variant::from(rows)]))
    }

    /// `Describe`: the descriptor of `tools.describe`.
    pub(super) fn describe(&self, caller: &Caller, name: &str) -> Result<Reply, Fault> {
        let services = &self.server.pipeline.services;
        let found = self.server.pipeline.registry.resolve(name);
        let (entry, _) = found.map_err(|unknown| no_tool(&unknown.explain(name)))?;
        let policy = services.policy.held();
        let enabled = policy.admit(&entry.meta(), caller).is_ok() && entry.lacks(services, &policy, caller).is_none();
        let descriptor = at_run_time(&policy, CallLimits::of(&services.settings.limits), &entry, enabled);
        Ok(Reply::Fields(vec![text(descriptor.to_string())]))
    }

    /// `Call`: answers when the call has ended.
    pub(super) async fn call(&self, asked: &Asked<'_>, fields: &Fields) -> Result<Reply, Fault> {
        let wanted = self.wanted(asked, fields)?;
        Ok(Reply::Fields(vec![text(self.answer(wanted).await?)]))
    }

    /// Runs a call; returns its result as JSON.
    ///
    /// # Errors
    /// Those of the call.
    pub(super) async fn answer(&self, wanted: Wanted) -> Result<String, ToolError> {
        let output = self.run(wanted.call, wanted.timeout).await.result?;
        Ok(Box::<str>::from(output.json).into())
    }

    /// `Start`: answers with the object of the call, runs it, and says so when it has ended.
    pub(super) async fn start(&self, asked: &Asked<'_>, fields: &Fields) -> Result<Reply, Fault> {
        let mut wanted = self.wanted(asked, fields)?;
        let name = &asked.client.name;
        let number = self.jobs.add(name, wanted.call.cancel.clone());
        let path = ObjectPath::try_from(path_of(number)).map_err(|_| unfit())?;
        self.reply(asked.message, Reply::Fields(vec![Variant::from(path)])).await;
        let (sender, mut steps) = mpsc::channel::<Update>(4);
        wanted.call.progress = Progress::to(Box::new(move |update| drop(sender.try_send(update.clone()))));
        let forward = async {
            // Ends when the call closes its progress.
            while let Some(step) = steps.recv().await {
                let numbers = [step.progress, step.total.unwrap_or_default()].map(Variant::from);
                let fields = numbers.into_iter().chain([text(step.message)]).collect();
                self.report(name, number, "Progress", fields).await;
            }
        };
        let (outcome, ()) = tokio::join!(self.run(wanted.call, wanted.timeout), forward);
        let (end, said) = match outcome.result {
            Ok(output) => (Ok(output.json.clone()), text(output.json.get())),
            Err(error) => {
                let said = text(error.payload().to_string());
                (Err(error), said)
            }
        };
        let ok = Variant::from(end.is_ok());
        self.jobs.end(number, end);
        self.report(name, number, "Finished", vec![ok, said]).await;
        Ok(Reply::Sent)
    }

    /// `Read`: the content of a resource, which is the answer of the tool behind it.
    pub(super) async fn read(&self, asked: &Asked<'_>, uri: &str) -> Result<Reply, Fault> {
        let address = ResourceAddress::parse(uri)?;
        let _place = self.place(asked.caller)?;
        let entry = address.resource.entry(&self.server.pipeline.registry)?;
        let args = Value::Object(address.args);
        let call = Call {
            entry,
            caller: Arc::clone(asked.caller),
            args,
            request_id: asked.request_id.clone(),
            correlation_id: None,
            cancel: asked.client.gone.child_token(),
            progress: Progress::default(),
            peer: None,
            alias: None,
        };
        let output = self.run(call, None).await.result?;
        Ok(match output.blob {
            Some(blob) => Reply::File(blob.mime, blob.bytes),
            None => Reply::File("application/json", String::from(Box::<str>::from(output.json)).into()),
        })
    }

    fn wanted(&self, asked: &Asked<'_>, fields: &Fields) -> Result<Wanted, Fault> {
        let [Variant::Str(name), Variant::Str(args), Variant::Dict(options)] = &fields[..] else { return Err(unfit()) };
        let options = Options::of(options)?;
        let args = self.object("arguments_json", args)?;
        Ok(self.wanted_of(asked, name.as_str(), Value::Object(args), options)?)
    }

    /// A call of the tool `name`.
    ///
    /// # Errors
    /// `not_found`, and `resource_exhausted` when there is no place for it.
    pub(super) fn wanted_of(
        &self,
        asked: &Asked<'_>,
        name: &str,
        args: Value,
        options: Options,
    ) -> Result<Wanted, ToolError> {
        let written = match options.schema_version {
            Some(version) => format!("{name}@{version}"),
            None => name.to_string(),
        };
        let pipeline = &self.server.pipeline;
        let (entry, _) = pipeline.registry.resolve(&written).map_err(|unknown| no_tool(&unknown.explain(&written)))?;
        let (entry, args, alias) = pipeline.unwrap(asked.caller, &written, entry, args);
        let call = Call {
            entry,
            caller: Arc::clone(asked.caller),
            args,
            request_id: asked.request_id.clone(),
            correlation_id: options.correlation_id,
            cancel: asked.client.gone.child_token(),
            progress: Progress::default(),
            peer: None,
            alias,
        };
        Ok(Wanted { call, timeout: options.timeout, _place: self.place(asked.caller)? })
    }

    /// The JSON object in the argument `parameter`.
    ///
    /// # Errors
    /// `invalid_argument` for what is none, or is nested too deeply.
    pub(super) fn object(&self, parameter: &str, json: &str) -> Result<Map<String, Value>, ToolError> {
        let bad = |why: String| ToolError::invalid(format!("{parameter} {why}")).with("parameter", parameter);
        let max_depth = self.server.options.max_depth;
        if depth(json) > max_depth {
            return Err(bad(format!("is nested deeper than {max_depth} levels")));
        }
        match serde_json::from_str(json) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(_) => Err(bad("must be a JSON object, like {}".into())),
            Err(error) => Err(bad(format!("is no JSON: {error}"))),
        }
    }

    /// Runs a call; cancels it when the caller's own time for it is over.
    async fn run(&self, call: Call, timeout: Option<Duration>) -> CallOutcome {
        let (name, cancel) = (call.entry.name().to_owned(), call.cancel.clone());
        let mut running = pin!(self.server.pipeline.run(call));
        let Some(limit) = timeout else { return running.await };
        if let Ok(ended) = tokio::time::timeout(limit, &mut running).await {
            return ended;
        }
        cancel.cancel();
        let mut ended = running.await;
        if let Err(error) = &mut ended.result
            && error.code == ErrorCode::Cancelled
        {
            let mut late = ToolError::timeout(&name, limit).hint("ask for less, or raise timeout_ms");
            late.details = std::mem::take(&mut error.details);
            *error = late;
        }
        ended
    }
}

fn no_tool(explained: &str) -> ToolError {
    ToolError::not_found(format!("there is no tool {explained}")).with("parameter", "name")
}

/// For what the signature has ruled out.
fn unfit() -> Fault {
    Fault::Bus("InvalidArgs", format!("the arguments are of other types, or longer than {SMALL} bytes"))
}
