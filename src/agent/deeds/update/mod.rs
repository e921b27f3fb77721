//! Updates: installing, restarting into what was installed, and the ways back.

mod admission;
mod dead_man;
mod health;
mod install;
mod log_tail;
mod planned;
mod restart;
mod roll_back;
mod trial;
mod trust;
mod words;

use crate::{
    agent::{
        Agent, Peer,
        protocol::{Done, Op},
    },
    error::ToolError,
};
pub(in crate::agent) use admission::Admissions;
pub(in crate::agent) use planned::into;
use serde_json::{Value, json};
pub(in crate::agent) use trial::Boot;

pub use dead_man::DEAD_MAN;
pub use words::{
    HealthReport, HealthTaken, InstallRequest, MAX_PROBLEM, MAX_PROBLEMS, MarkGoodRequest, MarkedGood,
    RebootIntoRequest, RollBackRequest, RolledBack, UpdateTool,
};

impl Agent {
    /// The operations on updates; others do not come here.
    pub(in crate::agent) async fn handle_update(&self, peer: &Peer, op: Op) -> Result<Done, ToolError> {
        match op {
            Op::UpdateStatus {} => self.update_status().await.map(Box::new).map(Done::Update),
            Op::Install(_) => Err(ToolError::precondition("an install takes a connection of its own")
                .hint("open another connection to the agent")),
            Op::RebootIntoUpdate(request) => {
                let note = json!(request);
                let result = self.reboot_into_update(peer, request).await;
                self.note_done("reboot_into_update", peer, note, result.as_ref().err())?;
                result.map(Done::Power)
            }
            Op::RollBack(request) => {
                let result = self.roll_back(peer, &request).await;
                self.note_done("roll_back", peer, json!(request), result.as_ref().err())?;
                result.map(Done::RolledBack)
            }
            Op::MarkGood(request) => {
                let result = self.mark_good(peer, &request).await;
                self.note_done("mark_good", peer, json!(request), result.as_ref().err())?;
                result.map(Done::MarkedGood)
            }
            Op::ReportHealth(report) => {
                let taken = self.report_health(report).await?;
                if taken.committed {
                    self.note_done("commit", peer, json!(taken), None)?;
                }
                Ok(Done::Health(taken))
            }
            Op::TrustRoot(root) => {
                let taken = self.trust_root(root).await;
                let version = taken.as_ref().ok();
                self.note_done("trust_root", peer, json!({ "version": version }), taken.as_ref().err())?;
                taken.map(Done::TrustedRoot)
            }
            Op::ResumeUpdate {} => {
                let result = self.resume_update().await;
                self.note_done("resume_update", peer, Value::Null, result.as_ref().err())?;
                result.map(Box::new).map(Done::Update)
            }
            other => Err(ToolError::internal(format!("{} is no operation on updates", other.name()))),
        }
    }
}
