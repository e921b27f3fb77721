//! What the agent records of the slots, and what follows from it at each boot.

mod damage;
mod last_words;
mod machine;
mod properties;
mod record;
mod rules;
mod table;
