//! Updates: installing, restarting into what was installed, and the ways back.

mod admission;
mod health;
mod install;
mod restart;
mod roll_back;
mod trial;
mod words;

pub(in crate::agent) use admission::Admissions;
pub(in crate::agent) use trial::Boot;
pub use words::{
    HealthReport, HealthTaken, InstallRequest, Judged, MAX_PROBLEM, MAX_PROBLEMS, MarkGoodRequest, MarkedGood,
    RebootIntoRequest, RollBackRequest, RolledBack, UpdateTool,
};
