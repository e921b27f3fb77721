//! The front door, as conversations: the same cases through every way in.

mod batch;
mod messages;
mod sizes;

