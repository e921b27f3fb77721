//! raspi-mcp: an appliance that an AI assistant can operate safely.
pub mod error;
