//! The front door, as conversations: the same cases through every way in.

mod added;
mod any;
mod bare_list;
mod batch;
mod cancel;
mod http;
mod interrupted;
mod limits;
mod listing;
mod messages;
mod meta;
mod names;
mod offer;
mod oracle;
mod peer;
mod profile;
mod progress;
mod registrations;
mod sizes;
mod stop;
mod versions;
