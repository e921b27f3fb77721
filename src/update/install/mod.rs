//! The agent's half of an update: verify, write, read back, arm.
