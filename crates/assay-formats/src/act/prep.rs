//! What `act_prep` prints, for a drop-in. All of it goes to stdout.
//!
//! It prints the device and its size, then cleans and salts, each with a row of dots. The dots come from the last of
//! eight threads, which has an eighth of the large blocks and the remainder: one dot per hundredth of its own work.

/// ACT works in large blocks of this many bytes.
const LARGE_BLOCK: u64 = 128 << 10;
/// The number of threads that share them.
const THREADS: u64 = 8;

/// The output for a wrong number of arguments (exit code 0).
pub const USAGE: &str = "usage: act_prep [device name]\n";

/// The first line.
pub fn size_line(device: &str, bytes: u64) -> String {
    format!("{device} size = {bytes} bytes, {} large blocks\n", bytes / LARGE_BLOCK)
}

/// The line before the dots of zeroing.
pub fn cleaning_line(device: &str) -> String {
    format!("cleaning device {device}\n")
}

/// The line before the dots of salting.
pub fn salting_line(device: &str) -> String {
    format!("salting device {device}\n")
}

/// The line for a device that cannot be opened (exit code 255).
pub fn open_failed(device: &str) -> String {
    format!("ERROR: opening device {device}\n")
}

/// The number of dots in a row for a device of this many bytes; a line end follows them.
pub fn dots_per_row(bytes: u64) -> u64 {
    let blocks = bytes / LARGE_BLOCK;
    let of_last_thread = blocks / THREADS + blocks % THREADS;
    of_last_thread.div_ceil((of_last_thread / 100).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_as_observed() {
        // 2 GiB gave 103 in a run of ACT 6.6; below 800 blocks there is one dot per block of the last thread.
        for (bytes, expected) in
            [(2 << 30, 103), (0, 0), (LARGE_BLOCK, 1), (800 * LARGE_BLOCK, 100), (1592 * LARGE_BLOCK, 199)]
        {
            assert_eq!(dots_per_row(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn lines() {
        assert_eq!(size_line("/dev/loop5", 268_455_936), "/dev/loop5 size = 268455936 bytes, 2048 large blocks\n");
        assert_eq!(
            cleaning_line("d") + &salting_line("d") + &open_failed("d"),
            "cleaning device d\nsalting device d\nERROR: opening device d\n"
        );
    }
}
