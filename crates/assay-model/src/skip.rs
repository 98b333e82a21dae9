//! Members of a plan that are left out where they would say nothing.

use assay_base::{Bytes, Share, Span};

/// True for no bytes.
pub(crate) fn is_zero_bytes(bytes: &Bytes) -> bool {
    bytes.get() == 0
}

/// True for no time.
pub(crate) fn is_zero_span(span: &Span) -> bool {
    span.is_zero()
}

/// True for no part of anything.
pub(crate) fn is_zero_share(share: &Share) -> bool {
    share.as_ppb() == 0
}

/// True for a single one.
pub(crate) fn is_one(number: &u32) -> bool {
    *number == 1
}
