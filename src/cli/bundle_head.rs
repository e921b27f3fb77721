//! Reading the head of a bundle, also for `doctor`, which every build has.

use super::exit::{Exit, Failure};
use base::error::ToolError;
use std::{fs::File, io::Read, path::Path};
use update::bundle::{BundleError, BundleHead, Envelope, MAX_HEAD};

impl From<BundleError> for Failure {
    fn from(fault: BundleError) -> Self {
        ToolError::from(fault).into()
    }
}

pub(super) fn failed(path: &Path, what: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Failed, format!("{}: {what}", path.display()))
}

/// An error about a file, prefixed with its name.
pub(super) fn refused(path: &Path, fault: BundleError) -> Failure {
    let failure = Failure::from(fault);
    Failure::new(failure.exit, format!("{}: {}", path.display(), failure.message))
}

pub(super) fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| failed(path, error))
}

/// Reads the head of an open bundle.
pub(super) fn head(path: &Path, file: &mut File) -> Result<Envelope, Failure> {
    let mut bytes = Vec::new();
    (&mut *file).take(MAX_HEAD as u64).read_to_end(&mut bytes).map_err(|error| failed(path, error))?;
    match Envelope::read(&bytes).map_err(|fault| refused(path, fault))? {
        BundleHead::Whole(envelope) => Ok(envelope),
        BundleHead::More(wanted) => {
            Err(failed(path, format!("ends after {} of its head's {wanted} bytes", bytes.len())))
        }
    }
}
