//! `raspi-mcp`: one binary for the server, its privileged half, and the people who run them.

fn main() -> std::process::ExitCode {
    raspi_mcp::cli::run()
}
