//! Whether a trial is healthy: what worked before works again, and configured checks.
