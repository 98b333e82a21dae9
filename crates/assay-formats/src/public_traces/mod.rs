//! Block traces that others have published, read as a stream and counted volume by volume.
//!
//! | kind | a line or a record | time | place |
//! |---|---|---|---|
//! | `msr` | time, host, disk, `Read` or `Write`, offset, bytes, response | 100 ns | bytes |
//! | `alibaba` | volume, `R` or `W`, offset, bytes, time | µs | bytes |
//! | `tencent` | time, offset, length, 0 for a read or 1 for a write, volume | s | sectors of 512 bytes |
//! | `spc` | unit, block, bytes, `R` or `W`, time | s, with decimals | blocks of 512 bytes |
//! | `oracle-general` | 24 bytes: time, object, bytes, when it comes again | s | objects, which have no place |
//!
//! Sources: the descriptions that come with the traces of Microsoft Research Cambridge (SNIA IOTTA), Alibaba's block traces
//! (2020), Tencent's CBS traces (2018), the UMass trace repository (SPC), and libCacheSim's binary format.

mod lines;
mod reader;
mod records;
mod volumes;

pub use reader::TraceReader;
pub use volumes::{Volume, Volumes};

use std::fmt;

/// A kind of trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PublicTrace {
    /// Microsoft Research Cambridge.
    Msr,
    /// Alibaba's block traces.
    Alibaba,
    /// Tencent's CBS.
    Tencent,
    /// SPC, of the UMass repository.
    Spc,
    /// libCacheSim's oracleGeneral.
    OracleGeneral,
}

impl fmt::Display for PublicTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PublicTrace::Msr => "msr",
            PublicTrace::Alibaba => "alibaba",
            PublicTrace::Tencent => "tencent",
            PublicTrace::Spc => "spc",
            PublicTrace::OracleGeneral => "oracle-general",
        })
    }
}

/// What is left out of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LeftOut {
    /// Lines or records that say no request.
    pub damaged: u64,
    /// The first of them, counted from 1, with its beginning.
    pub first: Option<(u64, String)>,
}

impl LeftOut {
    fn add_damaged(&mut self, number: u64, begin: &[u8]) {
        self.damaged += 1;
        if self.first.is_none() {
            let text = String::from_utf8_lossy(&begin[..begin.len().min(60)]).escape_debug().to_string();
            self.first = Some((number, text));
        }
    }
}
