//! The consent token of a block device, and what it is computed from.

use super::identity::Identity;
use super::roots::{Roots, read_attribute};
use super::standing::Marks;
use super::watermark;

impl Identity {
    /// The consent token: 8 hex digits of BLAKE3 over everything that distinguishes this device from others. For a
    /// device without WWID and serial, and for every virtual one (their serials are often alike), the boot and the disk
    /// sequence number count too.
    pub fn consent_token(&self, roots: &Roots) -> String {
        let mut hasher = blake3::Hasher::new();
        for (_, text) in self.told_apart_by(roots) {
            let text = text.unwrap_or_default();
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize().to_hex()[..8].to_owned()
    }

    /// The marks that the token is computed from, by name.
    pub fn identity_marks(&self, roots: &Roots) -> Marks {
        let marks = self.told_apart_by(roots).into_iter();
        marks.filter_map(|(name, text)| Some((name.to_owned(), text?))).collect()
    }

    fn told_apart_by(&self, roots: &Roots) -> Vec<(&'static str, Option<String>)> {
        let mut all = vec![
            ("WWID", self.wwid.clone()),
            ("serial", self.serial.clone()),
            ("model", self.model.clone()),
            ("size in bytes", self.size.map(|size| size.to_string())),
            ("partition UUID", self.partition_uuid.clone()),
            ("partition (number, first sector)", self.partition.map(|(n, start)| format!("{n} {start}"))),
        ];
        let nameless = self.wwid.is_none() && self.serial.is_none();
        if nameless || !watermark::of_device(roots, self.number).is_empty() {
            all.push(("name", Some(self.name.clone())));
            all.push(("disk sequence number", self.diskseq.map(|sequence| sequence.to_string())));
            all.push(("boot", read_attribute(&roots.proc.join("sys/kernel/random/boot_id"))));
        }
        all
    }
}
