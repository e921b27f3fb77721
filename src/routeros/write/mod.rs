//! Writes to one router that take effect at once: looked at first, refused where they are unsafe, written once, and read back.
//! Those that may be on our way to the router are guarded as plans are.

mod addresses;
mod flush;
mod lists;
mod names;
mod servers;

pub use addresses::{add as add_address, remove as remove_address};
pub use flush::flush;
pub use lists::update as update_list;
pub use names::{comment, identity};
pub use servers::{dns, ntp};

use super::{
    call::RouterCall,
    client::RouterClient,
    plan::{Action, AddedRows, Applied, Apply, Base, Change, Outcome, holds, is_done, write_change},
    plans::{Way, dangers, in_words, is_so, new_id, seen::Seen},
    routers::Router,
    service::RouterService,
};
use base::error::ToolError;
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A write, and what its result says beside what all of them say.
struct Deed {
    change: Change,
    says: Map<String, Value>,
    /// What the result calls the id of the row.
    id: &'static str,
}

/// What may be on our way to the router: it takes a change of this menu back by itself unless it is reached by a new connection
/// afterwards.
const GUARDED: &str = "ip/address";
/// After how long.
const GUARD: Duration = Duration::from_secs(30);

/// What is to be written, of what was read.
type Build = fn(&RouterCall, &Seen) -> Result<Deed, ToolError>;

async fn write(
    service: &RouterService,
    call: &RouterCall,
    menus: &[&'static str],
    build: Build,
) -> Result<Value, ToolError> {
    let router = service.router(call, call.text("device_id"))?;
    let written = one(service, call, router, menus, build).await;
    router.note(written.as_ref().err());
    written
}

async fn one(
    service: &RouterService,
    call: &RouterCall,
    router: &Router,
    menus: &[&'static str],
    build: Build,
) -> Result<Value, ToolError> {
    let _claim = service.work.claim([router.id().to_owned()])?;
    let seen = Seen::read(&router.client, menus).await?;
    seen.version()?;
    let Deed { change, says, id } = build(call, &seen)?;
    let is_guarded = change.menu == GUARDED;
    let changes = [change];
    let is_so = is_so(&seen, &changes[0]);
    let mut answer = Map::from_iter([("device_id".to_owned(), json!(router.id()))]);
    answer.extend(says);
    if is_so {
        answer.extend([("changed".to_owned(), json!(false)), ("changes".to_owned(), json!([]))]);
        return Ok(answer.into());
    }
    let base = Base::in_menus(&seen.menus, &changes).map_err(|error| error.with("device_id", router.id()))?;
    let dangers = dangers(&Way::find(router.client.device(), &seen), &seen, &changes, &base);
    if !dangers.is_empty() && !call.flag("may_cut_off") {
        let hint = if is_guarded {
            "may_cut_off = true does it all the same: the router takes it back when this machine does not reach it any more"
        } else {
            "a plan takes back what cuts this machine off; this tool does not"
        };
        return Err(seen.refusal(dangers.join(" ")).with("dangers", dangers).hint(hint));
    }
    answer.insert("changes".into(), in_words(&changes, &base).into());
    answer.insert("changed".into(), json!(!call.flag("dry_run")));
    if call.flag("dry_run") {
        answer.insert("dry_run".into(), json!(true));
        return Ok(answer.into());
    }
    service.authorize(call).await?;
    let row = if is_guarded {
        guarded(&router.client, &changes, &base).await?
    } else {
        written(&router.client, &changes[0], &base).await?
    };
    if !id.is_empty() {
        answer.insert(id.into(), row);
    }
    Ok(answer.into())
}

/// Writes as plans do, so that the router takes it back when it is not reached any more; the id of the row.
async fn guarded(client: &RouterClient, changes: &[Change], base: &Base) -> Result<Value, ToolError> {
    let (plan, hash, device) = (new_id("plan")?, base.hash(), client.device());
    let apply = Apply {
        device,
        plan: &plan,
        changes,
        base: &hash,
        timer: GUARD,
        keep: &|_| Ok(()),
        added: AddedRows::default(),
    };
    match apply.run_and_look(base).await? {
        Applied { outcome: Outcome::TakenBack(why), .. } => {
            Err(ToolError::precondition(format!("the router {} took the change back: {}", device.id, why.message))
                .with("device_id", device.id.as_str())
                .with("changed", false)
                .hint("it is as it was before; look whether this machine would still have reached it"))
        }
        Applied { outcome: Outcome::Confirmed, .. } => {
            Ok(row_id(&client.rows(&changes[0].menu).await?, &changes[0]).unwrap_or_default())
        }
    }
}

/// Writes, and reads back; the id of the row.
async fn written(client: &RouterClient, change: &Change, base: &Base) -> Result<Value, ToolError> {
    let id = base.row(0).map_or("", |row| row.id.as_str());
    let done = match &change.action {
        Action::Remove => client.write(Method::DELETE, &format!("{}/{id}", change.menu), &Map::new()).await.map(drop),
        _ => write_change(client, change, id, None).await.map(drop),
    };
    match done {
        // Whether it was done is to be seen, never done again.
        Err(error) if error.may_have_changed() => {}
        done => done?,
    }
    let device = client.device().id.as_str();
    let listing = client.rows(&change.menu).await.map_err(|error| {
        error.with("changed", "unknown").hint("whether it was done is not known: read it before anything else")
    })?;
    // A time runs.
    let mut lasting = change.clone();
    if let Action::Add(fields, _) = &mut lasting.action {
        fields.remove("timeout");
    }
    if !is_done(&listing, &lasting) {
        return Err(ToolError::precondition(format!("the router {device} did not keep the change of {}", change.menu))
            .with("device_id", device)
            .with("changed", "unknown")
            .hint("read it before anything else: another program may change the same"));
    }
    Ok(row_id(&listing, &lasting).unwrap_or_else(|| json!(id)))
}

/// The id of the row that a change has made.
fn row_id(listing: &Value, change: &Change) -> Option<Value> {
    let after = change.after();
    let row = listing.as_array()?.iter().find(|row| holds(row, &after))?;
    Some(row[".id"].clone())
}
