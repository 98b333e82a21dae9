//! The rules by name, the answer of each, and what a refusal says.
//!
//! Every rule fails closed: what could not be found out counts as "no". Overrides are per rule and exist only where a
//! person can know better than the machine: S6 (another process uses it), S7 (a signature), S8 (unknown data). No
//! other rule can be overridden, not even S10: a file of somebody else is removed by its owner, not overwritten because
//! of a flag.

use assay_base::text::one_line;
use rustix::io::Errno;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

macro_rules! rules {
    ($($id:ident $text:literal $meaning:literal $remedy:literal;)*) => {
        /// One rule of the gate, in the order of evaluation.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum RuleId {
            $(#[doc = $meaning] $id,)*
        }

        impl RuleId {
            /// All rules in order.
            pub const ALL: &[RuleId] = &[$(RuleId::$id),*];

            /// The requirement of the rule, in a few words.
            pub fn meaning(self) -> &'static str {
                match self { $(RuleId::$id => $meaning),* }
            }

            /// The remedy for a refusal.
            pub fn remedy(self) -> &'static str {
                match self { $(RuleId::$id => $remedy),* }
            }

            fn text(self) -> &'static str {
                match self { $(RuleId::$id => $text),* }
            }
        }
    };
}

rules! {
    S0 "S0" "the name exists" "check the path; `assay devices` lists the devices; outside /dev, --create SIZE creates a file, and `assay prep FILE --create SIZE` one that can be read";
    S1 "S1" "a block device or a regular file" "give a block device or a file, or no target to test a scratch file (certify --quick)";
    S2 "S2" "the kernel grants exclusive access" "unmount it, stop the program that uses it, run as root if permission is missing, or choose another device";
    S3 "S3" "it has a size, is writable, and its block size fits the workload" "choose a writable target, or a workload whose sizes are multiples of its block size";
    S4 "S4" "nothing above, below or beside it is in use" "unmount it or stop the program that uses it, or choose another device";
    S5 "S5" "it does not hold the system, the log directory or this program" "choose another device; this rule has no override";
    S6 "S6" "no other process has it open for writing" "stop that process; if you know that it is harmless, add --override S6";
    S7 "S7" "no file system, RAID, volume or partition table on it" "if its data may be destroyed, run wipefs -a on it or add --override S7";
    S8 "S8" "blank, or written by an earlier run or by ACT" "if its data may be destroyed, discard it with blkdiscard, overwrite it, or add --override S8";
    S9 "S9" "reachable by one path only" "give the multipath device instead of one of its paths, or detach the second path";
    S10 "S10" "a file of this program, or one to which nobody has written, with its space reserved" "give a file that does not exist yet, with --create SIZE, or one that was only reserved (fallocate -l SIZE FILE); if the data of this one may be destroyed, delete it and reserve it again: files of others are never overwritten";
    S11 "S11" "the devices beneath it are known" "choose a target on local storage";
    S12 "S12" "still the same device as at the start" "the device was replaced, resized or renamed since the start; check it and start again";
    S13 "S13" "no other run on it" "wait for the other run or stop it";
    S14 "S14" "the workload fits inside it" "choose a larger target or a smaller workload";
    S15 "S15" "only read from" "the workload only reads; give a readable target";
    Consent "consent" "a person agreed that its data are destroyed" "run `assay devices`, check that it is the right device, then add --destroy-data TOKEN";
}

impl RuleId {
    /// Whether `--override` exists for this rule.
    pub fn may_override(self) -> bool {
        matches!(self, RuleId::S6 | RuleId::S7 | RuleId::S8)
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

impl FromStr for RuleId {
    type Err = String;
    /// Parses an override: only the rules that have one.
    fn from_str(text: &str) -> Result<RuleId, String> {
        match RuleId::ALL.iter().find(|rule| rule.text().eq_ignore_ascii_case(text)) {
            Some(rule) if rule.may_override() => Ok(*rule),
            Some(rule) => Err(format!("{rule} ({}) has no override; only S6, S7 and S8 have one", rule.meaning())),
            None => Err(format!("\"{}\" is not a rule; write S6, S7 or S8", text.escape_debug())),
        }
    }
}

/// Why something could not be opened: missing rights are distinguished from other errors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unopened {
    /// The reason in words.
    pub text: String,
    /// True when the kernel refused because of missing rights.
    pub lacks_rights: bool,
}

impl Unopened {
    /// The meaning of the kernel's error.
    pub(crate) fn from_errno(e: Errno) -> Unopened {
        if !matches!(e, Errno::ACCESS | Errno::PERM) {
            return Unopened { text: format!("cannot open it: {e}"), lacks_rights: false };
        }
        let who = if rustix::process::geteuid().is_root() {
            "access is denied to root too, by the control group of this container, a security module, or the device itself"
        } else {
            "run as root"
        };
        Unopened { text: format!("not permitted to open it ({e}): {who}"), lacks_rights: true }
    }

    /// Something that had to be looked at and could not be, for this reason. Root may look at everything, so whoever is not
    /// root may only lack the rights to.
    pub(crate) fn from_reason(why: String) -> Unopened {
        let lacks_rights = !rustix::process::geteuid().is_root();
        Unopened { text: why + if lacks_rights { "; run as root" } else { "" }, lacks_rights }
    }
}

/// The answer of one rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleAnswer {
    /// The rule.
    pub id: RuleId,
    /// Whether it holds. An overridden rule keeps its own answer here.
    pub ok: bool,
    /// The finding, and its place.
    pub evidence: String,
    /// Whether a person may override it.
    pub overridable: bool,
    /// Whether a person did.
    pub overridden: bool,
    /// Whether only rights are missing: then it says nothing about the target.
    pub lacks_rights: bool,
}

impl RuleAnswer {
    /// An answer before any override.
    pub fn new(id: RuleId, found: Result<String, String>) -> RuleAnswer {
        let ok = found.is_ok();
        let evidence = found.unwrap_or_else(|e| e);
        RuleAnswer { id, ok, evidence, overridable: id.may_override(), overridden: false, lacks_rights: false }
    }

    /// The answer of a rule for which something could not be opened.
    pub(crate) fn from_unopened(id: RuleId, why: Unopened) -> RuleAnswer {
        RuleAnswer { lacks_rights: why.lacks_rights, ..RuleAnswer::new(id, Err(why.text)) }
    }

    /// Whether the gate may continue.
    pub fn may_continue(&self) -> bool {
        self.ok || self.overridden
    }
}

/// Why a target was not admitted. Nothing was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The name that was given.
    pub given: PathBuf,
    /// The device or file that the name leads to, if any, with its model, serial and size.
    pub subject: String,
    /// The most important of the rules that do not hold.
    pub rule: RuleId,
    /// The finding, and its place.
    pub evidence: String,
    /// Whether only rights are missing, for that rule.
    pub unpermitted: bool,
    /// Whether S6 refuses for no other reason than that this is a container, which nobody has confirmed.
    pub is_in_container: bool,
    /// The other rules that do not hold either.
    pub also: Vec<RuleAnswer>,
}

impl Refusal {
    /// The remedy.
    pub fn first_remedy(&self) -> &'static str {
        self.rule.remedy()
    }
}

impl Refusal {
    /// The rules that do not hold.
    pub fn failed_rules(&self) -> impl Iterator<Item = RuleId> {
        std::iter::once(self.rule).chain(self.also.iter().map(|answer| answer.id))
    }

    /// Whether this process lacks the rights to examine the target, and no other reason against it is known.
    pub fn lacks_rights(&self) -> bool {
        let speaks =
            self.also.iter().any(|answer| matches!(answer.id, RuleId::S4 | RuleId::S9) && !answer.lacks_rights);
        self.unpermitted && !speaks
    }

    /// The finding, without the remedy. Names in it cannot begin a new line.
    pub fn finding_text(&self) -> String {
        let given = one_line(self.given.display());
        let mut text = format!("refused {given}: rule {}: {}", self.rule, one_line(&self.evidence));
        if !self.subject.is_empty() {
            text += &format!("\n  it is {}", one_line(&self.subject));
        }
        for answer in &self.also {
            text += &format!("\n  also rule {}: {}", answer.id, one_line(&answer.evidence));
        }
        text
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  to do: {}; nothing was written", self.finding_text(), self.first_remedy())
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_exist_for_three_rules_only() {
        let with: Vec<String> = RuleId::ALL.iter().filter(|r| r.may_override()).map(|r| r.to_string()).collect();
        assert_eq!(with, ["S6", "S7", "S8"]);
        assert_eq!("s8".parse(), Ok(RuleId::S8));
        for bad in ["S1", "S2", "S3", "S4", "S5", "S9", "S10", "S12", "S14", "consent", "S99", ""] {
            assert!(bad.parse::<RuleId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_refusal_says_what_where_and_what_to_do() {
        let refusal = Refusal {
            given: "/dev/sdb".into(),
            subject: "/dev/sdb, 1.00 TB".into(),
            rule: RuleId::S4,
            evidence: "sdb1 is mounted on /home (/proc/self/mountinfo)".into(),
            unpermitted: false,
            is_in_container: false,
            also: vec![RuleAnswer::new(RuleId::S7, Err("ext4 at byte 1080".into()))],
        };
        assert_eq!(
            refusal.to_string(),
            "refused /dev/sdb: rule S4: sdb1 is mounted on /home (/proc/self/mountinfo)\n  it is /dev/sdb, 1.00 TB\n  \
             also rule S7: ext4 at byte 1080\n  to do: unmount it or stop the program that uses it, or choose another device; nothing was written"
        );
    }

    fn failed(id: RuleId) -> RuleAnswer {
        RuleAnswer::new(id, Err("why".into()))
    }

    #[test]
    fn a_rule_passes_when_it_holds_or_a_person_overrode_it() {
        let holds = RuleAnswer::new(RuleId::S7, Ok("none".into()));
        assert!(holds.ok && holds.may_continue() && holds.evidence == "none");
        assert!(!failed(RuleId::S7).may_continue());
        assert!(RuleAnswer { overridden: true, ..failed(RuleId::S7) }.may_continue());
    }

    #[test]
    fn who_may_not_open_it_is_told_apart_from_what_cannot_be_opened() {
        for (e, lacks_rights, begins) in [
            (Errno::ACCESS, true, "not permitted to open it"),
            (Errno::PERM, true, "not permitted to open it"),
            (Errno::BUSY, false, "cannot open it"),
            (Errno::NXIO, false, "cannot open it"),
            (Errno::ROFS, false, "cannot open it"),
        ] {
            let why = Unopened::from_errno(e);
            assert_eq!((why.lacks_rights, why.text.starts_with(begins)), (lacks_rights, true), "{e}: {}", why.text);
            let answer = RuleAnswer::from_unopened(RuleId::S2, why.clone());
            assert_eq!((answer.ok, answer.lacks_rights, answer.evidence), (false, lacks_rights, why.text), "{e}");
        }
    }

    #[test]
    fn rights_are_what_is_missing_only_where_nothing_else_speaks_against_it() {
        use RuleId::*;
        for (unpermitted, also, lacks) in [
            (true, &[][..], true),
            (true, &[S7, S8], true),
            (true, &[S4], false),
            (true, &[S7, S9], false),
            (false, &[], false),
            (false, &[S4], false),
        ] {
            let refusal = Refusal {
                given: "/dev/sdb".into(),
                subject: String::new(),
                rule: S2,
                evidence: "why".into(),
                unpermitted,
                is_in_container: false,
                also: also.iter().copied().map(failed).collect(),
            };
            assert_eq!(refusal.lacks_rights(), lacks, "{unpermitted} {also:?}");
            assert_eq!(refusal.failed_rules().collect::<Vec<_>>(), [&[S2], also].concat());
            assert!(!refusal.finding_text().contains("it is"), "nothing is said of a subject nobody knows");
            // What could not be looked at, for lack of rights too, does not speak against the target.
            let unseen = |answer: RuleAnswer| RuleAnswer { lacks_rights: true, ..answer };
            let refusal = Refusal { also: refusal.also.into_iter().map(unseen).collect(), ..refusal };
            assert_eq!(refusal.lacks_rights(), unpermitted, "{unpermitted} {also:?}");
        }
    }

    #[test]
    fn names_make_no_lines_of_their_own_in_a_refusal() {
        let refusal = Refusal {
            given: "/tmp/a\nrefused nothing".into(),
            subject: "model\nS".into(),
            rule: RuleId::S7,
            evidence: "label \"x\ny\"".into(),
            unpermitted: false,
            is_in_container: false,
            also: vec![RuleAnswer::new(RuleId::S8, Err("near\nbyte 1".into()))],
        };
        assert_eq!(refusal.finding_text().lines().count(), 3, "{}", refusal.finding_text());
    }
}
