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

use crate::registry::row::ToolRow;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<list_cameras::ListCameras>(),
    ToolRow::of::<take_photo::TakePhoto>(),
    ToolRow::of::<capture::Capture>(),
    ToolRow::of::<get_photo::GetPhoto>(),
];
