//! The server's half of an update: one at a time, resumed after a restart.
