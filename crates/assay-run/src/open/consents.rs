//! Consents given in advance (`assay consent`): one file for each device, next to the preparation records. Only root can read
//! and write these files. Whoever can write one can have a device destroyed, so a file that anyone but root could have made is
//! ignored: one with another owner, one behind a link, or one below a directory that others can write to.

use crate::certificate::records;
use crate::failure::{Failure, escaped_path};
use crate::files;
use assay_device::clock;
use assay_device::safety::{DevNum, Examination, Inode, Marks, RuleId, Standing, describe_difference, what_was_seen};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// Larger than any of our files.
const LONGEST: u64 = 64 << 10;
/// Bits of a file's mode: whether others may write it; whether others may access it at all; whether only owners may
/// remove entries of a directory.
const OTHERS_WRITE: u32 = 0o022;
const OTHERS: u32 = 0o077;
const STICKY: u32 = 0o1000;

/// The content of a consent file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Version of this format.
    pub schema: u32,
    /// The device as it was named.
    pub target: String,
    /// The path that this name resolved to.
    pub path: PathBuf,
    /// What distinguishes it from every other device.
    pub marks: Marks,
    /// Rules that are overridden, with what was found.
    pub overrides: Vec<Override>,
    /// Whether it was confirmed that processes outside this container are invisible.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_container: bool,
    /// The exit codes of a drop-in on this device; absent: those of this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_codes: Option<ExitCodes>,
    /// When it was given, RFC 3339.
    pub given: String,
    /// When it ends, RFC 3339.
    pub until: String,
}

/// Whose exit codes a drop-in ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitCodes {
    /// This program's: they tell how the test ended.
    Assay,
    /// The original's: 0 also after an overload and after errors.
    Act,
}

impl FromStr for ExitCodes {
    type Err = String;
    fn from_str(text: &str) -> Result<ExitCodes, String> {
        match text {
            "assay" => Ok(ExitCodes::Assay),
            "act" => Ok(ExitCodes::Act),
            other => Err(format!("\"{}\" names no exit codes; write act or assay", other.escape_debug())),
        }
    }
}

/// What a person agrees to besides the loss of the data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// See [`Given::in_container`].
    pub in_container: bool,
    /// See [`Given::exit_codes`].
    pub exit_codes: Option<ExitCodes>,
}

/// One overridden rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// Its id, such as S8.
    pub rule: String,
    /// What the rule had found; for S6 the names of the processes, one on each line.
    pub seen: String,
}

impl Given {
    /// A consent for an examined device, from `now` until `until`.
    pub fn new(exam: &Examination, terms: Terms, now: Timestamp, until: Timestamp) -> Given {
        let overridden = exam.rules.iter().filter(|answer| answer.overridden);
        Given {
            schema: 1,
            target: exam.given.to_string_lossy().into_owned(),
            path: exam.real.clone(),
            marks: exam.marks.clone(),
            overrides: overridden
                .map(|answer| Override { rule: answer.id.to_string(), seen: what_was_seen(&exam.users, answer) })
                .collect(),
            in_container: terms.in_container,
            exit_codes: terms.exit_codes,
            given: format_timestamp(now),
            until: format_timestamp(until),
        }
    }

    /// Whether it overrides this rule.
    pub fn overrides_rule(&self, rule: RuleId) -> bool {
        self.overrides.iter().any(|overridden| overridden.rule == rule.to_string())
    }

    /// `S7, S8`; `none`.
    pub fn rule_names(&self) -> String {
        let rules: Vec<&str> = self.overrides.iter().map(|overridden| overridden.rule.as_str()).collect();
        if rules.is_empty() { "none".to_owned() } else { rules.join(", ") }
    }

    /// The consent in the form that the gate takes, or why it is not valid at `now`.
    fn to_standing(&self, now: Timestamp) -> Result<Standing, String> {
        let (given, until) = (moment_in(&self.given)?, moment_in(&self.until)?);
        if self.schema != 1 {
            return Err(format!("it is of version {}, which this program does not know", self.schema));
        }
        if now < given {
            return Err(format!("it was given at {}, which is in the future: the clock was set back", self.given));
        }
        if now >= until {
            return Err(format!("it ended at {}", self.until));
        }
        let overrides = self.overrides.iter().map(Override::parse_rule).collect::<Result<_, _>>()?;
        let rules =
            if self.overrides.is_empty() { String::new() } else { format!(", overriding {}", self.rule_names()) };
        let words = format!("by the consent of {} until {}{rules}", self.given, self.until);
        let (marks, in_container) = (self.marks.clone(), self.in_container);
        Ok(Standing { marks, overrides, in_container, record: None, words })
    }
}

/// RFC 3339 in UTC, to the second.
fn format_timestamp(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The current time.
pub fn current_time() -> Timestamp {
    Timestamp::try_from(clock::wall_time()).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A file of the store.
#[derive(Debug)]
pub struct StoredConsent {
    /// Its path.
    pub file: PathBuf,
    /// Its content, if it could be read.
    pub given: Option<Given>,
    /// The consent, or why it is not valid.
    pub standing: Result<Standing, String>,
}

impl StoredConsent {
    /// Why it does not apply to this device, if it seems to be meant for it: it has the device's path or serial number.
    pub fn why_not(&self, exam: &Examination) -> Option<String> {
        let given = self.given.as_ref()?;
        let alike =
            given.path == exam.real || exam.serial.is_some() && given.marks.get("serial") == exam.serial.as_ref();
        let why = match &self.standing {
            Err(why) => Some(why.clone()),
            Ok(_) => {
                describe_difference(&given.marks, &exam.marks).map(|what| format!("it is of another device: {what}"))
            }
        };
        Some(format!("the consent of {} for {} is not valid: {}", given.given, given.target, why?)).filter(|_| alike)
    }
}

/// Records that this process has locked. They stay open until it ends: the lock is what other runs look for.
static SHARED: Mutex<Vec<fs::File>> = Mutex::new(Vec::new());

/// Paths of the records that this process has locked, by their descriptors: they lead to the very files.
pub(crate) fn locked_paths() -> Vec<String> {
    let shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.iter().map(|file| format!("/proc/self/fd/{}", file.as_raw_fd())).collect()
}

/// Where consents are kept.
#[derive(Clone, Debug)]
pub struct Consents {
    dir: PathBuf,
}

impl Consents {
    /// The consents of this host.
    pub fn for_host() -> Consents {
        Consents { dir: records::state_directory().join("assay/consent") }
    }

    /// All stored consents, in the order of their names; none where the directory does not exist. One that somebody
    /// other than root could have made is listed without its content.
    pub fn all_stored(&self, now: Timestamp) -> Vec<StoredConsent> {
        let Ok(entries) = fs::read_dir(&self.dir) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "json"));
        files.sort();
        let place = require_trusted(&self.dir);
        let mut all = Vec::new();
        for file in files {
            all.push(match place.clone().and_then(|()| read_consent(&file)) {
                Ok(given) => StoredConsent { file, standing: given.to_standing(now), given: Some(given) },
                Err(why) => StoredConsent { file, given: None, standing: Err(why) },
            });
        }
        all
    }

    /// Locks the records of valid consents for as long as this process lives, and marks those consents so that runs which
    /// have done the same may share their devices with each other. One that cannot be locked is not shared.
    pub fn lock_for_sharing(kept: &mut [StoredConsent]) {
        for kept in kept {
            let Ok(standing) = &mut kept.standing else { continue };
            let Ok(file) = files::open_own_file(&kept.file) else { continue };
            let locked = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockShared);
            if let (Ok(()), Ok(meta)) = (locked, file.metadata()) {
                standing.record = Some(Inode { device: DevNum::from_stat(meta.dev()), inode: meta.ino() });
                SHARED.lock().unwrap_or_else(PoisonError::into_inner).push(file);
            }
        }
    }

    /// Stores a consent and replaces one for the same device.
    pub fn store_consent(&self, token: &str, given: &Given) -> Result<PathBuf, Failure> {
        let path = self.dir.join(format!("{token}.json"));
        self.write_consent(&path, given).map_err(|why| {
            Failure::host_unable(format!("the consent {} cannot be kept: {why}", escaped_path(&path)))
        })?;
        Ok(path)
    }

    fn write_consent(&self, path: &Path, given: &Given) -> Result<(), String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root keeps consents".to_owned());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(|e| e.to_string())?;
        require_trusted(&self.dir)?;
        let bytes = serde_json::to_vec_pretty(given).map_err(|e| e.to_string())?;
        files::replace_with(path, &bytes, 0o600).map_err(|e| e.to_string())
    }

    /// Revokes a consent.
    pub fn revoke_consent(&self, kept: &StoredConsent) -> Result<(), Failure> {
        let done = files::remove_file(&kept.file);
        done.map_err(|e| {
            Failure::host_unable(format!("the consent {} cannot be removed: {e}", escaped_path(&kept.file)))
        })
    }
}

/// Checks that only root can change entries of `dir`: it and all directories above it belong to root, and others may
/// not write there, or may only add entries.
fn require_trusted(dir: &Path) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("consents apply only to runs by root, and this one is not run by root".to_owned());
    }
    let real = dir.canonicalize().map_err(|e| format!("{}: {e}", escaped_path(dir)))?;
    for place in real.ancestors() {
        let meta = place.symlink_metadata().map_err(|e| format!("{}: {e}", escaped_path(place)))?;
        let open = meta.mode() & OTHERS_WRITE != 0 && (place == real || meta.mode() & STICKY == 0);
        if meta.uid() != 0 || open {
            return Err(format!(
                "users other than root may write in {}; take that right away (chmod go-w)",
                escaped_path(place)
            ));
        }
    }
    Ok(())
}

/// The content of a file, if only root could have written it.
#[allow(clippy::disallowed_methods, reason = "for reading, and nothing but a file of root alone is read")]
fn read_consent(path: &Path) -> Result<Given, String> {
    let file = files::open_own_file(path).map_err(|e| format!("it cannot be opened: {e}"))?;
    let meta = file.metadata().map_err(|e| e.to_string())?;
    if !meta.is_file() || meta.uid() != 0 || meta.mode() & OTHERS != 0 || meta.nlink() != 1 {
        return Err("it is not a file that only root can read and write (owner root, mode 0600, one name)".to_owned());
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(|e| format!("it cannot be read: {e}"))?;
    serde_json::from_str(&text).map_err(|e| format!("it is damaged: {e}"))
}

fn moment_in(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| format!("\"{text}\" in it is not a time"))
}

impl Override {
    /// The rule, and what was seen when it was overridden.
    fn parse_rule(&self) -> Result<(RuleId, String), String> {
        match self.rule.parse() {
            Ok(rule) => Ok((rule, self.seen.clone())),
            Err(_) => Err(format!("{} cannot be overridden in advance", self.rule)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn given() -> Given {
        Given {
            schema: 1,
            target: "/dev/disk/by-id/x".into(),
            path: "/dev/sdx".into(),
            marks: [("serial", "S1"), ("size in bytes", "100")].map(|(k, v)| (k.into(), v.into())).into(),
            overrides: vec![Override { rule: "S8".into(), seen: "unknown data near byte 0".into() }],
            in_container: false,
            exit_codes: None,
            given: format_timestamp(at(0)),
            until: format_timestamp(at(3600)),
        }
    }

    #[test]
    fn a_consent_begins_ends_and_overrides_no_more_than_it_may() {
        let standing = given().to_standing(at(10)).unwrap();
        assert_eq!(standing.overrides, [(RuleId::S8, "unknown data near byte 0".to_owned())]);
        assert!(standing.words.contains("overriding S8") && standing.words.contains(&format_timestamp(at(3600))));
        assert!(given().to_standing(at(0)).is_ok() && given().to_standing(at(3599)).is_ok());
        let rule =
            |rule: &str| Given { overrides: vec![Override { rule: rule.into(), seen: String::new() }], ..given() };
        for (what, it, now, words) in [
            ("over", given(), at(3600), "ended at"),
            ("a clock set back", given(), at(-1), "set back"),
            ("another version", Given { schema: 2, ..given() }, at(1), "version 2"),
            ("no time", Given { until: "tomorrow".into(), ..given() }, at(1), "not a time"),
            ("mounted", rule("S4"), at(1), "in advance"),
            ("no rule", rule("S99"), at(1), "in advance"),
        ] {
            let why = it.to_standing(now).unwrap_err();
            assert!(why.contains(words), "{what}: {why}");
        }
    }

    /// What is added is optional: the file of an earlier version is read, and one that does not need it is as it was.
    #[test]
    fn terms_are_kept_only_where_they_were_given() {
        let plain = serde_json::to_string(&given()).unwrap();
        assert!(!plain.contains("in_container") && !plain.contains("exit_codes"), "{plain}");
        assert_eq!(serde_json::from_str::<Given>(&plain).unwrap(), given());
        let more = Given { in_container: true, exit_codes: Some(ExitCodes::Act), ..given() };
        let text = serde_json::to_string(&more).unwrap();
        assert!(text.contains("\"exit_codes\":\"act\""), "{text}");
        assert_eq!(serde_json::from_str::<Given>(&text).unwrap(), more);
        assert!(more.to_standing(at(1)).unwrap().in_container && !given().to_standing(at(1)).unwrap().in_container);
        assert_eq!("act".parse(), Ok(ExitCodes::Act));
        assert!("ACT".parse::<ExitCodes>().is_err() && "".parse::<ExitCodes>().is_err());
    }

    #[test]
    fn only_a_file_of_root_alone_is_believed() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
        let consents = Consents { dir: dir.path().join("state/assay/consent") };
        assert!(consents.all_stored(at(1)).is_empty());
        let file = consents.store_consent("0badcafe", &given()).unwrap();
        let believed = || {
            let all = consents.all_stored(at(1));
            assert_eq!(all.len(), 1, "{all:?}");
            all[0].standing.as_ref().map(|_| ()).map_err(Clone::clone)
        };
        let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(believed(), Ok(()));
        // Storing it again leaves a single file.
        consents.store_consent("0badcafe", &given()).unwrap();
        for open in [0o644, 0o620, 0o666] {
            mode(&file, open);
            assert!(believed().unwrap_err().contains("only root"), "{open:o}");
        }
        mode(&file, 0o600);
        chown(&file, Some(1000), None).unwrap();
        assert!(believed().is_err(), "somebody's");
        chown(&file, Some(0), None).unwrap();
        let name = dir.path().join("another name");
        fs::hard_link(&file, &name).unwrap();
        assert!(believed().is_err(), "two names");
        fs::remove_file(&file).unwrap();
        symlink(&name, &file).unwrap();
        assert!(believed().unwrap_err().contains("cannot be opened"), "a link");
        fs::rename(&name, &file).unwrap();
        assert_eq!(believed(), Ok(()));
        for place in [consents.dir.clone(), dir.path().join("state/assay"), dir.path().join("state")] {
            mode(&place, 0o777);
            assert!(believed().unwrap_err().contains("other than root"), "{}", place.display());
            mode(&place, 0o755);
        }
        mode(&dir.path().join("state"), 0o1777);
        assert_eq!(believed(), Ok(()), "nobody removes root's from /tmp");
        for text in ["", "{}", "[]", "{\"schema\":1}", "\0"] {
            fs::write(&file, text).unwrap();
            assert!(believed().unwrap_err().contains("damaged"), "{text:?}");
        }
        let kept = consents.all_stored(at(1)).remove(0);
        consents.revoke_consent(&kept).unwrap();
        assert!(consents.all_stored(at(1)).is_empty());
    }
}
