//! How a command fails: one clear message and an exit code.

pub use assay_base::text::one_line;
use assay_device::safety::{Refusal, RuleId};
use assay_sql::{Trouble, TroubleKind};
use std::fmt::Display;
use std::path::Path;

/// Exit codes, as documented in the README.
pub mod code {
    /// PASS, or the command did what was asked.
    pub const DONE: u8 = 0;
    /// The command line does not make sense.
    pub const USAGE: u8 = 2;
    /// The workload or configuration is invalid.
    pub const WORKLOAD: u8 = 3;
    /// Refused by the safety gate.
    pub const REFUSED: u8 = 4;
    /// The host is not able to do it: permission, engine, disk space.
    pub const HOST: u8 = 5;
    /// The target did not hold.
    pub const FAILED: u8 = 10;
    /// It would prove nothing.
    pub const INVALID: u8 = 11;
    /// Cut short.
    pub const INCOMPLETE: u8 = 12;
    /// A bug.
    pub const BUG: u8 = 70;
}

/// A failure of a command: what went wrong, where, and what to do, with the exit code for it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The exit code; see [`code`].
    pub code: u8,
    message: String,
    refusal: Option<Box<Refusal>>,
}

impl Failure {
    fn new(code: u8, message: impl Display) -> Failure {
        Failure { code, message: message.to_string(), refusal: None }
    }

    /// The command line does not make sense.
    pub fn bad_usage(message: impl Display) -> Failure {
        Failure::new(code::USAGE, message)
    }
    /// The workload or a log cannot be used.
    pub fn bad_workload(message: impl Display) -> Failure {
        Failure::new(code::WORKLOAD, message)
    }
    /// Refused, to protect data.
    pub fn refused_for_safety(message: impl Display) -> Failure {
        Failure::new(code::REFUSED, message)
    }
    /// The safety gate refused, or it could not look because this process lacks the rights to.
    pub fn from_gate_refusal(refusal: Refusal) -> Failure {
        let failure =
            if refusal.lacks_rights() { Failure::host_unable(&refusal) } else { Failure::refused_for_safety(&refusal) };
        Failure { refusal: Some(Box::new(refusal)), ..failure }
    }
    /// The host is not able to do it.
    pub fn host_unable(message: impl Display) -> Failure {
        Failure::new(code::HOST, message)
    }
    /// Cut short; it can be continued.
    pub fn cut_short(message: impl Display) -> Failure {
        Failure::new(code::INCOMPLETE, message)
    }
    /// The target failed its test.
    pub fn target_failed(message: impl Display) -> Failure {
        Failure::new(code::FAILED, message)
    }
    /// It would prove nothing.
    pub fn invalid_result(message: impl Display) -> Failure {
        Failure::new(code::INVALID, message)
    }
    /// A bug.
    pub fn internal_bug(message: impl Display) -> Failure {
        Failure::new(code::BUG, message)
    }

    /// A database, or the machine it is on, cannot do it.
    pub fn from_database_trouble(trouble: &Trouble) -> Failure {
        let code = match trouble.kind {
            TroubleKind::Usage => code::USAGE,
            TroubleKind::Refused => code::REFUSED,
            TroubleKind::Host => code::HOST,
            TroubleKind::Damaged => code::FAILED,
            TroubleKind::NotReady => code::INVALID,
        };
        Failure::new(code, trouble)
    }

    /// [`Failure::from_database_trouble`] of a trouble that is not needed any more.
    pub fn from_trouble(trouble: Trouble) -> Failure {
        Failure::from_database_trouble(&trouble)
    }

    /// A directory on a file system cannot be used.
    pub fn from_directory_trouble(trouble: assay_files::Trouble) -> Failure {
        let code = match trouble.kind {
            assay_files::Kind::Usage => code::USAGE,
            assay_files::Kind::Refused | assay_files::Kind::Busy => code::REFUSED,
            assay_files::Kind::Host => code::HOST,
        };
        Failure::new(code, trouble)
    }

    /// Another rank of the same run cannot go on, with this exit code.
    pub(crate) fn of_another_rank(code: u8, why: &str) -> Failure {
        Failure::new(code, why)
    }

    /// The same with another exit code.
    pub fn with_code(self, code: u8) -> Failure {
        Failure { code, ..self }
    }

    /// The same with another line of advice.
    pub fn with_advice(self, advice: &str) -> Failure {
        Failure { message: format!("{}\n  = {advice}", self.message), ..self }
    }

    /// The refusal of the safety gate, if it was one.
    pub fn gate_refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }

    /// Whether only a person's consent is missing.
    pub fn lacks_consent_alone(&self) -> bool {
        self.gate_refusal().is_some_and(|refusal| refusal.rule == RuleId::Consent && refusal.also.is_empty())
    }

    /// Whether one of several ranks that fails so leaves the others behind, which may wait for it.
    pub fn leaves_others_behind(&self) -> bool {
        self.code == code::HOST || self.code == code::INCOMPLETE
    }

    /// The message for the user.
    pub fn user_message(&self) -> &str {
        &self.message
    }
}

/// A path for use in a message: control characters in it are escaped, so that it cannot begin a new line.
pub fn escaped_path(path: &Path) -> String {
    one_line(path.display())
}
