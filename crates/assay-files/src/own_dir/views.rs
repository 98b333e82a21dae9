//! All paths under which a directory can be reached: a part of `/usr` that is mounted a second time (`mount --bind`) is
//! still a part of `/usr`. The kernel's list of mounts says of each mount which part of which file system it shows.

use std::path::{Path, PathBuf};

/// A line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
struct MountLine {
    number: u64,
    /// The file system, as the number of its device.
    device: String,
    /// Which directory of the file system is mounted.
    root: PathBuf,
    /// Where.
    point: PathBuf,
}

impl MountLine {
    fn parse(line: &str) -> Option<MountLine> {
        let mut words = line.split(' ');
        let number = words.next()?.parse().ok()?;
        let device = words.nth(1)?.to_owned();
        Some(MountLine { number, device, root: unescaped(words.next()?), point: unescaped(words.next()?) })
    }
}

/// A path of the list, in which blanks and some other characters stand as three octal digits.
fn unescaped(text: &str) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let digits = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => (rest, _) = (&after[3..], bytes.push(byte)),
            None => (rest, _) = (after, bytes.push(*first)),
        }
    }
    PathBuf::from(std::ffi::OsString::from(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Every path of the directory that has this path in the mount with this number (the last one that is mounted over the
/// path, where the number is not known).
pub(super) fn all_paths(list: &str, path: &Path, mount: Option<u64>) -> Vec<PathBuf> {
    let mounts: Vec<MountLine> = list.lines().filter_map(MountLine::parse).collect();
    let around = mounts.iter().filter(|line| path.starts_with(&line.point));
    let its = match mount {
        Some(number) => mounts.iter().find(|line| line.number == number),
        None => around.max_by_key(|line| line.point.components().count()),
    };
    let within = its.and_then(|its| Some((its, its.root.join(path.strip_prefix(&its.point).ok()?))));
    let mut paths = vec![path.to_path_buf()];
    if let Some((its, within)) = within {
        let same = mounts.iter().filter(|line| line.device == its.device);
        paths.extend(same.filter_map(|line| Some(line.point.join(within.strip_prefix(&line.root).ok()?))));
    }
    paths
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
            ("/data", Some(99), &["/data"]),
        ] {
            let found = all_paths(LIST, Path::new(path), mount);
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{path} {mount:?}");
        }
    }

    #[test]
    fn escapes_are_read_and_nothing_else_is_changed() {
        for (text, path) in [("/a\\040b\\134c", "/a b\\c"), ("/a\\9", "/a\\9"), ("/a\\", "/a\\"), ("/\\303\\244", "/ä")]
        {
            assert_eq!(unescaped(text), PathBuf::from(path));
        }
        assert_eq!(MountLine::parse("no mount"), None);
    }
}
