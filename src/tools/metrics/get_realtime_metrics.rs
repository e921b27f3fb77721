//! `metrics.get_realtime_metrics`: the health snapshot (docs/contract/metrics.md), and each metric by name.

use super::shown::Readings;
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{
        none::NoArgs,
        system::health_snapshot::{self, HealthSnapshot},
    },
};
use base::error::ToolError;
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::Serialize;

// The snapshot is closed by itself, and flattening opens it.
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Out {
    #[serde(flatten)]
    health: HealthSnapshot,
    /// What a sampling job would keep of this moment, by the names that metrics.query_history takes.
    metrics: Readings,
}

pub struct GetRealtimeMetrics;

impl Tool for GetRealtimeMetrics {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "metrics.get_realtime_metrics",
        title: "Metrics now",
        description: "All metrics now, by their names in history.\n\nUse when: you compare now with history, or need their names.\n\nReturns: what system.get_health_snapshot does, and the metrics.",
        estimated_tokens: 700,
        tags: &["metrics", "health"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        if cx.services.machine.board.is_simulated() {
            cx.notes.simulated();
        }
        tokio::select! {
            () = cx.cancel.cancelled() => Err(ToolError::cancelled(Self::META.name)),
            read = health_snapshot::with_sample(&cx.services) => {
                let (health, sample) = read?;
                Ok(Out { health, metrics: Readings(sample) })
            }
        }
    }
}
