//! `act_prep`: our preparation, which leaves a record and reads samples back, with ACT's output.

use super::common::{MINUS_ONE, print_flushed};
use super::consent::{self, Company};
use super::exit;
use crate::args::Access;
use crate::progress::Progress;
use assay_device::select::Choice;
use assay_formats::act::prep as text;
use assay_run::certificate::records::Records;
use assay_run::failure::{Failure, code};
use assay_run::host::threads::spawn_scoped;
use assay_run::open::prepared::Prepared;
use assay_run::open::seed::choose_seed;
use assay_run::open::targets::{self, TargetNeeds};
use assay_run::prepare::{self, prepare_targets};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;

/// Writes zeros to one device, then salts it.
pub(super) fn run_act_prep(args: &[String]) -> Result<u8, Failure> {
    let [device] = args else {
        print_flushed(text::USAGE);
        return Ok(code::DONE);
    };
    if !Path::new(device).exists() {
        print_flushed(&text::open_failed(device));
        return Ok(MINUS_ONE);
    }
    exit::with_exit_codes(exit::exit_codes_for(args)?, prepare_device(device, args))
}

/// Prepares the device, whose name is the only one of `args`.
fn prepare_device(device: &str, args: &[String]) -> Result<u8, Failure> {
    let named = targets::parse_block_targets(args)?;
    let records = Records::for_host();
    let needs = TargetNeeds::for_preparation(records.directory_path());
    let prepared = Prepared::open_named(&named, needs, &|named, needs| {
        consent::open_with_consent(named, needs, Access::default(), Company::None)
    })?;
    let Prepared { targets: opened, stop, .. } = &prepared;
    if opened.real_targets().is_empty() {
        return Err(Failure::bad_usage(format!("{device} holds no data and needs no preparation")));
    }
    opened.recheck_gate()?;
    let size = opened.target_geometry(0).size;
    print_flushed(&text::size_line(device, size));
    let done = Arc::new(AtomicU64::new(0));
    let mut progress = Progress::into_shared(done.clone());
    let how =
        prepare::Preparation { zero: true, afresh: false, engine: Choice::Auto, run: choose_seed(None, &named) as u32 };
    std::thread::scope(|scope| {
        let work = spawn_scoped(scope, "prepare".to_owned(), || {
            prepare_targets(opened.real_targets(), args, how, Some(&records), &mut progress, stop)
        })?;
        let mut dots = Dots { device, row: text::dots_per_row(size), printed: 0 };
        watch_progress(&work, &done, &mut dots);
        let result = work.join().unwrap_or_else(|_| Err(Failure::internal_bug("preparing panicked")));
        if result.is_ok() {
            dots.print_up_to(2 * dots.row);
        } else {
            print_flushed("\n");
        }
        result.map(|_| code::DONE)
    })
}

#[allow(clippy::disallowed_methods, reason = "the display's own pace, not an operation's")]
fn watch_progress<T>(work: &ScopedJoinHandle<'_, T>, done: &AtomicU64, dots: &mut Dots<'_>) {
    while !work.is_finished() {
        dots.print_up_to(done.load(Ordering::Relaxed) * 2 * dots.row / 1000);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Two rows of dots with their headings.
struct Dots<'a> {
    device: &'a str,
    row: u64,
    printed: u64,
}

impl Dots<'_> {
    /// Continues up to `dots` in both rows together.
    fn print_up_to(&mut self, dots: u64) {
        while self.printed < dots.min(2 * self.row) {
            if self.printed == 0 {
                print_flushed(&text::cleaning_line(self.device));
            } else if self.printed == self.row {
                print_flushed(&("\n".to_owned() + &text::salting_line(self.device)));
            }
            print_flushed(".");
            self.printed += 1;
            if self.printed == 2 * self.row {
                print_flushed("\n");
            }
        }
    }
}
