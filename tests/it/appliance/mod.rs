//! The first boot of a card.

mod grow;
