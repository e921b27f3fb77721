//! Clients of other servers: how one is reached and recognized, and an appliance's approvals.

mod approvals;
mod remote;

pub use approvals::{Approvals, OpenedAsk};
pub use remote::{
    MAY_HAVE_BEEN_DONE, Remote, TOKEN_VARIABLE, Trust, admits, checked, encrypted, root_cause, tls_fault,
};

pub use base::os::local::PATIENCE;
