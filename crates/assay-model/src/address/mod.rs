//! Where operations go: byte offsets on one target, aligned, never beyond its end.

mod sequential;
mod uniform;

pub use sequential::Sequential;
pub use uniform::Uniform;

use assay_base::Prng;

/// The offsets of one flow.
#[derive(Clone, Debug)]
pub enum Offsets {
    /// Every position as likely as any other.
    Uniform(Uniform),
    /// One behind the other, and from the start again at the end.
    Sequential(Sequential),
}

impl Offsets {
    /// The offset of an operation of `len` bytes.
    #[inline]
    pub fn next(&mut self, len: u32, prng: &mut Prng) -> u64 {
        match self {
            Offsets::Uniform(uniform) => uniform.next(len, prng),
            Offsets::Sequential(sequential) => sequential.next(len),
        }
    }
}
