//! The server that a command talks to: on this machine or in the network. Flags of `call` and `pins`.

use super::{exit::Failure, sources};
use crate::{
    bridge::call::{LONGEST, News, ToolCall},
    client::Remote,
    registry::Registry,
};
use appliance::certificate::Fingerprint;
use base::os::local;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Target {
    /// The server's address, e.g. https://pi.local:8765; default: the Unix socket of the server on this machine
    #[arg(long)]
    pub url: Option<String>,
    /// The fingerprint of the server's certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts
    #[arg(long, value_name = "PIN", requires = "url", value_parser = pin)]
    pub pin: Option<Fingerprint>,
    /// Use this Unix socket instead
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    pub socket: Option<PathBuf>,
    /// A file that contains the bearer token; default: the variable RASPI_MCP_TOKEN
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
}

impl Target {
    /// Whether this machine's server is used, because no other was named.
    pub fn is_here(&self) -> bool {
        self.url.is_none() && self.socket.is_none()
    }

    /// Calls one tool of that server; returns the whole JSON-RPC answer.
    ///
    /// # Errors
    /// [`super::exit::Exit::Unreachable`] if no server answers there.
    pub fn call(&self, sources: &sources::Args, tool: &str, arguments: &Value) -> Result<Value, Failure> {
        self.called(sources, tool, arguments, None)
    }

    /// The same; `news` gets what the server reports before its answer, such as `notifications/progress`.
    ///
    /// # Errors
    /// [`super::exit::Exit::Unreachable`] if no server answers there.
    pub fn call_with(
        &self,
        sources: &sources::Args,
        tool: &str,
        arguments: &Value,
        news: News<'_>,
    ) -> Result<Value, Failure> {
        self.called(sources, tool, arguments, Some(news))
    }

    fn called(
        &self,
        sources: &sources::Args,
        tool: &str,
        arguments: &Value,
        news: Option<News<'_>>,
    ) -> Result<Value, Failure> {
        let runtime = super::runtime()?;
        if let Some(url) = &self.url {
            // A URL without a path means MCP's endpoint, which reports progress.
            let remote = Remote::new(url, "/mcp", self.pin, self.token_file.clone())?;
            let call = ToolCall { client: "raspi-mcp call", tool, arguments, longest: LONGEST };
            return Ok(runtime.block_on(call.answer(&remote, news))?);
        }
        let path = match &self.socket {
            Some(path) => path.clone(),
            None => {
                let own = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?.socket.path;
                sources::reach(&own, |places| places.runtime_dir.join("mcp.sock"))
            }
        };
        let mut request = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": { "name": tool, "arguments": arguments },
        });
        let answer = match news {
            None => runtime.block_on(local::request(&path, &request)),
            Some(news) => {
                request["params"]["_meta"] = json!({ "progressToken": 1 });
                runtime.block_on(local::request_with(&path, &request, news))
            }
        };
        Ok(answer?)
    }
}

/// Parses a fingerprint as printed by `raspi-mcp tls show`.
pub fn pin(text: &str) -> Result<Fingerprint, String> {
    Fingerprint::parse(text)
        .ok_or_else(|| "write sha256: and 64 hexadecimal digits, as `raspi-mcp tls show` does".into())
}
