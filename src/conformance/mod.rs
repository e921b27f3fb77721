//! What the official MCP conformance suite looks for, as ordinary tools behind the same registry, pipeline and doors.
//!
//! Names, texts and behaviour are those that the suite's own descriptions ask for. Resources and prompts are
//! in `rpc/mcp/fixtures`. None of this is in a package: it takes a build of its own, a flag, and a loopback address.

mod answer;
mod ask;
mod changes;
pub mod content;
pub mod input;
mod report;
mod rounds;
mod schema;
mod tasks;

use crate::registry::tool::Entry;

/// The fixture tools, in the order they are listed.
pub static FIXTURES: &[Entry] = &[
    Entry::of_whole::<content::SimpleText>(),
    Entry::of_whole::<content::Image>(),
    Entry::of_whole::<content::Audio>(),
    Entry::of_whole::<content::EmbeddedResource>(),
    Entry::of_whole::<content::Multiple>(),
    Entry::of_whole::<content::Error>(),
    Entry::of_whole::<report::Logging>(),
    Entry::of_whole::<report::LoggingOnRequest>(),
    Entry::of_whole::<report::Progress>(),
    Entry::of_whole::<report::Reconnection>(),
    Entry::of_whole::<ask::Sampling>(),
    Entry::of_whole::<ask::Elicitation>(),
    Entry::of_whole::<ask::Defaults>(),
    Entry::of_whole::<ask::Enums>(),
    Entry::of_whole::<ask::MissingCapability>(),
    Entry::of_whole::<schema::JsonSchema202012>(),
    Entry::of_whole::<schema::CustomHeader>(),
    Entry::of_whole::<changes::Tools>(),
    Entry::of_whole::<changes::Prompts>(),
    Entry::of_whole::<input::Streaming>(),
    Entry::of_whole::<input::Elicitation>(),
    Entry::of_whole::<input::Sampling>(),
    Entry::of_whole::<input::Roots>(),
    Entry::of_whole::<input::Capabilities>(),
    Entry::of_whole::<rounds::RequestState>(),
    Entry::of_whole::<rounds::TamperedState>(),
    Entry::of_whole::<rounds::MultipleInputs>(),
    Entry::of_whole::<rounds::MultiRound>(),
    Entry::of_whole::<tasks::Greet>(),
    Entry::of_whole::<tasks::SlowCompute>(),
    Entry::of_whole::<tasks::FailingJob>(),
    Entry::of_whole::<tasks::ProtocolErrorJob>(),
    Entry::of_whole::<tasks::ConfirmDelete>(),
    Entry::of_whole::<tasks::MultiInput>(),
    Entry::of_whole::<tasks::ToolWithTask>(),
];
