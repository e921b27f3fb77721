//! Channels: a signed, expiring index of releases over plain HTTPS files.
