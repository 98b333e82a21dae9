//! A small `/proc`, `/sys` and `/dev` made of files, in which a test builds the machine that it needs.

use assay_device::safety::{DevNum, Examination, Gate, Roots, RuleId};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The process that such a machine takes for the one that looks: none that a real kernel numbers so.
pub const OWN: &str = "4194999";
/// The number the first process namespace has.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

pub struct Tree {
    dir: tempfile::TempDir,
}

impl Tree {
    /// A machine whose root is in memory, with no disk and no swap.
    pub fn new() -> Tree {
        let tree = Tree { dir: tempfile::tempdir().unwrap() };
        for dir in ["proc/1", "sys/block", "sys/dev/block", "sys/devices", "dev/mapper"] {
            std::fs::create_dir_all(tree.path(dir)).unwrap();
        }
        std::fs::create_dir_all(tree.path("proc").join(OWN).join("ns")).unwrap();
        symlink(OWN, tree.path("proc/self")).unwrap();
        symlink(FIRST_NAMESPACE, tree.path("proc/self/ns/pid")).unwrap();
        tree.file("proc/swaps", "Filename Type Size Used Priority\n");
        tree.mounts("1 0 0:5 / / rw - tmpfs none rw\n");
        tree
    }

    pub fn roots(&self) -> Roots {
        Roots { proc: self.path("proc"), sys: self.path("sys"), dev: self.path("dev") }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Both mount tables.
    pub fn mounts(&self, text: &str) {
        self.file("proc/self/mountinfo", text);
        self.file("proc/1/mountinfo", text);
    }

    /// A disk on a bus, or without one if `bus` is "virtual".
    pub fn disk(&self, bus: &str, name: &str, number: &str) -> PathBuf {
        let dir = format!("sys/devices/{bus}/block/{name}");
        self.block(&dir, number);
        symlink(self.path(&dir), self.path("sys/block").join(name)).unwrap();
        self.file(&format!("dev/{name}"), "");
        self.path(&dir)
    }

    pub fn partition(&self, disk: &Path, index: u32, number: &str) -> PathBuf {
        let name = disk.file_name().unwrap().to_str().unwrap();
        let separator = if name.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
        let part = format!("{name}{separator}{index}");
        let dir = disk.strip_prefix(self.dir.path()).unwrap().join(&part);
        self.block(dir.to_str().unwrap(), number);
        self.file(dir.join("partition").to_str().unwrap(), &format!("{index}\n"));
        self.file(&format!("dev/{part}"), "");
        self.dir.path().join(dir)
    }

    /// A partition with a place: its first sector and the number of its sectors, of 512 bytes.
    pub fn partition_at(&self, disk: &Path, index: u32, number: &str, (start, size): (u64, u64)) -> PathBuf {
        let dir = self.partition(disk, index, number);
        std::fs::write(dir.join("start"), format!("{start}\n")).unwrap();
        std::fs::write(dir.join("size"), format!("{size}\n")).unwrap();
        dir
    }

    fn block(&self, dir: &str, number: &str) {
        self.file(&format!("{dir}/dev"), &format!("{number}\n"));
        self.file(&format!("{dir}/size"), "2097152\n");
        std::fs::create_dir_all(self.path(dir).join("holders")).unwrap();
        std::fs::create_dir_all(self.path(dir).join("slaves")).unwrap();
        symlink(self.path(dir), self.path("sys/dev/block").join(number)).unwrap();
    }

    /// Makes `upper` a device built on `lower`.
    pub fn stack(&self, upper: &Path, lower: &Path) {
        symlink(upper, lower.join("holders").join(upper.file_name().unwrap())).unwrap();
        symlink(lower, upper.join("slaves").join(lower.file_name().unwrap())).unwrap();
    }

    pub fn ask(&self, number: &str) -> Examination {
        Gate::new(self.roots()).examine_number(DevNum::parse_numbers(number).unwrap(), None)
    }

    /// The rules that do not hold for a device number.
    pub fn refused(&self, number: &str) -> Vec<RuleId> {
        self.ask(number).rules.into_iter().filter(|answer| !answer.may_continue()).map(|answer| answer.id).collect()
    }
}

/// The evidence that a rule gave.
pub fn evidence(exam: &Examination, id: RuleId) -> &str {
    exam.rules.iter().find(|answer| answer.id == id).map_or("", |answer| &answer.evidence)
}
