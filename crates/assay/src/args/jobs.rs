//! What the command line says about the files of workloads: which jobs of a job file of fio are run and on what, and which
//! test an ACT configuration is for.

use assay_base::Span;
use assay_formats::act::conf::Kind;
use assay_formats::fio::Choice;
use assay_run::failure::{Failure, one_line};
use assay_run::workloads::Reading;

/// ACT's two tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ActModel {
    /// ACT's test of an index on flash
    ActIndex,
    /// ACT's test of record storage
    ActStorage,
}

impl From<ActModel> for Kind {
    fn from(model: ActModel) -> Kind {
        match model {
            ActModel::ActIndex => Kind::Index,
            ActModel::ActStorage => Kind::Storage,
        }
    }
}

/// Which of ACT's tests a configuration is for.
#[derive(clap::Args, Debug, Clone, Copy, Default)]
pub(crate) struct ActTest {
    /// The test that an ACT configuration is for. It is needed where all keys of the file are common to both tests
    #[arg(long, value_name = "MODEL")]
    pub model: Option<ActModel>,
}

impl ActTest {
    /// The program of ACT that this names.
    pub(crate) fn act_kind(self) -> Option<Kind> {
        self.model.map(Kind::from)
    }
}

/// What of a job file of fio is run, and on what.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Jobs {
    /// Run only this job of a fio job file; may be repeated [default: all jobs]
    #[arg(long, value_name = "NAME")]
    pub section: Vec<String>,
    /// Use this target in place of a file that a fio job file names, such as data.img=/dev/sdb; may be repeated
    #[arg(long, value_name = "NAME=TARGET")]
    pub map: Vec<String>,
    /// Use the files of jobs with direct=0, fio's default, through the kernel's page cache, as fio does. The result is marked PAGE
    /// CACHE and is never a certificate [default: direct I/O, whatever a job says]
    #[arg(long)]
    pub page_cache: bool,
    #[command(flatten)]
    pub test: ActTest,
}

impl Jobs {
    /// The same, for a verb, with the targets that are typed, and with how long is measured if that is said.
    pub(crate) fn reading_for_verb(
        &self,
        verb: &'static str,
        targets: &[String],
        measure: Option<Span>,
    ) -> Result<Reading, Failure> {
        let (jobs, model) = (self.job_choice(targets, measure)?, self.test.act_kind());
        Ok(Reading { jobs, model, verb, tiles: ["run", "limit", "explain"].contains(&verb) })
    }

    fn job_choice(&self, targets: &[String], measure: Option<Span>) -> Result<Choice, Failure> {
        let maps = self.map.iter().map(|map| file_and_target(map)).collect::<Result<Vec<_>, _>>()?;
        if !maps.is_empty() && !targets.is_empty() {
            return Err(Failure::bad_usage(
                "--map and targets exclude each other: targets take the places of all files, in their order",
            ));
        }
        let Jobs { section, page_cache, .. } = self;
        Ok(Choice { sections: section.clone(), maps, targets: targets.to_vec(), page_cache: *page_cache, measure })
    }
}

/// Both names in `data.img=/dev/sdb`.
fn file_and_target(map: &str) -> Result<(String, String), Failure> {
    match map.split_once('=') {
        Some((file, target)) if !file.is_empty() && !target.is_empty() => Ok((file.to_owned(), target.to_owned())),
        _ => Err(Failure::bad_usage(format!(
            "--map {} names no file and target; write --map data.img=/dev/sdb",
            one_line(map)
        ))),
    }
}
