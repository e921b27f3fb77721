//! Scans a bus: i2cdetect's probe for every allowed address that no driver is bound to.

use super::{
    Addresses, I2c,
    functions::{Functions, Lack, TransferKind},
    port::{BoundDevice, I2cError},
    told::I2cAccess,
};
use base::{error::ToolError, os::blocking};
use contract::values::I2cAddress;
use std::sync::Arc;

/// Probes per hold of the bus: half a row of i2cdetect's table.
const ROW: usize = 8;
/// This many consecutive timeouts mean that the bus hangs; probing all 112 would take two minutes.
const SILENT: usize = 3;

/// The result of a scan.
#[derive(Debug, Default)]
pub struct Scan {
    /// Addresses that answered.
    pub found: Addresses,
    /// Probed without a clear result, with the adapter's error.
    pub unclear: Vec<(I2cAddress, I2cError)>,
    /// Not probed: bound to a driver.
    pub held: Vec<BoundDevice>,
    /// Not probed: not on the allow-list.
    pub not_allowed: Addresses,
    /// Not probed: the adapter has no safe way to.
    pub no_way: Addresses,
}

impl I2c {
    /// Probes every address of `bus` that is allowed or in `more`, and not bound to a driver, with
    /// [`Functions::probe`]. `asked` is called from time to time with the number of probes done and planned. Other
    /// calls may use the bus between probes, and the scan ends when its caller is gone.
    ///
    /// # Errors
    /// `permission_denied` for a bus that is not on the list; those of [`I2cAccess::ended`] when the bus itself fails.
    pub async fn scan(
        &self,
        tool: &'static str,
        bus: u32,
        more: Addresses,
        mut asked: impl FnMut(usize, usize),
    ) -> Result<Scan, ToolError> {
        let allowed = self.allow.scannable(bus, more)?;
        let whole = I2cAccess { bus, address: None, driver: None };
        let functions = self.port.functions(bus).map_err(|fault| whole.ended(&fault))?;
        if !functions.has(Functions::QUICK) && !functions.has(Functions::READ_BYTE) {
            return Err(whole.ended(&I2cError::Lacks(Lack(vec![Functions::QUICK, Functions::READ_BYTE]))));
        }
        let held = self.port.holders(bus);
        let taken: Addresses = held.iter().filter_map(|holder| I2cAddress::new(holder.address)).collect();
        let probes: Vec<(I2cAddress, Option<TransferKind>)> =
            allowed.without(taken).iter().map(|address| (address, functions.probe(address.number()))).collect();
        let mut scan = Scan {
            not_allowed: Addresses::every().without(allowed).without(taken),
            no_way: probes.iter().filter(|(_, way)| way.is_none()).map(|(address, _)| *address).collect(),
            held,
            ..Scan::default()
        };
        let probes: Vec<(I2cAddress, TransferKind)> =
            probes.into_iter().filter_map(|(address, way)| Some((address, way?))).collect();
        let (mut silent, mut done) = (0, 0);
        for row in probes.chunks(ROW) {
            let turn = self.turn(bus).await.map_err(|fault| whole.ended(&fault))?;
            let (port, row) = (Arc::clone(&self.port), row.to_vec());
            let answers = blocking::run(tool, move |stop| {
                let _turn = turn;
                row.into_iter()
                    .map(|(address, way)| {
                        stop.check()?;
                        let mut byte = [0];
                        let read = if way == TransferKind::ReceiveByte { &mut byte[..] } else { &mut [] };
                        Ok((address, port.perform(bus, address, way, &[], read)))
                    })
                    .collect::<Result<Vec<_>, ToolError>>()
            })
            .await?;
            done += answers.len();
            for (address, answer) in answers {
                let answer = Answer::of(answer);
                silent = if answer.is_silence() { silent + 1 } else { 0 };
                match answer {
                    Answer::Here => scan.found = scan.found.and([address].into_iter().collect()),
                    Answer::Nobody => {}
                    // A driver was bound meanwhile.
                    Answer::Held => scan.held = self.port.holders(bus),
                    Answer::Unclear(fault) if silent >= SILENT => return Err(whole.ended(&fault)),
                    Answer::Unclear(fault @ (I2cError::NoBus | I2cError::NotLetIn)) => return Err(whole.ended(&fault)),
                    Answer::Unclear(fault) => scan.unclear.push((address, fault)),
                }
            }
            asked(done, probes.len());
        }
        Ok(scan)
    }
}

/// The result of a probe.
enum Answer {
    Here,
    Nobody,
    Held,
    Unclear(I2cError),
}

impl Answer {
    fn of(answer: Result<(), I2cError>) -> Self {
        match answer {
            Ok(()) => Self::Here,
            Err(I2cError::Nack) => Self::Nobody,
            Err(I2cError::Held) => Self::Held,
            Err(fault) => Self::Unclear(fault),
        }
    }

    fn is_silence(&self) -> bool {
        matches!(self, Self::Unclear(I2cError::Timeout(_) | I2cError::Busy | I2cError::ArbitrationLost))
    }
}
