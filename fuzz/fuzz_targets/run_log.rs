//! Our own logs, through the judge and every renderer. A fuzzer cannot guess a CRC, so each line is also tried with a corrected
//! checksum.
#![no_main]

use assay_judge::{Options, Verdict, judge_log, render};
use assay_record::Reader;
use libfuzzer_sys::fuzz_target;

/// Length of `{"crc":"xxxxxxxx",`.
const PREFIX: usize = 18;

fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for line in lines.iter_mut().filter(|line| line.len() > PREFIX && line.starts_with(b"{\"crc\":\"")) {
        let crc = format!("{:08x}", crc_fast::crc32_iscsi(&line[PREFIX..]));
        line[8..16].copy_from_slice(crc.as_bytes());
    }
    lines.join(&b'\n')
}

fuzz_target!(|bytes: &[u8]| {
    for log in [bytes.to_vec(), mended(bytes)] {
        let Ok(judgement) = judge_log(Reader::new(log.as_slice()), &Options::default()) else { continue };
        let mut text = String::new();
        render::write_summary(&judgement, &mut text).expect("a judgement is text");
        render::write_slice_tables(&judgement, &mut text).expect("a judgement is a table");
        render::write_json(&judgement, &mut text).expect("a judgement is JSON");
        if judgement.damage.iter().any(|damage| !damage.torn_tail) {
            assert_ne!(judgement.verdict, Verdict::Pass, "a damaged log passed");
        }
    }
});
