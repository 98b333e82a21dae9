//! The identity of a block device: model, serial, WWID, what it is built on, and the token computed from these.
//!
//! All of it comes from sysfs; what the kernel does not report is absent. For a partition, model and serial are those
//! of its disk. A virtual device, or one without WWID and serial, is identified by its disk sequence number and the
//! boot it belongs to, so that a token is useless on another host or after a restart.

use super::roots::{DevNum, Roots, name_of, names_if_any, read_attribute, read_number};
use std::path::{Path, PathBuf};

/// The properties that sysfs reports about a block device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Device number.
    pub number: DevNum,
    /// The kernel's name: `nvme0n1`, `sda3`.
    pub name: String,
    /// The disk's name; the same for a whole disk.
    pub disk: String,
    /// The sysfs directory of the disk.
    pub disk_dir: PathBuf,
    /// Partition number and first sector, for a partition.
    pub partition: Option<(u64, u64)>,
    /// Partition UUID, where the kernel reports it.
    pub partition_uuid: Option<String>,
    /// Bytes according to sysfs.
    pub size: Option<u64>,
    /// Model, with the vendor where it has one.
    pub model: Option<String>,
    /// Serial number. NVMe namespaces of one controller share it.
    pub serial: Option<String>,
    /// World-wide identifier of this device: wwid, nguid, eui or uuid, whichever the kernel has.
    pub wwid: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Disk sequence number.
    pub diskseq: Option<u64>,
}

/// Firmware reports all zeros (and dashes) when it has no value.
fn meaningful_text(text: String) -> Option<String> {
    let blank = text.chars().all(|c| matches!(c, '0' | '-' | '.' | ' '));
    (!blank).then_some(text)
}

fn first_of(dir: &Path, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| read_attribute(&dir.join(name)).and_then(meaningful_text))
}

/// SCSI page 0x80: a 4-byte header, then the serial number.
fn scsi_serial(disk: &Path) -> Option<String> {
    let page = std::fs::read(disk.join("device/vpd_pg80")).ok()?;
    let text =
        String::from_utf8_lossy(page.get(4..)?).trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned();
    meaningful_text(text).filter(|t| !t.is_empty())
}

fn disk_model(disk: &Path) -> Option<String> {
    let model = first_of(disk, &["device/model", "device/name"])?;
    match read_attribute(&disk.join("device/vendor")).filter(|v| !v.starts_with("0x")) {
        Some(vendor) => Some(format!("{vendor} {model}")),
        None => Some(model),
    }
}

fn from_uevent(dir: &Path, key: &str) -> Option<String> {
    read_attribute(&dir.join("uevent"))?
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('=').map(str::to_owned))
}

impl Identity {
    /// Reads the identity of a device. `None` when sysfs does not know it.
    pub fn read_identity(roots: &Roots, device: DevNum) -> Option<Identity> {
        let dir = roots.device_dir(device)?;
        let partition = read_number(&dir.join("partition")).map(|n| (n, read_number(&dir.join("start")).unwrap_or(0)));
        let disk = if partition.is_some() { dir.parent()?.to_path_buf() } else { dir.clone() };
        let sectors = read_number(&dir.join("size"));
        Some(Identity {
            number: device,
            name: name_of(&dir),
            disk: name_of(&disk),
            partition,
            partition_uuid: from_uevent(&dir, "PARTUUID"),
            size: sectors.map(|s| s.saturating_mul(512)),
            model: disk_model(&disk),
            serial: first_of(&disk, &["serial", "device/serial", "device/cid"]).or_else(|| scsi_serial(&disk)),
            wwid: first_of(&disk, &["wwid", "nguid", "eui", "uuid", "device/wwid", "dm/uuid", "md/uuid"]),
            firmware: first_of(&disk, &["device/firmware_rev", "device/rev", "device/fwrev"]),
            diskseq: read_number(&disk.join("diskseq")),
            disk_dir: disk,
        })
    }

    /// What two paths to the same medium have in common: the WWID; without one, model, serial and size together. NVMe
    /// serials belong to the controller, so they count only together with the namespace number.
    pub fn medium_key(&self) -> Option<String> {
        if let Some(wwid) = &self.wwid {
            return Some(format!("WWID {wwid}"));
        }
        let serial = self.serial.as_ref()?;
        let namespace =
            read_attribute(&self.disk_dir.join("nsid")).map(|n| format!(" namespace {n}")).unwrap_or_default();
        let sectors = read_number(&self.disk_dir.join("size"))?;
        let model = self.model.as_deref().unwrap_or("");
        Some(format!("model \"{model}\" serial {serial}{namespace} of {sectors} sectors"))
    }
}

/// Names under `/dev/disk/by-*` that lead to the node `name`.
pub(super) fn alias_names(roots: &Roots, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for group in ["by-id", "by-path", "by-partuuid"] {
        let dir = roots.dev.join("disk").join(group);
        // Names for people; nothing depends on them.
        for alias in names_if_any(&dir).unwrap_or_default() {
            let leads_here = std::fs::read_link(dir.join(&alias)).is_ok_and(|to| name_of(&to) == name);
            if leads_here {
                found.push(format!("/dev/disk/{group}/{alias}"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The disk 8:0, `sda`, with these attributes below its directory.
    fn machine(attributes: &[(&str, &[u8])]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("sys/dev/block")).unwrap();
        std::fs::create_dir_all(at("disk/sda/device")).unwrap();
        std::os::unix::fs::symlink(at("disk/sda"), at("sys/dev/block/8:0")).unwrap();
        for (name, bytes) in attributes {
            std::fs::write(at("disk/sda").join(name), bytes).unwrap();
        }
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        (dir, roots)
    }

    fn read(attributes: &[(&str, &[u8])]) -> Identity {
        let (_dir, roots) = machine(attributes);
        Identity::read_identity(&roots, DevNum { major: 8, minor: 0 }).unwrap()
    }

    #[test]
    fn a_scsi_disk_has_its_serial_number_in_a_page() {
        for (page, expected) in [
            (&b"\0\x80\0\x08 WD-1234"[..], Some("WD-1234")),
            (b"\0\x80\0\x0b\0  S 7 X \n\0\0", Some("S 7 X")),
            (b"\0\x80\0\x04    ", None),
            (b"\0\x80\0\x04\0\0\0\0", None),
            (b"\0\x80\0\x040000", None),
            (b"\0\x80\0\0", None),
            (b"\0\x80", None),
        ] {
            assert_eq!(read(&[("device/vpd_pg80", page)]).serial.as_deref(), expected, "{page:?}");
        }
        let both = read(&[("device/vpd_pg80", b"\0\x80\0\x01A"), ("serial", b"B")]);
        assert_eq!(both.serial.as_deref(), Some("B"), "what the kernel reads itself comes first");
    }

    #[test]
    fn the_vendor_belongs_to_the_model_unless_it_is_a_number() {
        for (vendor, model, expected) in [
            (Some("ATA"), Some("Disk 5"), Some("ATA Disk 5")),
            (Some("0x1af4"), Some("Disk 5"), Some("Disk 5")),
            (None, Some("Disk 5"), Some("Disk 5")),
            (Some("ATA"), None, None),
        ] {
            let of = |name, text: Option<&'static str>| text.map(|text| (name, text.as_bytes()));
            let found: Vec<_> =
                [of("device/vendor", vendor), of("device/model", model)].into_iter().flatten().collect();
            assert_eq!(read(&found).model.as_deref(), expected);
        }
    }

    #[test]
    fn the_uuid_of_a_partition_is_a_line_of_its_own() {
        for (uevent, expected) in [
            ("MAJOR=8\nPARTUUID=1234-ab\nPARTN=1\n", Some("1234-ab")),
            ("PARTUUID=\n", Some("")),
            ("PARTUUIDS=1\nXPARTUUID=2\nPARTUUID 3\n", None),
            ("", None),
        ] {
            let found = read(&[("uevent", uevent.as_bytes())]);
            assert_eq!(found.partition_uuid.as_deref(), expected, "{uevent}");
        }
        assert_eq!(read(&[]).partition_uuid, None);
    }

    #[test]
    fn only_links_that_lead_to_the_device_are_its_names() {
        let (dir, roots) = machine(&[]);
        for (group, alias, to) in [
            ("by-id", "wwn-1", "../../sda"),
            ("by-id", "wwn-1-part1", "../../sda1"),
            ("by-path", "pci-0", "../../sda"),
            ("by-path", "pci-1", "../../sdb"),
            ("by-uuid", "1234", "../../sda"),
        ] {
            let group = dir.path().join("dev/disk").join(group);
            std::fs::create_dir_all(&group).unwrap();
            std::os::unix::fs::symlink(to, group.join(alias)).unwrap();
        }
        assert_eq!(alias_names(&roots, "sda"), ["/dev/disk/by-id/wwn-1", "/dev/disk/by-path/pci-0"]);
    }
}
