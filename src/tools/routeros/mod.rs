//! `routeros.*`: tools for MikroTik routers, of the rows in `routeros::table` (docs/contract/routeros.md). They are there when a
//! router is configured.

mod health;

use crate::{
    registry::{
        Registry,
        added::ToolHandler,
        context::Context,
        entry::{ConfiguredTool, Entry},
        tool::{Blob, SubjectFuture, ToolFuture, ToolOutput},
    },
    routeros::{
        call::RouterCall,
        link::RouterosLink,
        table::{self, NAMESPACE, RouterTool},
    },
    services::Services,
};
use base::error::ToolError;
use contract::meta::{Listing, Meta, OwnedMeta, Tier};
use serde_json::{Value, json, value::to_raw_value};
use std::sync::Arc;

/// Offers the tools, whose calls go over `link`. Without a router there are none.
///
/// # Errors
/// `internal`: a row that is none, which a contract test rules out.
pub fn offer(registry: &Registry, services: &Services, link: RouterosLink) -> Result<(), ToolError> {
    if link.devices().is_empty() || services.routeros.set(link).is_err() {
        return Ok(());
    }
    registry.set_namespace(NAMESPACE, entries()?).map(drop)
}

/// An entry of each row.
///
/// # Errors
/// See [`offer`].
pub fn entries() -> Result<Vec<Entry>, ToolError> {
    table::all().map(entry).collect()
}

fn entry(row: &'static RouterTool) -> Result<Entry, ToolError> {
    let meta = meta(row);
    let (input, accepts) = row.input();
    let tool = ConfiguredTool {
        input,
        accepts,
        output: row.output(),
        aliases: [row.catalogue, row.operation()].into_iter().filter(|alias| !alias.is_empty()).collect(),
        // What clients of RouterOS servers read there.
        more: json!({
            "phase": row.phase,
            "requires_approval": row.tier == Tier::Professional,
            "cacheable": meta.cache_seconds.is_some(),
            "deprecation_date": null,
        }),
        meta: OwnedMeta::new(meta.name, meta.title, meta.description, meta),
    };
    Entry::configured(tool, Routed(row))
}

/// Its declaration, as policy, listings and `raspi-mcp allow` take it.
pub fn meta(tool: &'static RouterTool) -> Meta {
    let meta = match tool.tier {
        Tier::Fundamental => Meta::READ,
        Tier::Advanced => Meta::WRITE,
        Tier::Professional => Meta::RISKY,
    };
    Meta {
        name: tool.name,
        title: tool.title,
        description: tool.description,
        effect: tool.effect,
        listing: if tool.listed { Listing::Core } else { Listing::Extra },
        open_world: true,
        timeout_seconds: tool.timeout_seconds,
        long: tool.timeout_seconds > Meta::READ.timeout_seconds,
        dry_run: tool.has("dry_run"),
        paginated: tool.has("offset"),
        estimated_tokens: tool.estimated_tokens,
        tags: tool.tags,
        resource_uri: tool.resource_uri,
        ..meta
    }
}

/// A row whose calls go to the routers' process.
struct Routed(&'static RouterTool);

impl Routed {
    /// The call as it goes to the routers' process.
    fn routed<'a>(&self, cx: &'a Context, args: Value) -> Result<(&'a RouterosLink, RouterCall), ToolError> {
        let link = cx.services.routeros.get().ok_or_else(|| ToolError::internal("a tool without its routers"))?;
        let Value::Object(args) = args else { return Err(ToolError::internal("arguments that are no object")) };
        let progress = cx.progress.clone();
        let call = RouterCall {
            ask_id: cx.approval.clone(),
            device_scope: cx.services.tokens.devices_of(&cx.caller.principal),
            cancel: cx.cancel.clone(),
            progress: Arc::new(move |done, total, message| {
                progress.say(done as f64, Some(total as f64), "routers", message.to_owned());
            }),
            ..RouterCall::new(self.0, args, cx.caller.principal.clone())
        };
        Ok((link, call))
    }
}

impl ToolHandler for Routed {
    fn asks(&self, _args: &Value) -> bool {
        self.0.asks
    }

    /// Asked of who does it: for a plan, the person sees what is in the plan, by what that process has in its own files.
    fn subject<'a>(&'a self, cx: &'a Context, args: &'a Value) -> Option<SubjectFuture<'a>> {
        self.0.effect.is_write().then(|| {
            Box::pin(async move {
                let (link, call) = self.routed(cx, args.clone())?;
                link.subject(&call).await
            }) as SubjectFuture<'a>
        })
    }

    fn call<'a>(&'a self, cx: &'a Context, args: Value) -> ToolFuture<'a> {
        Box::pin(async move {
            let (link, call) = self.routed(cx, args)?;
            let past = health::hours(&call);
            let mut answer = link.call(call).await?;
            if health::TOOLS.contains(&self.0.name) {
                health::keep(cx, &mut answer, past).await?;
            }
            if answer["changed"] == true {
                cx.notes.changed();
            }
            if let Some((begin, rest)) = self.0.resource_uri.and_then(|uri| uri.split_once('{'))
                && let Some((name, end)) = rest.split_once('}')
                && let Some(which) = answer[name].as_str()
            {
                cx.notes.resource(format!("{begin}{which}{end}"));
            }
            // What the resource of an export holds.
            let export = answer["config_text"].as_str();
            let blob = export.map(|text| Blob { mime: "text/plain", bytes: text.to_owned().into() });
            let json = to_raw_value(&answer).map_err(|error| ToolError::internal(error.to_string()))?;
            Ok(ToolOutput { json, content: Vec::new(), whole: None, blob })
        })
    }
}
