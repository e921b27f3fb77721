//! Why data was rejected: what, where, and what to do next.

use super::Digest;
use base::error::{ErrorCode, ToolError};

/// Why a bundle, an index of blocks, a root of trust or a signed document was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// Does not match the format.
    #[error("{what} is malformed: {problem}")]
    Malformed { what: String, problem: String },
    /// Written for a newer reader.
    #[error("{what} has format {format}, and this version reads format {reads} only")]
    Format { what: String, format: u64, reads: u64 },
    /// Over the limit.
    #[error("{what} is {size} bytes long, and at most {limit} are allowed")]
    TooLong { what: String, size: u64, limit: u64 },
    /// An invalid signature by a trusted key.
    #[error("the signature of key {key} does not fit {what}")]
    BadSignature { what: String, key: Digest },
    /// Too few keys of a role have signed.
    #[error("{what} is signed by {have} of the {need} keys that the {role} role asks for")]
    Threshold { what: String, role: String, have: usize, need: usize },
    /// The bytes do not match the signed hash.
    #[error("{what} has another SHA-256 than the one that was signed")]
    Hash { what: String },
    /// A stored block of the wrong length, a frame that is not allowed, an error of the decompressor, or an output of the
    /// wrong size.
    #[error("{what} cannot be unpacked: {problem}")]
    Unpack { what: String, problem: String },
    /// A boot image with a file that would change the board's own bootloader.
    #[error("the boot image holds {file}, which would rewrite the board's bootloader when it starts")]
    Forbidden { file: String },
    /// Expired. Seconds since 1970.
    #[error("{what} expired at {expired} and it is at least {now} (seconds since 1970)")]
    Expired { what: String, expired: u64, now: u64 },
    /// Created in the future. Seconds since 1970.
    #[error("{what} says that it was made at {created}, and it is not later than {latest} (seconds since 1970)")]
    Future { what: String, created: u64, latest: u64 },
    /// A root of trust that does not follow the current one.
    #[error("{what} has version {version}, and version {want} is wanted")]
    Version { what: String, version: u64, want: u64 },
    /// Reading or writing failed.
    #[error("{what}: {problem}")]
    Io { what: String, problem: String },
}

impl BundleError {
    pub fn malformed(what: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Malformed { what: what.into(), problem: problem.into() }
    }

    pub fn io(what: impl Into<String>, error: &std::io::Error) -> Self {
        Self::Io { what: what.into(), problem: error.to_string() }
    }

    /// The identifier for programs: `details.fault`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "malformed",
            Self::Format { .. } => "format",
            Self::TooLong { .. } => "too_long",
            Self::BadSignature { .. } => "bad_signature",
            Self::Threshold { .. } => "threshold",
            Self::Hash { .. } => "hash",
            Self::Unpack { .. } => "unpack",
            Self::Forbidden { .. } => "forbidden",
            Self::Expired { .. } => "expired",
            Self::Future { .. } => "future",
            Self::Version { .. } => "version",
            Self::Io { .. } => "io",
        }
    }

    const fn hint(&self) -> &'static str {
        match self {
            Self::Malformed { .. } | Self::TooLong { .. } => {
                "it was damaged on its way, or is something else: fetch it again, or look at it with `raspi-mcp bundle inspect`"
            }
            Self::Format { .. } => "update in steps: first to a version that reads it",
            Self::BadSignature { .. } | Self::Hash { .. } | Self::Unpack { .. } => {
                "do not use it; fetch it again from its publisher, and tell them if it stays so"
            }
            Self::Threshold { .. } => {
                "have the missing keys sign with `raspi-mcp bundle sign`, or bring this device the newer root of trust"
            }
            Self::Forbidden { .. } => "build the image without it; a bootloader is updated by its own operation",
            Self::Expired { .. } => "get a newer one from its publisher",
            Self::Future { .. } => {
                "do not use it; whoever builds it has to build it again with a right --created, unless the clock here is wrong"
            }
            Self::Version { .. } => "bring the versions in between, in their order",
            Self::Io { .. } => "look at the device or file that is named",
        }
    }
}

impl From<BundleError> for ToolError {
    fn from(fault: BundleError) -> Self {
        let code = match fault {
            BundleError::Format { .. }
            | BundleError::Expired { .. }
            | BundleError::Future { .. }
            | BundleError::Version { .. } => ErrorCode::FailedPrecondition,
            BundleError::TooLong { .. } => ErrorCode::ContentTooLarge,
            BundleError::Io { .. } => ErrorCode::Unavailable,
            _ => ErrorCode::VerificationFailed,
        };
        Self::new(code, fault.to_string()).with("fault", fault.kind()).hint(fault.hint())
    }
}
