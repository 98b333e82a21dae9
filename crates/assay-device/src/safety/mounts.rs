//! Mount tables (proc(5), `mountinfo`): what is mounted where, from which device, with which options.

use super::roots::{DevNum, cannot_read};
use std::path::{Path, PathBuf};

/// One line of a mount table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mount {
    /// The number of the mount, which no other mount has at the same time.
    pub number: u64,
    /// Device number; major 0 when the file system has no single device.
    pub device: DevNum,
    /// The directory on which it is mounted.
    pub point: PathBuf,
    /// File system type.
    pub kind: String,
    /// The source as printed.
    pub source: String,
    /// Options of the mount, separated by commas: the same file system may be mounted elsewhere with others.
    pub mount_options: String,
    /// Options of the file system itself, separated by commas.
    pub options: String,
}

/// Reads a mount table.
///
/// # Errors
/// It cannot be read, or has a line that is no mount: nobody knows what such a line hides.
pub(crate) fn list_mounts(path: &Path) -> std::io::Result<Vec<Mount>> {
    let bytes = std::fs::read(path)?;
    let table = String::from_utf8_lossy(&bytes);
    let parsed = table.lines().map(|line| parse_mount(line).ok_or(line));
    parsed.collect::<Result<_, _>>().map_err(|line| std::io::Error::other(format!("\"{line}\" in it is no mount")))
}

/// The same, with the error in words.
///
/// # Errors
/// See [`list_mounts`].
pub(super) fn read_mounts(path: &Path) -> Result<Vec<Mount>, String> {
    list_mounts(path).map_err(|e| cannot_read(path, &e))
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let mut right = right.split(' ');
    Some(Mount {
        number: left.first()?.parse().ok()?,
        device: DevNum::parse_numbers(left.get(2)?)?,
        point: unescape_octal(left.get(4)?).into(),
        mount_options: left.get(5).copied().unwrap_or_default().to_owned(),
        kind: right.next()?.to_owned(),
        source: unescape_octal(right.next()?),
        options: right.next().unwrap_or_default().to_owned(),
    })
}

/// Undoes the kernel's octal escapes (`\040` for a blank).
pub(crate) fn unescape_octal(text: &str) -> String {
    String::from_utf8_lossy(&assay_base::text::unescape_octal_bytes(text.as_bytes())).into_owned()
}

/// The mount whose mount point is the longest prefix of `path`; of several at one point the last one, which covers the others.
pub(crate) fn mount_of<'a>(table: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let covering = table.iter().filter(|m| path.starts_with(&m.point));
    covering.max_by_key(|m| m.point.components().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_lines_read_back() {
        let line = r"36 35 98:0 /sub /mnt\040two rw,noatime shared:1 - ext4 /dev/sdb1 rw,errors=continue";
        let mount = parse_mount(line).unwrap();
        assert_eq!(mount.device, DevNum { major: 98, minor: 0 });
        assert_eq!(mount.point, Path::new("/mnt two"));
        assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("ext4", "/dev/sdb1"));
        assert_eq!((mount.number, mount.mount_options.as_str()), (36, "rw,noatime"));
        assert_eq!(mount.options, "rw,errors=continue");
        // A source may be empty.
        let nameless = parse_mount("36 35 0:40 / /mnt rw - tmpfs  rw").unwrap();
        assert_eq!((nameless.kind.as_str(), nameless.source.as_str(), nameless.options.as_str()), ("tmpfs", "", "rw"));
        for bad in ["", "36 35", "36 35 x:0 / /mnt rw - ext4 a", "36 35 1:0 / /mnt rw ext4 a"] {
            assert_eq!(parse_mount(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_table_with_a_line_that_is_no_mount_is_not_read() {
        let table = tempfile::NamedTempFile::new().unwrap();
        for (text, mounts_in_it) in [
            ("", Some(0)),
            ("1 0 0:5 / / rw - tmpfs none rw\n9 1 8:1 / /home rw - ext4 /dev/sda1 rw\n", Some(2)),
            ("1 0 0:5 / / rw - tmpfs none rw\n9 1 8:1 / /home rw\n", None),
        ] {
            std::fs::write(table.path(), text).unwrap();
            assert_eq!(list_mounts(table.path()).ok().map(|table| table.len()), mounts_in_it, "{text}");
        }
        assert!(read_mounts(Path::new("/no/such/table")).unwrap_err().contains("cannot read /no/such/table"));
    }

    #[test]
    fn the_longest_mount_point_covers_a_path_and_the_last_mount_covers_the_others() {
        let mount = |point: &str, source: &str| Mount {
            number: 1,
            mount_options: String::new(),
            device: DevNum { major: 1, minor: 1 },
            point: point.into(),
            kind: String::new(),
            source: source.to_owned(),
            options: String::new(),
        };
        let table =
            [mount("/", "a"), mount("/var", "b"), mount("/var/log", "c"), mount("/va", "d"), mount("/var", "e")];
        for (path, source) in [("/var/log/x", "c"), ("/var/lib", "e"), ("/vast", "a"), ("/", "a")] {
            assert_eq!(mount_of(&table, Path::new(path)).unwrap().source, source, "{path}");
        }
    }
}
