//! `zonemode=strided`: the job moves so many bytes in a zone of its file, and goes on to the next zone. No zoned device
//! is meant by it; these are `zonemode=zbd`, which is refused.

use super::job::Job;
use super::number::Amount;
use super::order::Mode;
use super::text::Entry;
use assay_base::{Bytes, Fault};
use assay_model::address::Inside;
use assay_model::{Address, Amount as Part, Extent};

/// The zones of a job, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zones<'a> {
    length: u64,
    gap: u64,
    moved: u64,
    /// The key that asks for them.
    entry: &'a Entry,
}

/// A number of bytes; none if it is zero.
fn nonzero_bytes(job: &Job<'_>, key: &'static str) -> Result<Option<u64>, Fault> {
    Ok(job.count_of_key(key)?.filter(|bytes| *bytes > 0))
}

/// Reads the keys of zones. `several` says that the job has several files.
pub(super) fn read_zones<'a>(job: &Job<'a>, mode: Mode, several: bool) -> Result<Option<Zones<'a>>, Fault> {
    let mode_of_zones = job.value_of_key("zonemode")?;
    let (moved, length, gap) =
        (nonzero_bytes(job, "zonesize")?, nonzero_bytes(job, "zonerange")?, nonzero_bytes(job, "zoneskip")?);
    let entry = match mode_of_zones {
        Some((entry, value)) => match (value.text.as_str(), job.find_entry("zonesize").filter(|_| moved.is_some())) {
            ("strided", _) => entry,
            ("none", None) => return Ok(None),
            ("none", Some(size)) => {
                return Err(job.fault_at_entry(
                    size,
                    "zonemode=none has no zones",
                    "write zonemode=strided, or remove zonesize",
                ));
            }
            ("zbd", _) => {
                let remedy = "remove this key, and name a device that is not zoned";
                return Err(job.fault_at_entry(entry, "zoned block devices are not driven yet", remedy));
            }
            _ => return Err(job.fault_at_entry(entry, "no such mode of zones", "write strided or none")),
        },
        // Zones of a size are strided ones.
        None => match job.find_entry("zonesize").filter(|_| moved.is_some()) {
            Some(entry) => entry,
            None => return Ok(None),
        },
    };
    let Some(moved) = moved else {
        return Err(job.fault_at_entry(entry, "nothing says how much is moved in a zone", "add zonesize="));
    };
    if several {
        job.note_difference(entry, "without effect, as in fio: the job has several files");
        return Ok(None);
    }
    if mode.reads_and_writes() && !mode.random {
        return Err(job.not_yet(entry, "a job that reads and writes sequentially in zones", "write a job for each"));
    }
    Ok(Some(Zones { length: length.unwrap_or(moved), gap: gap.unwrap_or(0), moved, entry }))
}

impl Zones<'_> {
    /// The address of a job in these zones, whose address in a whole file is `address`. `apart` says that reads and
    /// writes do not know of each other.
    pub(super) fn address_in_zones(self, job: &Job<'_>, address: Address, apart: bool) -> Result<Address, Fault> {
        let inside = match address {
            Address::Sequential => Inside::Sequential,
            Address::Uniform { align } => Inside::Uniform { align },
            Address::Once { unit } => Inside::Once { unit },
            _ => {
                let what = "a distribution, a run or a gap within zones";
                return Err(job.not_yet(self.entry, what, "remove zonemode=, or write rw= without a number"));
            }
        };
        if apart {
            return Err(job.not_yet(self.entry, "a rate for reads and writes in zones", "write a job for each"));
        }
        let [length, gap, moved] = [self.length, self.gap, self.moved].map(Bytes::new);
        Ok(Address::Bands { length, gap, moved, inside })
    }
}

/// The part of a file that zones lie in: all of it from where the job begins, unless the job says how long the file is.
pub(super) fn up_to_the_end(job: &Job<'_>, extent: Extent) -> Result<Extent, Fault> {
    let length = match job.length_of_key("filesize")? {
        Some((_, Amount::Bytes(bytes))) => Some(Part::Bytes(Bytes::new(bytes))),
        Some((_, Amount::Percent(_))) => extent.length,
        None => None,
    };
    Ok(Extent { length, ..extent })
}
