//! Sizes of a job's operations, for reads and writes separately: one size, sizes drawn from a range, or sizes with
//! shares.

use super::job::Job;
use super::number::{Reading, Wrong, parse_percent};
use assay_base::{Bytes, Fault};
use assay_model::size::{Size, Sizes};

/// The default size of fio, in bytes.
const USUAL: u64 = 4096;
/// The largest operation of a workload, in bytes.
const LARGEST: u64 = 64 << 20;
/// Upper bound on the number of different sizes of one job.
const MOST: usize = 4096;
/// The block size of every target is a multiple of this many bytes.
const SECTOR: u64 = 512;

/// The sizes of `bs`, as they are written.
fn written_sizes(job: &Job<'_>) -> Result<[Option<Size>; 2], Fault> {
    job.pair_of_key("bs", |reading, text| parse_size(reading, text).map(Size::from_fixed))
}

/// The two sizes of `bs`, with fio's default where there is none.
pub(super) fn fixed_sizes(job: &Job<'_>) -> Result<[Size; 2], Fault> {
    Ok(written_sizes(job)?.map(|size| size.unwrap_or_else(|| Size::from_fixed(Bytes::new(USUAL)))))
}

/// Sizes of reads and of writes. `order` says what becomes of them with `bs_is_seq_rand`, and `rounded` that they are
/// rounded up to the blocks of the target.
pub(super) fn read_sizes(job: &Job<'_>, by_order: Option<&Size>, rounded: bool) -> Result<[Size; 2], Fault> {
    let unaligned = job.is_switched_on("bs_unaligned")?;
    let fixed = match by_order {
        Some(size) => [0, 1].map(|_| Some(size.clone())),
        None => written_sizes(job)?,
    };
    let ranges = job.pair_of_key("bsrange", |reading, text| parse_range(reading, text, unaligned))?;
    let shares = job.pair_of_key("bssplit", parse_shares)?;
    let later = job.is_later("bsrange", "bs");
    if let Some(entry) = job.find_entry("bsrange").filter(|_| !later) {
        return Err(job.fault_at_entry(entry, "bs behind bsrange replaces it", "remove one of the two"));
    }
    let sizes = [0, 1].map(|direction: usize| {
        let range = ranges[direction].clone().filter(|_| later);
        let size = shares[direction].clone().or(range).or_else(|| fixed[direction].clone());
        size.unwrap_or_else(|| Size::from_fixed(Bytes::new(USUAL)))
    });
    if rounded && sizes.iter().any(is_odd) {
        job.add_note(format!(
            "{}: sizes that are not multiples of the target's blocks are rounded up to them",
            job.name
        ));
    }
    Ok(sizes)
}

/// Whether a size is not made of whole sectors.
fn is_odd(size: &Size) -> bool {
    let bounds = size.shares.iter().flat_map(|bar| [bar.from, bar.to]).chain([size.from, size.to]);
    bounds.map(Bytes::get).any(|bytes| !bytes.is_multiple_of(SECTOR))
}

fn parse_size(reading: Reading, text: &str) -> Result<Bytes, Wrong> {
    match reading.parse_count(text)? {
        bytes @ 1..=LARGEST => Ok(Bytes::new(bytes)),
        // fio hands it to the kernel as one call, and the kernel divides it into requests of the device.
        bytes if bytes > LARGEST => Err(Wrong::new(
            text,
            format!("an operation has at most {} here; this one has {}", Bytes::new(LARGEST), Bytes::new(bytes)),
            "write 64m or less: the kernel divides larger ones into requests of the device anyway",
        )),
        _ => Err(Wrong::new(text, "not a size an operation can have", "write 1 byte to 64m")),
    }
}

/// `min-max`, or `min:max`: min + max·u with u uniform in [0, 1), rounded down to a multiple of min and limited to max.
fn parse_range(reading: Reading, text: &str, unaligned: bool) -> Result<Size, Wrong> {
    let Some((from, to)) = text.split_once('-').or_else(|| text.split_once(':')) else {
        return Err(Wrong::new(text, "not a range of sizes", "write for example 4k-16k"));
    };
    let (min, max) = (
        parse_size(reading, from)?.get(),
        parse_size(reading, to).map_err(|wrong| wrong.shifted_by(from.len() + 1))?.get(),
    );
    if max < min {
        return Err(Wrong::new(text, "this range ends before it begins", format!("write {to}-{from}")));
    }
    if unaligned {
        let bars = if min == max {
            vec![size_bar(max, max, 1)]
        } else {
            vec![size_bar(min, max - 1, max - min), size_bar(max, max, min)]
        };
        return histogram_size(text, bars);
    }
    let steps = max.div_ceil(min);
    if steps > MOST as u64 {
        return Err(Wrong::new(
            text,
            format!("these are {steps} sizes"),
            format!("write a range of at most {MOST}, or bssplit="),
        ));
    }
    let last = (min + max - 1) / min;
    let bars = (1..=last).map(|n| {
        let size = (n * min).min(max);
        // The weight of a size: how many of the numbers from min to min + max are rounded to it.
        size_bar(size, size, ((n + 1) * min).min(min + max) - n * min)
    });
    histogram_size(text, bars.collect())
}

fn size_bar(from: u64, to: u64, weight: u64) -> Sizes {
    Sizes { from: Bytes::new(from), to: Bytes::new(to), weight }
}

/// `size/percent:size/percent`; sizes without a share divide the rest equally.
fn parse_shares(reading: Reading, text: &str) -> Result<Size, Wrong> {
    let mut parts: Vec<(Bytes, Option<u64>)> = Vec::new();
    let mut at = 0;
    for part in text.split(':') {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let bytes = parse_size(reading, size).map_err(|wrong| wrong.shifted_by(at))?;
        let share = if share.is_empty() { None } else { Some(parse_percent(share)) };
        let share = share.transpose().map_err(|wrong| wrong.shifted_by(at + size.len() + 1))?;
        parts.push((bytes, share));
        at += part.len() + 1;
    }
    if parts.len() > MOST {
        return Err(Wrong::new(text, "more sizes than any real job has", format!("write at most {MOST}")));
    }
    let sum: u64 = parts.iter().filter_map(|(_, share)| *share).sum();
    let blanks = parts.iter().filter(|(_, share)| share.is_none()).count() as u64;
    if sum > 100 {
        return Err(Wrong::new(
            text,
            format!("the shares make {sum} %"),
            "fio accepts it and cuts the last; write shares that make 100",
        ));
    }
    if sum < 100 && blanks == 0 {
        return Err(Wrong::new(
            text,
            format!("the shares make {sum} %"),
            "fio gives the rest to the largest; write shares that make 100",
        ));
    }
    let bars = parts.iter().map(|(bytes, share)| {
        let weight = share.map_or(100 - sum, |share| share * blanks.max(1));
        Sizes { from: *bytes, to: *bytes, weight }
    });
    histogram_size(text, bars.collect())
}

fn histogram_size(text: &str, bars: Vec<Sizes>) -> Result<Size, Wrong> {
    Size::from_histogram(bars).ok_or_else(|| Wrong::new(text, "no size has a share", "write shares above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Reading = Reading { true_units: false, behind_blank: false, key: "bs", noun: " bytes" };

    fn bars(size: &Size) -> Vec<(u64, u64, u64)> {
        let bar = |bar: &Sizes| (bar.from.get(), bar.to.get(), bar.weight);
        if size.shares.is_empty() {
            vec![(size.from.get(), size.to.get(), 1)]
        } else {
            size.shares.iter().map(bar).collect()
        }
    }

    #[test]
    fn a_range_has_the_shares_that_fio_draws() {
        let of = |text, unaligned| bars(&parse_range(PLAIN, text, unaligned).unwrap());
        // The shares are 40, 40 and 20 %.
        assert_eq!(of("4k-10k", false), [(4096, 4096, 4096), (8192, 8192, 4096), (10_240, 10_240, 2048)]);
        assert_eq!(of("4k-16k", false).iter().map(|bar| bar.2).collect::<Vec<_>>(), [4096; 4]);
        assert_eq!(of("8k-8k", false), [(8192, 8192, 1)]);
        assert_eq!(of("4k-10k", true), [(4096, 10_239, 6144), (10_240, 10_240, 4096)]);
        for bad in ["4k", "8k-4k", "1-1m", "0-4k", "4k-65m", "4k-", "-4k"] {
            assert!(parse_range(PLAIN, bad, false).is_err(), "{bad}");
        }
    }

    #[test]
    fn blank_shares_divide_the_rest() {
        let of = |text| bars(&parse_shares(PLAIN, text).unwrap());
        assert_eq!(of("4k/50:8k/:16k/"), [(4096, 4096, 100), (8192, 8192, 50), (16_384, 16_384, 50)]);
        assert_eq!(of("4k/10:64k/50:32k/40").iter().map(|bar| bar.2).collect::<Vec<_>>(), [10, 50, 40]);
        assert_eq!(of("4k/100:8k/"), [(4096, 4096, 1)]);
        for (bad, what) in
            [("4k/60:8k/60", "120 %"), ("4k/30:8k/60", "90 %"), ("4k/5.5:8k/", "fio reads 5"), ("/50:4k/50", "number")]
        {
            let wrong = parse_shares(PLAIN, bad).unwrap_err();
            assert!(wrong.what.contains(what), "{bad}: {wrong:?}");
        }
    }
}
