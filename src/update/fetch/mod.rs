//! Bringing what is missing: ranges over HTTPS, or a file, with the same rules.
