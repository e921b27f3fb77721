//! A port of this computer, each connection of which is a tunnel to one device.

use super::{console::Console, tunnel};
use base::error::ToolError;
use std::{io, net::SocketAddr, sync::Arc};
use tokio::net::{TcpListener, TcpStream};

/// A bound port.
pub struct LocalPort(TcpListener);

impl LocalPort {
    /// Binds `address`; port 0 selects a free one.
    ///
    /// # Errors
    /// `permission_denied` for an address that others reach: the tunnel would be open to them. `unavailable` when it cannot be
    /// bound.
    pub async fn bind(address: SocketAddr) -> Result<Self, ToolError> {
        if !address.ip().is_loopback() {
            return Err(ToolError::denied(format!("{address} is not an address of this computer alone"))
                .hint("use --listen 127.0.0.1:0; whoever reaches the port reaches the device's listener"));
        }
        let bound = TcpListener::bind(address).await;
        bound.map(Self).map_err(|error| ToolError::unavailable(format!("cannot listen on {address}: {error}")))
    }

    /// Its address.
    ///
    /// # Errors
    /// `unavailable` when the kernel does not say.
    pub fn address(&self) -> Result<SocketAddr, ToolError> {
        self.0.local_addr().map_err(|error| ToolError::unavailable(format!("the port has no address: {error}")))
    }

    /// Carries each connection to `device`, as long as it is polled. Reports those that fail.
    pub async fn serve(self, console: Arc<Console>, device: String, failed: fn(&ToolError)) -> io::Error {
        loop {
            let (stream, _) = match self.0.accept().await {
                Ok(accepted) => accepted,
                Err(error) => return error,
            };
            let (console, device) = (Arc::clone(&console), device.clone());
            base::task::spawn(async move {
                if let Err(error) = carry(&console, &device, stream).await {
                    failed(&error);
                }
            });
        }
    }
}

async fn carry(console: &Console, device: &str, mut stream: TcpStream) -> Result<(), ToolError> {
    // Small answers would wait for each other.
    let _ = stream.set_nodelay(true);
    let mut tunnel = tunnel::open(&console.broker, &console.subjects, device).await?;
    // Either end may break off at any time: that is how connections end.
    let _ = tokio::io::copy_bidirectional(&mut stream, &mut tunnel).await;
    Ok(())
}
