//! Tools that a test controls: they wait, fail, panic, report, grow and write when told.

use base::error::ToolError;
use contract::meta::{Effect, Meta, Mode, Role, Tier};
use raspi_mcp::registry::{context::Context, row::ToolRow, tool::Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, Weak},
    time::Duration,
};
use tokio::sync::{Semaphore, watch};

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<Echo>(),
    ToolRow::of::<Count>(),
    ToolRow::of::<CountOfText>().older(),
    ToolRow::of::<Hold>(),
    ToolRow::of::<Stream>(),
    ToolRow::of::<Talk>(),
    ToolRow::of::<Panics>(),
    ToolRow::of::<PanicsElsewhere>(),
    ToolRow::of::<Steps>(),
    ToolRow::of::<Big>(),
    ToolRow::of::<Write>(),
    ToolRow::of::<Deed>(),
    ToolRow::of::<Ask>(),
    ToolRow::of::<AskWith>(),
    ToolRow::of::<AdminOnly>(),
];

/// What the tools of one server wait for and report to.
#[derive(Debug)]
pub struct Bench {
    /// Calls of `test.hold` and `test.stream` that are inside.
    pub inside: watch::Sender<usize>,
    /// Calls that were dropped before they were released.
    pub dropped: watch::Sender<usize>,
    /// A permit lets one of them go.
    pub release: Semaphore,
    /// Calls of tools that change something, or would.
    pub ran: watch::Sender<usize>,
}

/// By state folder: tools are types and hold nothing themselves.
static BENCHES: Mutex<Option<HashMap<PathBuf, Weak<Bench>>>> = Mutex::new(None);

impl Bench {
    pub fn of(state_dir: &Path) -> Arc<Self> {
        let bench = Arc::new(Self {
            inside: watch::Sender::new(0),
            dropped: watch::Sender::new(0),
            release: Semaphore::new(0),
            ran: watch::Sender::new(0),
        });
        let mut all = BENCHES.lock().unwrap();
        all.get_or_insert_default().insert(state_dir.to_owned(), Arc::downgrade(&bench));
        bench
    }

    fn in_use(cx: &Context) -> Arc<Self> {
        let all = BENCHES.lock().unwrap();
        all.as_ref().unwrap()[&cx.services.settings.places.state_dir].upgrade().unwrap()
    }

    /// Waits until `n` calls are inside.
    pub async fn until_inside(&self, n: usize) {
        until(&self.inside, n).await;
    }
    /// Waits until `n` calls were dropped unfinished.
    pub async fn until_dropped(&self, n: usize) {
        until(&self.dropped, n).await;
    }
    pub fn ran(&self) -> usize {
        *self.ran.borrow()
    }

    async fn hold(self: Arc<Self>) {
        struct Inside(Arc<Bench>, bool);
        impl Drop for Inside {
            fn drop(&mut self) {
                self.0.inside.send_modify(|n| *n -= 1);
                if !self.1 {
                    self.0.dropped.send_modify(|n| *n += 1);
                }
            }
        }
        self.inside.send_modify(|n| *n += 1);
        let mut inside = Inside(Arc::clone(&self), false);
        self.release.acquire().await.unwrap().forget();
        inside.1 = true;
    }
}

async fn until(count: &watch::Sender<usize>, n: usize) {
    super::soon(count.subscribe().wait_for(|now| *now == n)).await.unwrap();
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

#[derive(Serialize, JsonSchema)]
pub struct Done {
    done: bool,
}
const DONE: Done = Done { done: true };

const TEST: Meta = Meta { description: "For tests.\n\nUse when: testing.\n\nReturns: what is tested.", ..Meta::READ };

macro_rules! tool {
    ($name:ident, $args:ty => $out:ty, $meta:expr, |$cx:ident, $given:ident| $body:expr) => {
        pub struct $name;
        impl Tool for $name {
            type Args = $args;
            type Out = $out;
            const META: Meta = $meta;
            async fn call($cx: &Context, $given: $args) -> Result<$out, ToolError> {
                $body
            }
        }
    };
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Words {
    words: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct Counted {
    words: usize,
}

tool!(
    Count,
    Words => Counted,
    Meta { name: "test.count", title: "Count", schema_version: 2, cache_seconds: Some(60), ..TEST },
    |_cx, args| Ok(Counted { words: args.words.len() })
);
// The version before: its argument was a text.
tool!(
    CountOfText,
    Text => Counted,
    Meta { name: "test.count", title: "Count", cache_seconds: Some(60), ..TEST },
    |_cx, args| Ok(Counted { words: args.text.split_whitespace().count() })
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Text {
    #[serde(default)]
    text: String,
}
#[derive(Serialize, JsonSchema)]
pub struct Said {
    text: String,
}
tool!(Echo, Text => Said, Meta { name: "test.echo", title: "Echo", ..TEST }, |_cx, args| Ok(Said { text: args.text }));

tool!(Hold, Nothing => Done, Meta { name: "test.hold", title: "Hold", ..TEST }, |cx, _args| {
    Bench::in_use(cx).hold().await;
    Ok(DONE)
});

tool!(Stream, Nothing => Done, Meta { name: "test.stream", title: "Stream", long: true, ..TEST }, |cx, _args| {
    Bench::in_use(cx).hold().await;
    Ok(DONE)
});

// Like `test.hold`, but in a conversation that rmcp carries.
tool!(Talk, Nothing => Done, Meta { name: "test.talk", title: "Talk", interactive: true, ..TEST }, |cx, _args| {
    Bench::in_use(cx).hold().await;
    Ok(DONE)
});

tool!(Panics, Nothing => Done, Meta { name: "test.panic", title: "Panic", ..TEST }, |_cx, _args| {
    panic!("the test tool does what it is for")
});

tool!(PanicsElsewhere, Nothing => Done, Meta { name: "test.panic_elsewhere", title: "Panic elsewhere", ..TEST }, |_cx, _args| {
    base::os::blocking::run("test", |_| panic!("the test tool does it in another thread")).await
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    steps: u32,
    every_ms: u64,
}
tool!(Steps, Pace => Done, Meta { name: "test.steps", title: "Steps", ..TEST }, |cx, args| {
    for step in 0..args.steps {
        cx.progress.say(f64::from(step), Some(f64::from(args.steps)), "work", format!("step {step}"));
        tokio::time::sleep(Duration::from_millis(args.every_ms)).await;
    }
    Ok(DONE)
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Size {
    bytes: u32,
}
tool!(Big, Size => Said, Meta { name: "test.big", title: "Big", ..TEST }, |_cx, args| {
    Ok(Said { text: "x".repeat(args.bytes as usize) })
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dry {
    #[serde(default)]
    dry_run: bool,
}
tool!(Write, Dry => Done, Meta {
    name: "test.write", title: "Write", tier: Tier::Advanced, role: Role::OpsRw, dry_run: true,
    effect: Effect::Write { destructive: false, idempotent: true }, ..TEST
}, |cx, args| {
    if !args.dry_run {
        cx.notes.changed();
    }
    cx.notes.simulated();
    Bench::in_use(cx).ran.send_modify(|n| *n += 1);
    Ok(DONE)
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct How {
    /// Ends when it is told to.
    #[serde(default)]
    heeds: bool,
    /// Waits until it is told to end, first.
    #[serde(default)]
    told: bool,
    /// Changes something before it waits.
    #[serde(default)]
    first: bool,
    /// Changes something after it has waited.
    #[serde(default)]
    last: bool,
    #[serde(default)]
    dry_run: bool,
}
// A write that waits like `test.hold`.
tool!(Deed, How => Done, Meta {
    name: "test.deed", title: "Deed", tier: Tier::Advanced, role: Role::OpsRw, dry_run: true,
    effect: Effect::Write { destructive: false, idempotent: true }, ..TEST
}, |cx, args| {
    if args.first && !args.dry_run {
        cx.notes.changed();
    }
    if args.told {
        cx.cancel.cancelled().await;
    }
    tokio::select! {
        () = Bench::in_use(cx).hold() => {}
        () = cx.cancel.cancelled(), if args.heeds => return Err(ToolError::cancelled("test.deed")),
    }
    if args.last && !args.dry_run {
        cx.notes.changed();
    }
    Ok(DONE)
});

tool!(Ask, Nothing => Done, Meta { name: "test.ask", title: "Ask", mode: Mode::Ask, ..TEST }, |cx, _args| {
    Bench::in_use(cx).ran.send_modify(|n| *n += 1);
    Ok(DONE)
});

tool!(AskWith, Text => Done, Meta { name: "test.ask_with", title: "Ask", mode: Mode::Ask, ..TEST }, |cx, _args| {
    Bench::in_use(cx).ran.send_modify(|n| *n += 1);
    Ok(DONE)
});

tool!(AdminOnly, Nothing => Done, Meta { name: "test.admin", title: "Admin", role: Role::Admin, ..TEST }, |cx, _args| {
    Bench::in_use(cx).ran.send_modify(|n| *n += 1);
    Ok(DONE)
});
