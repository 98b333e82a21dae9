//! Files to which nobody has written, and the label that makes a file one of the program's own.

use super::content::Aligned;
use super::kernel;
use super::label::{self, LABEL_LEN};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// Whether nothing was ever written to a file; an error says that something was, and where.
pub(super) fn is_blank(file: &File, size: u64) -> Result<(), String> {
    let all = file.metadata().map_err(|e| e.to_string())?.len();
    if all != size || size <= LABEL_LEN {
        return Err(format!(
            "not a file of this program, and its {all} bytes are not whole blocks with space for a label"
        ));
    }
    match kernel::first_data(file.as_fd()) {
        Ok(None) => Ok(()),
        Ok(Some(at)) => Err(format!(
            "not a file of this program, and it holds data at byte {at}: it does not end with the label that this program writes at the end of \
             its scratch files"
        )),
        Err(e) => Err(format!("not a file of this program, and whether it holds data cannot be told: {e}")),
    }
}

/// Whether nothing was ever written to the first `usable` bytes of a file: their space is at most reserved. `false` also where that
/// cannot be found out. Data in the page cache does not count: it is there as soon as somebody has read.
pub fn holds_nothing(file: &File, usable: u64) -> bool {
    match kernel::first_data(file.as_fd()) {
        Ok(None) => usable > 0,
        Ok(Some(at)) => at >= usable,
        Err(_) => false,
    }
}

/// Makes a blank file of `size` bytes one of the program's own, unless somebody has written to it meanwhile.
pub(super) fn take_over(file: &File, size: u64) -> Result<(), String> {
    is_blank(file, size)?;
    let labelled = write_label(file, size).and_then(|()| file.sync_all());
    labelled.map_err(|e| format!("its label could not be written: {e}"))
}

/// Writes the label at the end of a file, which is `whole` bytes long then.
pub(super) fn write_label(file: &File, whole: u64) -> io::Result<()> {
    let mut block = Aligned::new(LABEL_LEN as usize);
    block.as_bytes().copy_from_slice(&label::label_bytes(whole));
    // Some user-space file systems do not write beyond the end of a file.
    file.set_len(whole)?;
    file.write_all_at(block.as_bytes(), whole - LABEL_LEN)
}
