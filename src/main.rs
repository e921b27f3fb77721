//! `raspi-mcp`: one binary for the server, the agent, and the command line.

fn main() -> std::process::ExitCode {
    raspi_mcp::cli::run()
}
