//! Which operations can follow each other on one file: what the file must be, whether it is open, and whether it still
//! has its name.

use super::misfit::Misfit;
use super::operation::Operation;

/// What the steps on one file are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A file that the first step makes.
    NewFile,
    /// A directory that the first step makes.
    NewDirectory,
    /// A symbolic link that the first step makes.
    NewSymlink,
    /// A file that is there.
    File,
    /// A directory that an earlier step made.
    Directory,
    /// A symbolic link that an earlier step made.
    Symlink,
    /// A directory of the tree.
    TreeDirectory,
}

impl Subject {
    /// The subject of steps, of which there is at least one.
    pub fn from_steps(steps: &[Operation]) -> Subject {
        match steps[0] {
            Operation::Create | Operation::Mknod => Subject::NewFile,
            Operation::Mkdir => Subject::NewDirectory,
            Operation::Symlink => Subject::NewSymlink,
            Operation::Rmdir => Subject::Directory,
            Operation::Readlink => Subject::Symlink,
            _ if steps.iter().all(|step| step.is_of_directory()) => Subject::TreeDirectory,
            _ => Subject::File,
        }
    }

    /// Whether its first step makes it.
    pub fn is_made(self) -> bool {
        matches!(self, Subject::NewFile | Subject::NewDirectory | Subject::NewSymlink)
    }

    /// In words, for messages.
    fn words(self) -> &'static str {
        match self {
            Subject::NewFile | Subject::File => "a file",
            Subject::NewDirectory | Subject::Directory | Subject::TreeDirectory => "a directory",
            Subject::NewSymlink | Subject::Symlink => "a symbolic link",
        }
    }

    /// Whether an operation behind the first one is possible on it.
    fn allows(self, operation: Operation) -> bool {
        use Operation::{Access, Chmod, Create, Mkdir, Mknod, Readlink, Rmdir, Stat, Symlink, Unlink};
        if operation.is_of_directory() {
            return true;
        }
        match self {
            Subject::TreeDirectory => false,
            Subject::NewDirectory | Subject::Directory => matches!(operation, Stat | Access | Chmod | Rmdir),
            Subject::NewSymlink | Subject::Symlink => matches!(operation, Readlink | Unlink),
            Subject::NewFile | Subject::File => {
                !matches!(operation, Create | Mknod | Mkdir | Symlink | Rmdir | Readlink)
            }
        }
    }
}

/// Whether the steps work on a file that stays open from one sequence to the next. A file that they make is another one
/// each time, and has to be opened.
pub fn keeps_file_open(steps: &[Operation]) -> bool {
    if Subject::from_steps(steps).is_made() {
        return false;
    }
    let opens = steps.iter().any(|step| matches!(step, Operation::Create | Operation::Open));
    !opens && steps.iter().any(|step| step.needs_descriptor())
}

/// The state of a file while the steps on it are checked.
struct Checked {
    subject: Subject,
    held: bool,
    open: bool,
    name_gone: bool,
    before: Vec<Operation>,
}

/// Whether the steps on one file, of which there is at least one, can follow each other.
pub(super) fn check(steps: &[Operation]) -> Result<(), Misfit> {
    let subject = Subject::from_steps(steps);
    let held = keeps_file_open(steps);
    let mut checked = Checked { subject, held, open: held, name_gone: false, before: Vec::new() };
    for step in steps {
        checked.take(*step)?;
    }
    if checked.open && !held {
        return Err(Misfit::new("the file stays open", "write close behind it"));
    }
    Ok(())
}

impl Checked {
    fn take(&mut self, step: Operation) -> Result<(), Misfit> {
        if !self.before.is_empty() && !self.subject.allows(step) {
            let what = format!("{step} is not possible on {} that the steps before are on", self.subject.words());
            return Err(Misfit::new(what, "give it a list of its own: steps = [[\"stat\"], [\"create\", \"close\"]]"));
        }
        self.check_descriptor(step)?;
        self.check_name(step)?;
        self.check_partner(step)?;
        match step {
            Operation::Create | Operation::Open => self.open = true,
            Operation::Close => self.open = false,
            _ => {}
        }
        self.name_gone |= step.removes_names();
        self.before.push(step);
        Ok(())
    }

    /// A step on an open file finds it open, and none opens it twice.
    fn check_descriptor(&self, step: Operation) -> Result<(), Misfit> {
        if step == Operation::Close && (self.held || !self.open) {
            return Err(Misfit::new("close without open or create", "write open before"));
        }
        if step == Operation::Open && self.open {
            return Err(Misfit::new("the file is open already", "write close before, or give it a list of its own"));
        }
        if step.needs_descriptor() && !self.open {
            return Err(Misfit::new(format!("{step} works on an open file, and it is not open"), "write open before"));
        }
        Ok(())
    }

    /// A step that names the file finds its name.
    fn check_name(&self, step: Operation) -> Result<(), Misfit> {
        let renames = step.removes_names() || step == Operation::Link;
        if self.held && renames {
            return Err(Misfit::new(
                format!("{step} takes or gives a name, and the file stays open between sequences"),
                "write open before the step that needs an open file, and close behind it",
            ));
        }
        let removed = self.before.iter().any(|before| matches!(before, Operation::Unlink | Operation::Rmdir));
        let possible = match step {
            Operation::Close => true,
            _ if step.is_of_directory() => true,
            _ => !self.name_gone || (step.needs_descriptor() && !removed),
        };
        if !possible {
            let what = format!("{step} stands behind the step that took the file's name away");
            return Err(Misfit::new(what, "give it a list of its own: steps = [[\"unlink\"], [\"stat\"]]"));
        }
        Ok(())
    }

    /// A step that needs another one before finds it, and a file gets one other name at most.
    fn check_partner(&self, step: Operation) -> Result<(), Misfit> {
        let given = self.before.iter().any(|before| matches!(before, Operation::Link | Operation::Rename));
        if given && matches!(step, Operation::Link | Operation::Rename) {
            return Err(Misfit::new("a file gets more than one other name", "give each a list of its own"));
        }
        let (needed, remedy): (&[Operation], _) = match step {
            Operation::Unlock => (&[Operation::Lock], "write lock before"),
            Operation::Msync => (&[Operation::MmapWrite, Operation::MmapRead], "write mmap-write before"),
            Operation::CopyRange => (&[Operation::Create], "write create before: it fills a file that is made"),
            _ => return Ok(()),
        };
        if self.before.iter().any(|before| needed.contains(before)) {
            return Ok(());
        }
        Err(Misfit::new(format!("{step} has nothing to work on"), remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(names: &str) -> Vec<Operation> {
        names.split(' ').map(|name| Operation::from_name(name).unwrap()).collect()
    }

    #[test]
    fn sequences_of_real_programs_are_possible() {
        for names in [
            "create write fsync close",
            "create close rename fsync-dir",
            "create write fsync rename close fsync-dir",
            "open append fsync close",
            "append fdatasync",
            "open read close unlink fsync-dir",
            "create write unlink close",
            "stat",
            "mkdir stat rmdir",
            "symlink readlink unlink",
            "readdir",
            "statfs",
            "create copy-range close",
            "open lock rmw unlock close",
            "open mmap-write msync close",
            "open setxattr getxattr close stat open close",
            "mknod open write close",
            "link stat",
        ] {
            assert_eq!(check(&steps(names)), Ok(()), "{names}");
        }
    }

    #[test]
    fn sequences_without_the_file_they_need_are_refused_with_a_remedy() {
        for (names, what) in [
            ("create write", "the file stays open"),
            ("open open close", "the file is open already"),
            ("close", "close without open"),
            ("stat create close", "create is not possible on a file"),
            ("mkdir read", "read is not possible on a directory"),
            ("stat rmdir", "rmdir is not possible on a file"),
            ("symlink stat", "stat is not possible on a symbolic link"),
            ("readdir stat mkdir", "mkdir is not possible on a file"),
            ("open close read", "read works on an open file"),
            ("unlink stat", "stat stands behind the step"),
            ("create unlink write close", "write stands behind the step"),
            ("mknod fdatasync", "fdatasync works on an open file"),
            ("rename stat", "stat stands behind the step"),
            ("rename rename", "rename stands behind the step"),
            ("link link", "a file gets more than one other name"),
            ("append unlink", "unlink takes or gives a name"),
            ("open unlock close", "unlock has nothing to work on"),
            ("open copy-range close", "copy-range has nothing to work on"),
            ("open msync close", "msync has nothing to work on"),
        ] {
            let misfit = check(&steps(names)).unwrap_err();
            assert!(misfit.what.starts_with(what) && !misfit.remedy.is_empty(), "{names}: {misfit:?}");
        }
        assert!(keeps_file_open(&steps("append fsync")) && !keeps_file_open(&steps("open append close")));
    }

    #[test]
    fn the_first_step_says_what_the_file_is() {
        for (names, subject) in [
            ("create close", Subject::NewFile),
            ("mknod", Subject::NewFile),
            ("mkdir", Subject::NewDirectory),
            ("symlink", Subject::NewSymlink),
            ("stat", Subject::File),
            ("readdir stat", Subject::File),
            ("rmdir", Subject::Directory),
            ("readlink", Subject::Symlink),
            ("readdir fsync-dir", Subject::TreeDirectory),
        ] {
            assert_eq!(Subject::from_steps(&steps(names)), subject, "{names}");
        }
    }
}
