//! Options of everything that touches a target.

use super::consent_file;
use crate::confirm::confirm_destruction;
use crate::screen::print_to_stderr;
use assay_base::Bytes;
use assay_device::safety::{Examination, RuleId, Standing};
use assay_device::select::Choice;
use assay_run::failure::{Failure, one_line};
use assay_run::open::targets::{Allowed, Named, TargetNeeds, Targets};
use std::path::PathBuf;

/// Options of everything that touches a target.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Access {
    /// Agree that all data on the device with this token are destroyed. `assay devices` prints the tokens; give one for each
    /// device, separated by commas or by repeating the option
    #[arg(long, value_name = "TOKEN", value_delimiter = ',')]
    pub destroy_data: Vec<String>,
    /// Take the tokens of this host from a file with lines of HOST TOKEN, which `assay devices --consent` prints on each host
    #[arg(long, value_name = "FILE")]
    pub consent_file: Option<PathBuf>,
    /// Ignore this safety rule: S6 (another process has the device open for writing), S7 (it has a file system, RAID, volume or partition
    /// table) or S8 (it holds unknown data). The result lists the override
    #[arg(long = "override", value_name = "RULE", value_delimiter = ',')]
    pub overrides: Vec<RuleId>,
    /// Create file targets that are missing, of this size, such as 10GiB [default: refuse them]
    #[arg(long, value_name = "SIZE")]
    pub create: Option<Bytes>,
    /// Proceed in a container, although processes outside the container are invisible and may be using the device
    #[arg(long)]
    pub in_container: bool,
    /// How I/O is submitted: io_uring, threads (a pool of pread and pwrite threads), inline (one call at a time in the worker,
    /// for devices in memory), or auto (io_uring where the kernel permits it, otherwise threads)
    #[arg(long, default_value = "auto")]
    pub engine: Choice,
    /// The tokens were typed at the terminal (in a drop-in).
    #[arg(skip)]
    pub typed: bool,
    /// Consents given in advance (for a drop-in).
    #[arg(skip)]
    pub standing: Vec<Standing>,
}

impl Access {
    /// The tokens that are given, with those that a file has for this host.
    fn tokens_of_host(&self) -> Result<Vec<String>, Failure> {
        let mut tokens = self.destroy_data.clone();
        if let Some(file) = &self.consent_file {
            tokens.extend(consent_file::tokens_of_this_host(file)?);
        }
        Ok(tokens)
    }

    /// Refuses what makes no sense on a database.
    fn suits_databases(&self) -> Result<(), Failure> {
        let given = [
            (!self.destroy_data.is_empty(), "--destroy-data", "nothing but what assay prep has loaded is used"),
            (self.consent_file.is_some(), "--consent-file", "nothing but what assay prep has loaded is used"),
            (!self.overrides.is_empty(), "--override", "its gate has no rules that could be overridden"),
            (self.create.is_some(), "--create", "assay prep makes a database"),
            (self.engine != Choice::Auto, "--engine", "its sessions carry the transactions"),
        ];
        match given.into_iter().find(|(there, ..)| *there) {
            Some((_, option, why)) => Err(Failure::bad_usage(format!("{option} makes no sense on a database: {why}"))),
            None => Ok(()),
        }
    }

    /// Opens the named targets, through the safety gate and after a last question to a person at the terminal.
    pub(crate) fn open_targets(&self, named: &[(String, Named)], needs: TargetNeeds<'_>) -> Result<Targets, Failure> {
        if let [(_, Named::Database(_))] = named {
            self.suits_databases()?;
        }
        let (tokens, confirm) =
            (self.tokens_of_host()?, |devices: &[&Examination]| confirm_destruction(devices, self.typed));
        let Access { overrides, create, in_container, standing, .. } = self;
        let allowed = Allowed {
            tokens: &tokens,
            standing,
            overrides,
            create: *create,
            in_container: *in_container,
            confirm: &confirm,
        };
        let opened = Targets::open_named(named, needs, allowed)?;
        opened
            .shared_targets()
            .for_each(|(name, who)| print_to_stderr(&format!("assay: {}: {}", one_line(name), one_line(who))));
        Ok(opened)
    }
}
