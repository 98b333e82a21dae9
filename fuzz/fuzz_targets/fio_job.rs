//! Job files of fio, read and lowered to a plan.
#![no_main]

use assay_formats::fio::{Choice, Keyword, Surroundings, lower_job_file, read_job_file};
use assay_model::workload::Adjust;
use libfuzzer_sys::fuzz_target;

/// A machine on which some files are there and some are not.
struct Around<'a>(&'a str);

impl Surroundings for Around<'_> {
    fn read_included(&self, name: &str, _: &str) -> Result<String, String> {
        if name.len().is_multiple_of(2) { Ok(self.0.to_owned()) } else { Err("absent".into()) }
    }
    fn read_recording(&self, name: &str, _: &str) -> Result<assay_formats::collect::Played, String> {
        // What no recording is, or a short one.
        let text = if name.len().is_multiple_of(2) { name } else { "fio version 3 iolog\n5 f read 0 512\n9 f write 512 512\n" };
        let mut recorder = assay_formats::collect::Recorder::default();
        text.lines().try_for_each(|line| recorder.take_line(line))?;
        recorder.into_recording()
    }
    fn environment_variable(&self, name: &str) -> Option<String> {
        (name.len() % 2 == 1).then(|| name.repeat(name.len() % 9))
    }
    fn keyword_number(&self, _: Keyword) -> u64 {
        4096
    }
    fn size_of(&self, target: &str) -> Option<u64> {
        target.len().is_multiple_of(2).then_some(64 << 20)
    }
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let around = Around(&text);
    let Ok(jobs) = read_job_file("fuzz.fio", &text, &around) else { return };
    if let Ok(lowered) = lower_job_file("fuzz", &jobs, &Choice::default(), &around) {
        let targets = lowered.workload.targets.paths.len() as u16;
        let _ = lowered.workload.make_plan(&Adjust { targets, ..Adjust::default() });
    }
});
