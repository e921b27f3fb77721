//! What the agent does to the machine, one file a deed. Each checks by its own copy of the policy, and does it.

mod hostname;
mod power;
