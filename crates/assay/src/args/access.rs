//! Options of everything that touches a target.

use crate::confirm::confirm;
use assay_base::Bytes;
use assay_device::safety::{Examination, RuleId, Standing};
use assay_device::select::Choice;
use assay_run::failure::Failure;
use assay_run::targets::{Allowed, Named, Targets, TargetNeeds};

/// Options of everything that touches a target.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Access {
    /// Consent to lose all data on the device with this token (from `assay devices`); one for each device
    #[arg(long, value_name = "TOKEN", value_delimiter = ',')]
    pub destroy_data: Vec<String>,
    /// Override a safety rule that allows it (S6, S7, S8); the certificate lists it
    #[arg(long = "override", value_name = "RULE", value_delimiter = ',')]
    pub overrides: Vec<RuleId>,
    /// Create file targets that do not exist, with this size
    #[arg(long, value_name = "SIZE")]
    pub create: Option<Bytes>,
    /// This is a container: processes outside it cannot be seen, go on all the same
    #[arg(long)]
    pub in_container: bool,
    /// How operations are carried: auto, io_uring, threads, or inline (for devices in memory)
    #[arg(long, default_value = "auto")]
    pub engine: Choice,
    /// The tokens were typed at the terminal, for a drop-in.
    #[arg(skip)]
    pub typed: bool,
    /// Consents given in advance, for a drop-in.
    #[arg(skip)]
    pub standing: Vec<Standing>,
}

impl Access {
    /// What it allows for the targets, where `confirm` has the last word.
    pub(crate) fn allowed<'a>(&'a self, confirm: &'a dyn Fn(&[&Examination]) -> Result<(), Failure>) -> Allowed<'a> {
        let Access { destroy_data: tokens, overrides, create, in_container, standing, .. } = self;
        Allowed { tokens, standing, overrides, create: *create, in_container: *in_container, confirm }
    }

    /// Opens what was named, through the safety gate and with the last word of whoever sits there.
    pub(crate) fn open(&self, named: &[(String, Named)], needs: TargetNeeds<'_>) -> Result<Targets, Failure> {
        let confirm = |devices: &[&Examination]| confirm(devices, self.typed);
        Targets::open(named, needs, self.allowed(&confirm))
    }
}
