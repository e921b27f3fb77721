//! The description of a serial port in answers: docs/contract/serial.md.

use super::allowed;
use crate::{registry::context::Context, tools::gpio::info::stamp};
use hw::{
    gpio::lease::Owner,
    serial::{Flow, Line, Parity, SerialPort, SerialStatus},
};
use schemars::JsonSchema;
use serde::Serialize;

/// Bytes of the preview.
const PREVIEW: usize = 1024;

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LineOut {
    baud: u32,
    #[schemars(range(min = 5, max = 8))]
    data_bits: u8,
    parity: Parity,
    #[schemars(range(min = 1, max = 2))]
    stop_bits: u8,
    flow_control: Flow,
}

impl From<Line> for LineOut {
    fn from(line: Line) -> Self {
        let Line { baud, data_bits, parity, stop_bits, flow } = line;
        Self { baud, data_bits, parity, stop_bits, flow_control: flow }
    }
}

/// One port.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PortOut {
    /// Its path below /dev.
    pub port: String,
    /// Its driver: "ftdi_sio".
    driver: Option<String>,
    /// What a USB device calls itself.
    product: Option<String>,
    /// Whether serial.open opens it for you.
    allowed: bool,
    writable: bool,
    /// What this system needs it for itself: then it cannot be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    taken: Option<String>,
    /// Whom it is open for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OpenOut")]
    open: Option<OpenOut>,
}

/// An open port.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct OpenOut {
    principal: String,
    /// Whether that is you, on this connection or as the same owner.
    yours: bool,
    line: LineOut,
    /// Bytes since it was opened.
    received_bytes: u64,
    /// Bytes that nobody has read.
    waiting_bytes: usize,
    /// The first 1024 of them as text, for whom it is open and where one port was asked for. They stay for serial.read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    preview: Option<String>,
    /// The device is gone, or the other end hung up.
    hung_up: bool,
    /// When it is closed unless it is used, UTC; absent where that is when the connection ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    expires_at: Option<String>,
}

impl PortOut {
    /// A port for this caller; `alone`: with a preview.
    pub fn of(cx: &Context, owner: &Owner, port: SerialPort, alone: bool) -> Self {
        let SerialPort { name, driver, product, taken } = port;
        let serial = &cx.services.serial;
        let (allowed, writable) = allowed(cx, &name);
        let shown = cx.shows("serial.list_ports", "serial:read");
        let open = serial.status(&name, owner).map(|status| {
            let SerialStatus { owner: holder, yours, ends, line, received, waiting, hung_up } = status;
            let preview = || String::from_utf8_lossy(&serial.peek(owner, &name, PREVIEW)).into_owned();
            OpenOut {
                principal: holder.principal,
                yours,
                line: line.into(),
                received_bytes: received,
                waiting_bytes: waiting,
                preview: (alone && yours && shown).then(preview),
                hung_up,
                expires_at: ends.map(stamp),
            }
        });
        Self { port: name, driver, product, allowed, writable, taken, open }
    }
}
