//! The `[[file]]` tables of `model = "service"`.

use super::service_step::{StepKeys, read_steps};
use super::source::Source;
use crate::files::LARGEST_FILE;
use crate::files::service::{FileAccess, MadeBy, ServiceFile, StepCall, WhenFull, WhichFile};
use assay_base::{Bytes, Fault};
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

/// Bytes of one write of zeros, unless the file says otherwise.
const PIECE: Bytes = Bytes::from_kib(1024);
/// Most files of one kind.
const MOST_FILES: u32 = 1024;
/// The largest block: a group is not rounded up to more.
const LARGEST_BLOCK: Bytes = Bytes::from_kib(1024);

/// The keys of one table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileKeys {
    name: Spanned<String>,
    number: Option<Spanned<u32>>,
    size: Spanned<Bytes>,
    made_by: Option<MadeBy>,
    piece: Option<Spanned<Bytes>>,
    block: Option<Spanned<Bytes>>,
    access: Option<Spanned<FileAccess>>,
    begins_with: Option<Spanned<Bytes>>,
    when_full: Option<WhenFull>,
    ready: Option<Spanned<u32>>,
    keep: Option<Spanned<u32>>,
    #[serde(default)]
    make: Vec<Spanned<StepKeys>>,
    #[serde(default)]
    next: Vec<Spanned<StepKeys>>,
}

impl FileKeys {
    pub(super) fn name(&self) -> &Spanned<String> {
        &self.name
    }

    pub(super) fn meant_file(
        &self,
        source: Source<'_>,
        span: Range<usize>,
        names: &[String],
    ) -> Result<ServiceFile, Fault> {
        let sizes = Bytes::new(1)..=Bytes::new(LARGEST_FILE);
        let size = source.value_within(Some(&self.size), sizes.clone(), "a size of a file")?.unwrap_or_default();
        let number = source.value_within(self.number.as_ref(), 1..=MOST_FILES, "a number of files")?;
        let piece = source.value_within(self.piece.as_ref(), Bytes::new(1)..=LARGEST_BLOCK, "a size of a write")?;
        let block = source.value_within(self.block.as_ref(), Bytes::new(512)..=LARGEST_BLOCK, "a size of a block")?;
        let most = Bytes::new(0)..=size;
        let begins_with = source.value_within(self.begins_with.as_ref(), most, "a part of the file")?;
        let ready = source.value_within(self.ready.as_ref(), 0..=MOST_FILES, "a number of files")?;
        let keep = source.value_within(self.keep.as_ref(), 0..=MOST_FILES, "a number of files")?;
        let made_by = self.made_by.unwrap_or(MadeBy::Nothing);
        if let Some(wrong) = self.block.as_ref().filter(|block| !size.get().is_multiple_of(block.get_ref().get())) {
            let what = format!("a file of {size} has no whole number of blocks of {}", wrong.get_ref());
            return source.refuse_span(wrong.span(), what, "write a size that is a multiple of the block");
        }
        let access = self.access.as_ref().map(|access| *access.get_ref()).unwrap_or_default();
        if let Some(direct) = self.access.as_ref().filter(|_| access.is_direct() && block.is_none()) {
            let what = "O_DIRECT needs whole blocks, and nothing says how large they are";
            return source.refuse_span(direct.span(), what, "write block = \"512B\", or as large as the server's");
        }
        let mut make = read_steps(source, &self.make, names)?;
        let next = read_steps(source, &self.next, names)?;
        if !make.is_empty() && !make.iter().any(|step| step.call == StepCall::Make) {
            let what = "no step of make makes the file";
            return source.refuse_span(span, what, format!("write {{ make = \"{}\" }} first", self.name.get_ref()));
        }
        make.iter_mut().filter(|step| step.call == StepCall::Make).for_each(|step| step.of = WhichFile::New);
        Ok(ServiceFile {
            name: self.name.get_ref().clone(),
            number: number.unwrap_or(1),
            size,
            made_by,
            piece: piece.unwrap_or(PIECE),
            block,
            access,
            begins_with: begins_with.unwrap_or_default(),
            when_full: self.when_full.unwrap_or_default(),
            ready: ready.unwrap_or(0),
            keep: keep.unwrap_or(0),
            make,
            next,
        })
    }
}
