//! The format: what is read back is what was built, and what is bent is refused.

mod blocks;
mod boot_image;
mod build;
mod crafted;
mod head;
mod index;
mod manifest;
mod vectors;
