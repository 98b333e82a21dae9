//! What a disk reports about its own health. Only NVMe disks are asked: their page is standard and needs a single
//! ioctl. The values of other disks need tables of their makers; for them the answer is the word "absent", never an
//! empty success.

use crate::safety::{DevNum, Identity, Roots};
use rustix::fd::BorrowedFd;
use rustix::ioctl::{Opcode, Updater, ioctl};
use std::collections::BTreeMap;

/// NVME_IOCTL_ADMIN_CMD, include/uapi/linux/nvme_ioctl.h.
const ADMIN_COMMAND: Opcode = 0xc048_4e41;
/// Get Log Page, and the health page (NVM Express Base Specification 2.0, figures 21 and 202).
const GET_LOG_PAGE: u8 = 0x02;
const HEALTH_PAGE: u32 = 0x02;
const EVERY_NAMESPACE: u32 = u32::MAX;
/// Bytes of the page.
const PAGE: usize = 512;

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_len: u32,
    data_len: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// Asks the disk behind an open block device; `device` is its number.
pub fn disk_health(roots: &Roots, device: DevNum, fd: BorrowedFd<'_>) -> BTreeMap<String, String> {
    if !Identity::read_identity(roots, device).is_some_and(|identity| identity.disk.starts_with("nvme")) {
        return absent_because("only NVMe disks are asked");
    }
    let mut page = [0u8; PAGE];
    let mut command = Command {
        opcode: GET_LOG_PAGE,
        namespace: EVERY_NAMESPACE,
        address: page.as_mut_ptr() as u64,
        data_len: PAGE as u32,
        ..Command::default()
    };
    // Length in words of four bytes, minus one.
    command.words_10_15[0] = ((PAGE as u32 / 4 - 1) << 16) | HEALTH_PAGE;
    // SAFETY: the command is the kernel's structure, and the page that it refers to has the stated length and outlives
    // the call.
    match unsafe { ioctl(fd, Updater::<ADMIN_COMMAND, Command>::new(&mut command)) } {
        Ok(()) => parse_page(&page),
        Err(errno) => absent_because(&format!("it answered {errno}")),
    }
}

/// The figures of the page, by name (NVM Express Base Specification 2.0, figure 207).
fn parse_page(page: &[u8; PAGE]) -> BTreeMap<String, String> {
    let kelvin = u16::from_le_bytes([page[1], page[2]]);
    [
        ("critical warning", format!("{:#04x}", page[0])),
        ("temperature", format!("{} °C", i32::from(kelvin) - 273)),
        ("available spare", format!("{}%", page[3])),
        ("percentage used", format!("{}%", page[5])),
        ("data units written", u128_at(page, 48).to_string()),
        ("unsafe shutdowns", u128_at(page, 144).to_string()),
        ("media errors", u128_at(page, 160).to_string()),
        ("error log entries", u128_at(page, 176).to_string()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn absent_because(why: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("smart".to_owned(), format!("absent: {why}"))])
}

/// A number of sixteen bytes.
fn u128_at(page: &[u8; PAGE], at: usize) -> u128 {
    u128::from_le_bytes(page[at..at + 16].try_into().expect("sixteen bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_read_and_the_command_is_the_kernels() {
        assert_eq!(std::mem::size_of::<Command>(), 72);
        let mut page = [0u8; PAGE];
        page[0] = 4;
        page[1..3].copy_from_slice(&310u16.to_le_bytes());
        page[3] = 100;
        page[5] = 7;
        page[48..56].copy_from_slice(&123_456_789u64.to_le_bytes());
        page[160..176].copy_from_slice(&(1u128 << 100).to_le_bytes());
        let read = parse_page(&page);
        for (name, value) in [
            ("critical warning", "0x04"),
            ("temperature", "37 °C"),
            ("available spare", "100%"),
            ("percentage used", "7%"),
            ("data units written", "123456789"),
            ("media errors", "1267650600228229401496703205376"),
        ] {
            assert_eq!(read[name], value);
        }
    }

    #[test]
    fn what_is_no_nvme_disk_is_not_asked() {
        let file = tempfile::tempfile().unwrap();
        let nothing = DevNum { major: 0, minor: 0 };
        let health = disk_health(&Roots::of_machine(), nothing, std::os::fd::AsFd::as_fd(&file));
        assert_eq!(health["smart"], "absent: only NVMe disks are asked");
    }
}
