//! Mounts as a command line names them: `NAME=DIR`.

use crate::directories::NamedDirectory;
use crate::failure::{Failure, one_line};
use std::collections::BTreeMap;

/// What a user can say about a mount, because nobody can see it from here.
const ABOUT: [&str; 3] = ["media", "replicas", "network"];
/// The longest of what a user says, in bytes.
const LONGEST_WORDS: usize = 200;
/// The longest name of a mount.
const LONGEST: usize = 30;

/// A mount under the user's name for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMount {
    /// The user's name.
    pub label: String,
    /// The directory, as the user named it.
    pub directory: String,
    /// What the user says about it.
    pub about: BTreeMap<String, String>,
}

impl NamedMount {
    /// Parses the words of a command line.
    ///
    /// # Errors
    /// Usage: a word has no name or no directory, a name is given twice or does not suit as the name of a directory, or there are
    /// fewer than two mounts.
    pub fn parse_all(words: &[String]) -> Result<Vec<NamedMount>, Failure> {
        let mut mounts: Vec<NamedMount> = Vec::new();
        for word in words {
            let mount = NamedMount::parse(word)?;
            if let Some(other) = mounts.iter().find(|other| other.label == mount.label) {
                return Err(Failure::bad_usage(format!(
                    "{} and {} have the same name {}: give each another one",
                    one_line(&other.directory),
                    one_line(&mount.directory),
                    mount.label
                )));
            }
            mounts.push(mount);
        }
        if mounts.len() < 2 {
            return Err(Failure::bad_usage("nothing is compared with one mount: name two or more, each as NAME=DIR"));
        }
        Ok(mounts)
    }

    /// Adds what the user says about mounts, each as `NAME.media=TEXT`.
    ///
    /// # Errors
    /// Usage: there is no mount of this name, nothing of this kind can be said, or it is said twice.
    pub fn add_about(mounts: &mut [NamedMount], words: &[String]) -> Result<(), Failure> {
        for word in words {
            let parts = word.split_once('=').and_then(|(place, text)| Some((place.rsplit_once('.')?, text.trim())));
            let said = parts.filter(|((_, what), text)| ABOUT.contains(what) && !text.is_empty());
            let Some(((label, what), text)) = said.filter(|(_, text)| text.len() <= LONGEST_WORDS) else {
                return Err(Failure::bad_usage(format!(
                    "{} says nothing about a mount: write NAME.media=TEXT, NAME.replicas=TEXT or NAME.network=TEXT, of up to {LONGEST_WORDS} bytes",
                    one_line(word)
                )));
            };
            let Some(mount) = mounts.iter_mut().find(|mount| mount.label == label) else {
                let label = one_line(label);
                return Err(Failure::bad_usage(format!(
                    "no mount has the name {label}: use one of those that are compared"
                )));
            };
            if mount.about.insert(what.to_owned(), text.to_owned()).is_some() {
                return Err(Failure::bad_usage(format!("{label}.{what} is said twice: say it once")));
            }
        }
        Ok(())
    }

    fn parse(word: &str) -> Result<NamedMount, Failure> {
        let Some((label, directory)) = word.split_once('=').filter(|(_, directory)| !directory.is_empty()) else {
            return Err(Failure::bad_usage(format!(
                "{} is not NAME=DIR: write a name for the result and a directory on the mount, such as nfs=/mnt/nfs",
                one_line(word)
            )));
        };
        let is_plain = label.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let begins_well = label.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !is_plain || !begins_well || label.len() > LONGEST {
            return Err(Failure::bad_usage(format!(
                "{} cannot be the name of a mount: write up to {LONGEST} letters, digits, hyphens and dots, and a letter first",
                one_line(label)
            )));
        }
        Ok(NamedMount { label: label.to_owned(), directory: directory.to_owned(), about: BTreeMap::new() })
    }

    /// Its directory as a target.
    ///
    /// # Errors
    /// Usage: it is no directory.
    pub fn target(&self) -> Result<NamedDirectory, Failure> {
        NamedDirectory::from_name(&self.directory).ok_or_else(|| {
            Failure::bad_usage(format!(
                "{} ({}) is not a directory: name one on the mount",
                one_line(&self.directory),
                self.label
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Vec<NamedMount>, Failure> {
        NamedMount::parse_all(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_mount_has_a_name_and_a_directory_that_may_have_an_equals_sign() {
        let mounts = parsed(&["a=/mnt/a", "b.2=/mnt/x=y"]).unwrap();
        assert_eq!((mounts[1].label.as_str(), mounts[1].directory.as_str()), ("b.2", "/mnt/x=y"));
    }

    #[test]
    fn what_a_user_says_belongs_to_the_mount_of_that_name() {
        let mut mounts = parsed(&["a=/mnt/a", "b.2=/mnt/b"]).unwrap();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        NamedMount::add_about(&mut mounts, &words(&["b.2.media=8 SAS disks", "b.2.network=2 x 10GbE=20"])).unwrap();
        assert_eq!((mounts[0].about.len(), mounts[1].about["network"].as_str()), (0, "2 x 10GbE=20"));
        for (word, says) in [
            ("c.media=ssd", "no mount has the name c"),
            ("a.colour=red", "says nothing about a mount"),
            ("a.media", "says nothing"),
            ("a.media= ", "says nothing"),
            ("media=ssd", "says nothing"),
            ("b.2.media=ssd", "said twice"),
        ] {
            let failure = NamedMount::add_about(&mut mounts, &words(&[word])).unwrap_err();
            assert!(failure.user_message().contains(says), "{word}: {}", failure.user_message());
        }
    }

    #[test]
    fn what_is_no_list_of_mounts_is_refused() {
        for (words, says) in [
            (&["a=/mnt/a"][..], "two or more"),
            (&[], "two or more"),
            (&["/mnt/a", "b=/mnt/b"], "/mnt/a is not NAME=DIR"),
            (&["a=", "b=/mnt/b"], "a= is not NAME=DIR"),
            (&["=/mnt/a", "b=/mnt/b"], "cannot be the name"),
            (&["a/b=/mnt/a", "b=/mnt/b"], "cannot be the name"),
            (&["..=/mnt/a", "b=/mnt/b"], "cannot be the name"),
            (&["a=/mnt/a", "a=/mnt/b"], "have the same name a"),
            (&["abcdefghijklmnopqrstuvwxyz01234=/a", "b=/mnt/b"], "cannot be the name"),
        ] {
            let failure = parsed(words).unwrap_err();
            assert!(failure.user_message().contains(says), "{words:?}: {}", failure.user_message());
        }
    }
}
