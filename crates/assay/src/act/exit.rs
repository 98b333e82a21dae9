//! With which exit code a drop-in ends: with this program's, which tells how the test ended, or, for automation that was
//! written for the original, with the original's.

use super::common::MINUS_ONE;
use crate::environment::environment_variable;
use crate::screen::report_failure;
use assay_run::failure::{Failure, code};
use assay_run::host::signals;
use assay_run::open::consents::{self, Consents, ExitCodes};
use std::path::Path;

/// Whose exit codes are asked for.
const VARIABLE: &str = "ASSAY_ACT_EXIT";

/// Whose exit codes a test of these devices ends with: as the environment says, otherwise as a consent for one of the
/// devices does.
pub(super) fn exit_codes_for(devices: &[String]) -> Result<ExitCodes, Failure> {
    match environment_variable(VARIABLE) {
        Some(value) => value.parse().map_err(|why| Failure::bad_usage(format!("{VARIABLE}: {why}"))),
        None => Ok(exit_codes_by_consent(devices).unwrap_or(ExitCodes::Assay)),
    }
}

fn exit_codes_by_consent(devices: &[String]) -> Option<ExitCodes> {
    let real: Vec<_> = devices.iter().filter_map(|device| Path::new(device).canonicalize().ok()).collect();
    let all = Consents::for_host().all_stored(consents::current_time());
    let given = all.into_iter().filter(|kept| kept.standing.is_ok()).filter_map(|kept| kept.given);
    given.filter(|given| real.contains(&given.path)).find_map(|given| given.exit_codes)
}

/// The outcome of a test or a preparation with these exit codes. The original ends with 0 when a test has run, whatever
/// came of it; with 255 when it could not begin; and a signal ends it at once.
pub(super) fn with_exit_codes(codes: ExitCodes, outcome: Result<u8, Failure>) -> Result<u8, Failure> {
    if codes == ExitCodes::Assay {
        return outcome;
    }
    let code = outcome.unwrap_or_else(|failure| {
        report_failure(&failure);
        failure.code
    });
    if code == code::INCOMPLETE {
        signals::end_as_signalled();
    }
    Ok(as_act(code))
}

fn as_act(code: u8) -> u8 {
    match code {
        code::DONE | code::FAILED | code::INVALID | code::INCOMPLETE => 0,
        // A bug stays visible as one.
        code::BUG => code::BUG,
        _ => MINUS_ONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_ends_with_0_whatever_came_of_a_test() {
        for (ours, acts) in
            [(0, 0), (10, 0), (11, 0), (12, 0), (2, 255), (3, 255), (4, 255), (5, 255), (255, 255), (70, 70)]
        {
            assert_eq!(as_act(ours), acts, "{ours}");
            assert_eq!(with_exit_codes(ExitCodes::Assay, Ok(ours)).ok(), Some(ours));
        }
        assert_eq!(with_exit_codes(ExitCodes::Act, Err(Failure::refused_for_safety("it is mounted"))).ok(), Some(255));
        assert_eq!(
            with_exit_codes(ExitCodes::Assay, Err(Failure::refused_for_safety("it is mounted"))).map_err(|e| e.code),
            Err(4)
        );
    }
}
