//! `manage.*` about updates, on a simulated machine with a card in a folder and a channel in another one.

mod arguments;
mod patterns;
mod person;
mod settings;
mod stalled;
mod tasks;
mod tour;
pub mod web;
