//! Job files of fio, lowered as a run would lower them, on files that are only imagined.

#![allow(clippy::unwrap_used)]

use assay_base::{Bytes, Fault};
use assay_formats::collect::{Played, Recorder};
use assay_formats::fio::{Choice, Keyword, Lowered, Surroundings, lower_job_file, read_job_file};
use assay_model::Plan;
use assay_model::workload::Adjust;
use std::path::{Path, PathBuf};

/// Files beside the job file, of the sizes that the job file asks for.
pub struct TestFiles {
    pub dir: PathBuf,
    pub data: Option<u64>,
}

impl Surroundings for TestFiles {
    fn read_included(&self, name: &str, _: &str) -> Result<String, String> {
        std::fs::read_to_string(self.dir.join(name)).map_err(|e| e.to_string())
    }
    fn read_recording(&self, name: &str, _: &str) -> Result<Played, String> {
        let text = IOLOGS.iter().find(|(known, _)| *known == name).ok_or("there is none")?.1;
        let mut recorder = Recorder::default();
        text.lines().try_for_each(|line| recorder.take_line(line))?;
        recorder.into_recording()
    }
    fn environment_variable(&self, name: &str) -> Option<String> {
        (name == "BS").then(|| "16k".to_owned())
    }
    fn keyword_number(&self, keyword: Keyword) -> u64 {
        match keyword {
            Keyword::PageSize => 4096,
            Keyword::Memory => 2048,
            Keyword::Processors => 2,
        }
    }
    fn size_of(&self, target: &str) -> Option<u64> {
        self.data.filter(|_| target.ends_with("data.img"))
    }
}

/// Recordings of fio, the second of which reaches beyond 64 MiB.
const IOLOGS: [(&str, &str); 4] = [
    (
        "mix.log",
        "fio version 3 iolog\n10 data.img add\n20 data.img open\n3000 data.img read 0 4096\n5000 data.img write 8192 8192\n6000 data.img sync 0 0\n9000 data.img read 4096 4096\n9500 data.img close\n",
    ),
    ("far.log", "fio version 3 iolog\n0 data.img write 67108864 4096\n"),
    ("untimed.log", "fio version 2 iolog\ndata.img read 0 4096\n"),
    (
        "reads.log",
        "fio version 2 iolog\ndata.img wait 200 0\ndata.img read 0 4096\ndata.img wait 500 0\ndata.img read 4096 4096\n",
    ),
];

/// As a run would read it.
pub fn lowered(path: &Path, choice: &Choice) -> Result<Lowered, Fault> {
    let text = std::fs::read_to_string(path).unwrap();
    let needs = text
        .lines()
        .find_map(|line| line.split_once("data.img ")?.1.split(';').next())
        .map(|size| size.trim().parse::<Bytes>().unwrap());
    let data = needs.map_or(16 << 20, Bytes::get);
    of(&text, choice, &TestFiles { dir: path.parent().unwrap().to_owned(), data: Some(data) })
}

pub fn of(text: &str, choice: &Choice, around: &TestFiles) -> Result<Lowered, Fault> {
    lower_job_file("job", &read_job_file("job.fio", text, around)?, choice, around)
}

pub fn around() -> TestFiles {
    TestFiles { dir: PathBuf::new(), data: Some(64 << 20) }
}

pub fn section(name: &str) -> Choice {
    Choice { sections: vec![name.to_owned()], ..Choice::default() }
}

/// The plans of its steps.
pub fn plans(lowered: &Lowered) -> Vec<Plan> {
    let targets = lowered.workload.targets.paths.len() as u16;
    let adjust = Adjust { targets, ..Adjust::default() };
    lowered.workload.in_steps().iter().map(|step| step.make_plan(&adjust).unwrap_or_else(|e| panic!("{e}"))).collect()
}

pub fn plan(lowered: &Lowered) -> Plan {
    let targets = lowered.workload.targets.paths.len() as u16;
    lowered.workload.make_plan(&Adjust { targets, ..Adjust::default() }).unwrap()
}
