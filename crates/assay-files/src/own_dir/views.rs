//! All paths under which a directory can be reached: a part of `/usr` that is mounted a second time (`mount --bind`) is
//! still a part of `/usr`. The kernel's list of mounts says of each mount which part of which file system it shows.

use assay_base::text::unescape_octal_bytes;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
struct MountLine {
    number: u64,
    /// The file system, as the number of its device.
    device: Vec<u8>,
    /// Which directory of the file system is mounted.
    root: PathBuf,
    /// Where.
    point: PathBuf,
}

impl MountLine {
    fn parse(line: &[u8]) -> Option<MountLine> {
        let mut words = line.split(|byte| *byte == b' ');
        let number = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let device = words.nth(1)?.to_vec();
        Some(MountLine { number, device, root: unescaped_path(words.next()?), point: unescaped_path(words.next()?) })
    }
}

fn unescaped_path(text: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape_octal_bytes(text)))
}

/// Every path of the directory that has this path in the mount with this number (the last one that is mounted over the
/// path, where the kernel does not tell the number). `None` where the list does not have the mount, or has it elsewhere:
/// then nobody knows what else the directory is.
pub(super) fn all_paths(list: &[u8], path: &Path, mount: Option<u64>) -> Option<Vec<PathBuf>> {
    let mut mounts = Vec::new();
    for line in list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        mounts.push(MountLine::parse(line)?);
    }
    let around = mounts.iter().filter(|line| path.starts_with(&line.point));
    let its = match mount {
        Some(number) => mounts.iter().find(|line| line.number == number),
        None => around.max_by_key(|line| line.point.components().count()),
    }?;
    let within = its.root.join(path.strip_prefix(&its.point).ok()?);
    let mut paths = vec![path.to_path_buf()];
    for same in mounts.iter().filter(|line| line.device == its.device) {
        if let Ok(below) = within.strip_prefix(&same.root) {
            paths.push(same.point.join(below));
        }
    }
    Some(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 8:1 /usr/share /mnt/a\\040part rw - ext4 /dev/sda1 rw
24 22 0:5 / /dev rw - devtmpfs udev rw
25 22 0:31 /@home /home rw - btrfs /dev/sdb rw
26 22 8:17 / /data rw - xfs /dev/sdc1 rw
27 22 0:31 / /all rw - btrfs /dev/sdb rw
";

    #[test]
    fn each_mount_of_the_same_directory_is_found() {
        for (path, mount, expected) in [
            ("/mnt/a part/doc", Some(23), &["/mnt/a part/doc", "/usr/share/doc", "/mnt/a part/doc"][..]),
            ("/mnt/a part/doc", None, &["/mnt/a part/doc", "/usr/share/doc", "/mnt/a part/doc"]),
            ("/srv/x", Some(22), &["/srv/x", "/srv/x"]),
            ("/home/user", None, &["/home/user", "/home/user", "/all/@home/user"]),
            ("/data", None, &["/data", "/data"]),
        ] {
            let found = all_paths(LIST.as_bytes(), Path::new(path), mount).unwrap();
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{path} {mount:?}");
        }
    }

    #[test]
    fn of_a_mount_that_is_not_listed_nothing_is_guessed() {
        // Another mount namespace, a mount that was taken away lazily, and one whose path is not below its point.
        for (path, mount) in [("/data", Some(99)), ("(unreachable)/data", Some(26)), ("/srv/x", Some(26))] {
            assert_eq!(all_paths(LIST.as_bytes(), Path::new(path), mount), None, "{path}");
        }
        assert_eq!(all_paths(b"", Path::new("/data"), None), None);
        let with_other_line = [LIST.as_bytes(), b"no mount\n"].concat();
        assert_eq!(all_paths(&with_other_line, Path::new("/data"), Some(26)), None, "a line that is no mount");
    }

    #[test]
    fn a_path_that_is_not_utf_8_is_another_one_than_its_like() {
        let list = b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 8:17 / /mnt/\xff rw - xfs /dev/sdb1 rw\n24 22 8:17 / /mnt/a\\040\xfe rw - xfs /dev/sdb1 rw\n";
        let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
        let found = all_paths(list, &path(b"/mnt/\xff/x"), Some(23)).unwrap();
        assert_eq!(found, [path(b"/mnt/\xff/x"), path(b"/mnt/\xff/x"), path(b"/mnt/a \xfe/x")]);
        assert_eq!(all_paths(list, &path(b"/mnt/\xfd/x"), Some(23)), None);
    }
}
