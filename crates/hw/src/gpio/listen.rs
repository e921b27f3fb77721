//! Listening to an input, whether it is leased or not.

use super::{
    edge_hub::EdgeHub,
    lease::Drive,
    lines::{CONSUMER, GpioLines},
    refusal::GpioRefusal,
};
use crate::line::{Edge, Function, Level, Line, LineError, Take};
use contract::values::Pin;
use std::sync::Arc;
use tokio::sync::broadcast::{self, error::RecvError};

/// An input held only for its listeners.
pub struct Watched {
    pub line: Arc<dyn Line>,
    hub: EdgeHub,
}

/// A listener of a pin. Dropping the last one releases a line that was held only for listeners.
pub struct Listening {
    lines: Arc<GpioLines>,
    pin: Pin,
    heard: Option<broadcast::Receiver<Edge>>,
    line: Arc<dyn Line>,
}

impl GpioLines {
    /// Edges of a pin from now on. An unused pin must be an input, and stays one.
    ///
    /// # Errors
    /// [`GpioRefusal::Is`] when it is not an input; the fault of its line.
    pub fn listen(self: &Arc<Self>, pin: Pin) -> Result<Listening, GpioRefusal> {
        let mut state = self.state();
        let (line, heard) = match state.leases.get(&pin).map(|lease| &lease.drive) {
            Some(Drive::Input { line, hub, .. }) => (Arc::clone(line), hub.listen(line)),
            Some(other) => return Err(GpioRefusal::Is(other.mode())),
            None if state.resting.contains_key(&pin) => return Err(GpioRefusal::Is("an output")),
            None => {
                if !state.watched.contains_key(&pin) {
                    let port = self.port_of(&mut state)?;
                    let look = port.look(pin)?;
                    match look.function {
                        _ if look.held => return Err(LineError::Busy { consumer: look.consumer }.into()),
                        Function::Input | Function::NoFunction | Function::Unknown => {}
                        Function::Output => return Err(GpioRefusal::Is("an output")),
                        Function::Alt(function) => return Err(GpioRefusal::Alt(function)),
                    }
                    let line = port.take(pin, Take::Input { pull: None }, CONSUMER)?;
                    state.watched.insert(pin, Watched { line: line.into(), hub: EdgeHub::default() });
                }
                let Some(Watched { line, hub }) = state.watched.get(&pin) else { return Err(GpioRefusal::NotLent) };
                (Arc::clone(line), hub.listen(line))
            }
        };
        drop(state);
        Ok(Listening { lines: Arc::clone(self), pin, heard: Some(heard), line })
    }
}

impl Listening {
    /// The next edge; `None` when the pin is no longer an input.
    pub async fn next(&mut self) -> Option<Edge> {
        loop {
            match self.heard.as_mut()?.recv().await {
                Ok(edge) => return Some(edge),
                // The newest are kept.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// The level now.
    ///
    /// # Errors
    /// Those of the line.
    pub fn level(&self) -> Result<Level, LineError> {
        self.line.level()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.heard = None;
        let mut state = self.lines.state();
        if state.watched.get(&self.pin).is_some_and(|watched| watched.hub.count() == 0)
            && let Some(watched) = state.watched.remove(&self.pin)
        {
            watched.line.close();
        }
    }
}
