//! `camera.*`: pictures (docs/contract/camera.md).
//!
//! Pictures may show private rooms: taking one is a write, and reading a stored one needs an operator. Only the list of
//! cameras is open to all callers.

mod capture;
mod fault;
mod get_photo;
mod image;
mod list_cameras;
mod take_photo;
mod taking;

pub use get_photo::NAME as GET_PHOTO;

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[
    Entry::of::<list_cameras::ListCameras>(),
    Entry::of::<take_photo::TakePhoto>(),
    Entry::of::<capture::Capture>(),
    Entry::of::<get_photo::GetPhoto>(),
];
