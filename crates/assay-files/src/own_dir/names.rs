//! The names below our own directory. Each carries a check, so that cleaning tells an entry of ours from one that
//! somebody else put there: `f0000012-1a2b` is the file with number 12, and `1a2b` are the first two bytes of BLAKE3 of
//! the run, the kind and the number.

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EntryKind {
    /// A regular file, also a further name (hard link) of one.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
}

impl EntryKind {
    /// Every kind.
    pub const ALL: [EntryKind; 3] = [EntryKind::File, EntryKind::Directory, EntryKind::Symlink];

    /// The letter with which its names begin.
    fn letter(self) -> char {
        match self {
            EntryKind::File => 'f',
            EntryKind::Directory => 'd',
            EntryKind::Symlink => 's',
        }
    }

    fn from_letter(letter: char) -> Option<EntryKind> {
        EntryKind::ALL.into_iter().find(|kind| kind.letter() == letter)
    }
}

/// An entry as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// Its number among those of its kind.
    pub number: u64,
}

impl Entry {
    /// Appends the name that it has with this check.
    pub fn write_name(self, check: u16, text: &mut String) {
        text.push(self.kind.letter());
        push_digits(text, self.number, 10, 7);
        text.push('-');
        push_digits(text, check.into(), 16, 4);
    }
}

/// The names of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    key: [u8; 32],
}

impl Names {
    /// The names of the run with this name.
    pub fn for_run(run: &str) -> Names {
        Names { key: blake3::hash(run.as_bytes()).into() }
    }

    /// The name of an entry.
    pub fn name(&self, entry: Entry) -> String {
        self.name_of_length(entry, 0)
    }

    /// The name of an entry with letters behind it, so that it has this many bytes; the name itself where that is not
    /// shorter. The letters follow from the run and the number, so that they are known again.
    pub fn name_of_length(&self, entry: Entry, bytes: usize) -> String {
        let hash = self.hash(entry);
        let mut name = String::with_capacity(bytes.max(LONGEST));
        entry.write_name(check_in(&hash), &mut name);
        while name.len() < bytes {
            let byte = hash.as_bytes()[name.len() % hash.as_bytes().len()];
            name.push(char::from(b'a' + byte % 26));
        }
        name
    }

    /// The check in the names of an entry.
    pub fn check_of(&self, entry: Entry) -> u16 {
        check_in(&self.hash(entry))
    }

    /// The name of a file.
    pub fn file(&self, number: u64) -> String {
        self.name(Entry { kind: EntryKind::File, number })
    }

    /// The name of a directory.
    pub fn directory(&self, number: u64) -> String {
        self.name(Entry { kind: EntryKind::Directory, number })
    }

    /// The name of a symbolic link.
    pub fn symlink(&self, number: u64) -> String {
        self.name(Entry { kind: EntryKind::Symlink, number })
    }

    /// The entry that has this name; none if the name is not one of this run.
    pub fn parse(&self, name: &[u8]) -> Option<Entry> {
        let text = std::str::from_utf8(name).ok()?;
        let kind = EntryKind::from_letter(text.chars().next()?)?;
        let (number, _) = text[1..].split_once('-')?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let entry = Entry { kind, number: number.parse().ok().filter(|_| is_number)? };
        // Written once more, so that each entry has one name only of each length.
        (self.name_of_length(entry, text.len()) == text).then_some(entry)
    }

    /// A hash of a name that is not ours, in a directory that is known by a number.
    pub(super) fn hash_of_name(&self, directory: u64, kind: EntryKind, name: &[u8]) -> u64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(b"name of a source");
        hasher.update(&directory.to_le_bytes());
        hasher.update(&[kind.letter() as u8]);
        hasher.update(name);
        let hash = hasher.finalize();
        hash.as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }

    fn hash(&self, entry: Entry) -> blake3::Hash {
        let mut hashed = [entry.kind.letter() as u8; 9];
        hashed[1..].copy_from_slice(&entry.number.to_le_bytes());
        blake3::keyed_hash(&self.key, &hashed)
    }
}

/// Bytes of a name with the largest number: a letter, 20 digits, a hyphen, and 4 digits.
const LONGEST: usize = 26;

fn check_in(hash: &blake3::Hash) -> u16 {
    u16::from_be_bytes([hash.as_bytes()[0], hash.as_bytes()[1]])
}

/// Appends a number with at least so many digits. The formatting of the standard library takes several times as long, and
/// each call on a file makes a name.
fn push_digits(text: &mut String, number: u64, base: u64, at_least: usize) {
    let mut digits = [b'0'; 20];
    let (mut first, mut rest) = (digits.len(), number);
    while rest > 0 {
        first -= 1;
        digits[first] = b"0123456789abcdef"[(rest % base) as usize];
        rest /= base;
    }
    let shown = &digits[first.min(digits.len() - at_least)..];
    text.push_str(std::str::from_utf8(shown).expect("digits are ASCII"));
}

/// How the names of directories of our own begin, and how many hexadecimal digits follow.
const OWN_DIRECTORY: &str = "assay-";
const DIGITS: usize = 8;

/// The name of a directory of our own: `assay-` and eight digits from BLAKE3 of what tells this making from others.
pub(super) fn own_directory(origin: &str, attempt: u32) -> String {
    let hash = blake3::hash(format!("{origin} {attempt}").as_bytes()).to_hex();
    format!("{OWN_DIRECTORY}{}", &hash[..DIGITS])
}

/// Whether a directory of our own could have this name.
pub(super) fn is_own_directory(name: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    name.strip_prefix(OWN_DIRECTORY.as_bytes()).is_some_and(|rest| rest.len() == DIGITS && rest.iter().all(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_back_to_its_entry_and_to_no_other_run() {
        let (ours, theirs) = (Names::for_run("run 1"), Names::for_run("run 2"));
        let mut by_chance = 0;
        for kind in EntryKind::ALL {
            for number in (0..1000).chain([9_999_999, 10_000_000, u64::MAX]) {
                let entry = Entry { kind, number };
                let name = ours.name(entry);
                assert_eq!(ours.parse(name.as_bytes()), Some(entry), "{name}");
                by_chance += usize::from(theirs.parse(name.as_bytes()).is_some());
            }
        }
        assert!(by_chance < 3, "one in 65,536 fits by chance, and {by_chance} of 3,009 did");
    }

    #[test]
    fn names_stay_the_same_for_ever_or_an_older_tree_could_not_be_cleaned() {
        let names = Names::for_run("run 1");
        let shown = [names.file(12), names.directory(0), names.symlink(12_345_678), names.file(u64::MAX)];
        assert_eq!(shown, ["f0000012-f749", "d0000000-26ad", "s12345678-07b7", "f18446744073709551615-91ac"]);
    }

    #[test]
    fn longer_names_lead_back_too() {
        let names = Names::for_run("run 1");
        let entry = Entry { kind: EntryKind::File, number: 12 };
        for bytes in [0, 13, 14, 40, 255] {
            let name = names.name_of_length(entry, bytes);
            assert_eq!((name.len(), names.parse(name.as_bytes())), (bytes.max(13), Some(entry)), "{name}");
            assert!(name.starts_with("f0000012-f749"), "{name}");
            let last = name.len() - 1;
            let mut other = name.into_bytes();
            other[last] = if other[last] == b'x' { b'y' } else { b'x' };
            assert_eq!(names.parse(&other), None);
        }
    }

    #[test]
    fn a_name_that_differs_anywhere_is_not_ours() {
        let names = Names::for_run("run 1");
        let name = names.file(12);
        for at in 0..name.len() {
            for byte in 0..=255 {
                let mut other = name.clone().into_bytes();
                other[at] = byte;
                assert_eq!(names.parse(&other).is_some(), other == name.as_bytes(), "{}", other.escape_ascii());
            }
        }
        for other in ["", "f", "f-", "f12-f749", "f00000012-f749", "f+000012-f749", "f0000012-F749", "ASSAYDIR", "é"] {
            assert_eq!(names.parse(other.as_bytes()), None, "{other}");
        }
        assert_eq!(names.parse(format!("{name} ").as_bytes()), None);
        assert_eq!(names.parse(b"f99999999999999999999-0000"), None, "more than a number holds");
    }

    #[test]
    fn directories_of_our_own_have_eight_digits_and_other_ones_at_each_attempt() {
        let (one, two) = (own_directory("run 1", 0), own_directory("run 1", 1));
        assert!(is_own_directory(one.as_bytes()) && is_own_directory(two.as_bytes()) && one != two, "{one} {two}");
        for other in ["assay-runs", "assay-", "assay-1234567", "assay-123456789", "assay-1234567G", "assay-ABCDEF01"] {
            assert!(!is_own_directory(other.as_bytes()), "{other}");
        }
    }
}
