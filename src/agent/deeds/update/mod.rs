//! Updates: installing, restarting into what was installed, and the ways back.

mod words;

pub use words::{
    HealthReport, HealthTaken, InstallRequest, Judged, MAX_PROBLEM, MAX_PROBLEMS, MarkGoodRequest, MarkedGood,
    RebootIntoRequest, RollBackRequest, RolledBack, UpdateTool,
};
