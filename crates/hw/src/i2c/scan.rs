//! Who is on a bus: i2cdetect's question to every address, without touching what is not ours.

use super::{
    Addresses, I2c,
    functions::{Functions, Lack, Way},
    port::{Fault, Holder},
    told::Attempt,
};
use base::{error::ToolError, os::blocking};
use contract::values::Address;
use std::sync::Arc;

/// Probes in one go of a scan: a row of i2cdetect's table is two of these.
const ROW: usize = 8;
/// So many addresses in a row that time out are a bus that hangs; asking all 112 would take two minutes.
const SILENT: usize = 3;

/// What a scan found.
#[derive(Debug, Default)]
pub struct Scan {
    /// Who answered.
    pub found: Addresses,
    /// Asked, without an answer that says yes or no: what the adapter said.
    pub unclear: Vec<(Address, Fault)>,
    /// Not asked: a driver has it.
    pub held: Vec<Holder>,
    /// Not asked: not on the list.
    pub not_allowed: Addresses,
    /// Not asked: the adapter has no safe way to.
    pub no_way: Addresses,
}

impl I2c {
    /// Asks every allowed address of `bus`, and `more` that are granted, that no driver has whether somebody is there, by [`Functions::probe`]. `asked` hears
    /// how many of how many were asked, a few times on the way. Between two probes others may use the bus, and the scan ends when
    /// its caller goes.
    ///
    /// # Errors
    /// `permission_denied` for a bus that is not on the list; those of [`Attempt::ended`] when the bus as a whole fails.
    pub async fn scan(
        &self,
        tool: &'static str,
        bus: u32,
        more: Addresses,
        mut asked: impl FnMut(usize, usize),
    ) -> Result<Scan, ToolError> {
        let allowed = self.allow.scannable(bus, more)?;
        let whole = Attempt { bus, address: None, driver: None };
        let functions = self.port.functions(bus).map_err(|fault| whole.ended(&fault))?;
        if !functions.has(Functions::QUICK) && !functions.has(Functions::READ_BYTE) {
            return Err(whole.ended(&Fault::Lacks(Lack(vec![Functions::QUICK, Functions::READ_BYTE]))));
        }
        let held = self.port.holders(bus);
        let taken: Addresses = held.iter().filter_map(|holder| Address::new(holder.address)).collect();
        let probes: Vec<(Address, Option<Way>)> =
            allowed.without(taken).iter().map(|address| (address, functions.probe(address.number()))).collect();
        let mut scan = Scan {
            not_allowed: Addresses::every().without(allowed).without(taken),
            no_way: probes.iter().filter(|(_, way)| way.is_none()).map(|(address, _)| *address).collect(),
            held,
            ..Scan::default()
        };
        let probes: Vec<(Address, Way)> =
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
                        let read = if way == Way::ReceiveByte { &mut byte[..] } else { &mut [] };
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
                    // A driver came in the meantime.
                    Answer::Held => scan.held = self.port.holders(bus),
                    Answer::Unclear(fault) if silent >= SILENT => return Err(whole.ended(&fault)),
                    Answer::Unclear(fault @ (Fault::NoBus | Fault::NotLetIn)) => return Err(whole.ended(&fault)),
                    Answer::Unclear(fault) => scan.unclear.push((address, fault)),
                }
            }
            asked(done, probes.len());
        }
        Ok(scan)
    }
}

/// What a probe says.
enum Answer {
    Here,
    Nobody,
    Held,
    Unclear(Fault),
}

impl Answer {
    fn of(answer: Result<(), Fault>) -> Self {
        match answer {
            Ok(()) => Self::Here,
            Err(Fault::Nack) => Self::Nobody,
            Err(Fault::Held) => Self::Held,
            Err(fault) => Self::Unclear(fault),
        }
    }

    fn is_silence(&self) -> bool {
        matches!(self, Self::Unclear(Fault::Timeout(_) | Fault::Busy | Fault::ArbitrationLost))
    }
}
