//! A MikroTik router for tests and the tour: what RouterOS 7 answers over its REST API, without a router.
//!
//! Menus, commands and parameters are those of RouterOS 7.21.4 (`data/`, from tikoci/restraml, public domain); how a request is
//! answered follows MikroTik's manual of the REST API. What neither says, such as the words of an error, is our best knowledge
//! and was never compared with a router. Time stands still until [`Router::advance`] moves it, or
//! [`server::Listener::follow_the_clock`] does.
//!
//! The router knows one client, which sits at [`management::CLIENT`] behind `ether2`. A change that would cut that client off
//! does so here as well: see [`management`].

mod check;
mod clock;
mod commands;
mod derived;
mod duration;
mod edit;
mod export;
pub mod fault;
mod initial;
mod listing;
pub mod management;
mod menus;
mod network;
mod profile;
pub mod request;
mod rest;
mod rights;
mod router;
mod scheduler;
pub mod script;
pub mod server;
mod shown;
mod state;
mod table;
mod timers;

pub use fault::Fault;
pub use initial::PASSWORD;
pub use profile::Profile;
pub use request::{Answer, Request};
pub use router::Router;
pub use shown::shown;
pub use table::{Row, RowId};
