//! `camera.*`: pictures (docs/contract/camera.md).
//!
//! Taking one looks into somebody's room, so it is a write, and so is looking at one that was taken an operator's; only the
//! list of cameras is everybody's.

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
