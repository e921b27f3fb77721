//! What a device and the owner of its fleet agree on, whatever carries it: names, subjects, signed documents, the frames of
//! a tunnel, and how a rollout is judged.
//!
//! Depends on `base` only and opens no socket. The broker is never an authority: what counts is signed ([`signed`]), by the
//! device's agent or by the fleet's key. docs/fleet.md explains it to users.

pub mod enrolment;
pub mod expected;
pub mod log;
pub mod name;
pub mod order;
pub mod rollout;
pub mod signed;
pub mod status;
pub mod subject;
pub mod tunnel;
