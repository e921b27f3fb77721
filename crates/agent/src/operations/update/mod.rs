//! Updates: install, restart into the new slot, its trial, and rollback.

mod channel_reached;
mod install;
mod mark_good;
mod next_root;
mod reboot_into;
mod report_health;
mod resume;
mod roll_back;
mod status;
mod trust_root;
mod unblock;

pub use channel_reached::{ChannelReached, ChannelReachedRequest};
pub use install::{Install, InstallRequest};
pub(crate) use install::{InstallSession, begin, may_take_over, take_over};
pub use mark_good::{MarkGood, MarkGoodRequest, MarkedGood};
pub use next_root::{GetNextRoot, NextRootRequest};
pub use reboot_into::{RebootIntoRequest, RebootIntoUpdate};
pub use report_health::ReportHealth;
pub use resume::{ResumeRequest, ResumeUpdate};
pub use roll_back::{RollBack, RollBackRequest, RolledBack};
pub use status::{GetUpdateStatus, UpdateStatusRequest};
pub use trust_root::TrustRoot;
pub use unblock::{UnblockRelease, UnblockRequest};
