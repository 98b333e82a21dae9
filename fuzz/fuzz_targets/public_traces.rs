//! Published block traces: the first byte says which kind, the rest is the trace. What was counted becomes a profile that is
//! read back.
#![no_main]

use assay_formats::public_traces::{PublicTrace, TraceReader};
use assay_model::profile::{Counting, Profile, ProfilePart, write_profile};
use assay_model::workload::read_workload;
use libfuzzer_sys::fuzz_target;

const KINDS: [PublicTrace; 5] =
    [PublicTrace::Msr, PublicTrace::Alibaba, PublicTrace::Tencent, PublicTrace::Spc, PublicTrace::OracleGeneral];

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let mut reader = TraceReader::new(KINDS[usize::from(*kind) % KINDS.len()], None, 1.0);
    bytes.chunks(11).for_each(|piece| reader.feed_bytes(piece));
    reader.end_file();
    let (volumes, _) = reader.into_counts();
    let Some(volume) = volumes.counted() else { return };
    let counting = Counting {
        seconds: volume.seconds(),
        end: volume.end,
        source: "trace".to_owned(),
        words: String::new(),
        copies: 1 + u32::from(*kind),
        least_count: 1,
    };
    let part = ProfilePart { name: "volume".to_owned(), ..ProfilePart::from_counts(&volume.observed, &counting) };
    let text = write_profile(&Profile { parts: vec![part], ..Profile::default() }, "fuzz", &[]);
    let _ = read_workload("fuzz.toml", &text);
});
