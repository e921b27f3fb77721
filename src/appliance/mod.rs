//! What makes a card an appliance: its first boot.

pub mod grow;
