//! What may be written to, and how a person agrees to it. The program opens nothing for writing except through a
//! [`Permit`], and only the [`Gate`] creates one, after it has evaluated every rule.
//!
//! Rules (each fails closed, each names its evidence): S0 the name is resolved · S1 a block device or a regular file ·
//! S2 opened once and exclusively · S3 size, writable, blocks · S4 nothing in its family is in use · S5 not the
//! system's disk · S6 nobody else has it open · S7 no signature · S8 blank or ours · S9 one path only · S10 files are
//! our own · S11 what it is built on is known · S12 still the same · S13 one run at a time · S14 the workload fits ·
//! S15 readers only read · and consent by token. `O_EXCL` alone is not enough; as tests showed, it lets through the
//! lower loop device of a mounted loop device, the backing file of one, a device that another process has open, and
//! every unmounted file system.
//!
//! A block device needs consent, a scratch file of our own does not. Where the rules look (`/proc`, `/sys`, `/dev`) is
//! a parameter: [`Roots`].

mod blank;
mod block;
mod claim;
mod content;
mod examination;
mod family;
mod fingerprint;
mod gate;
mod generator;
mod identity;
mod in_use;
mod inquiry;
mod kernel;
pub mod label;
mod mounts;
mod openers;
mod overlap;
mod permit;
mod processes;
mod regular;
mod request;
mod roots;
mod rule;
pub mod scratch;
mod shape;
mod sharing;
mod signature;
mod standing;
mod subject;
mod table;
mod token;
mod usage;
mod watermark;
mod writers;

pub use blank::holds_nothing;
pub use claim::CLAIM_BYTES;
pub use examination::Examination;
pub use fingerprint::usable_bytes;
pub use gate::Gate;
pub use identity::Identity;
pub use openers::Inode;
pub use permit::{Permit, ReadPass};
pub use request::{Expect, Needs, Request};
pub use roots::{DevNum, Roots};
pub use rule::{Refusal, RuleAnswer, RuleId};
pub use shape::Shape;
pub use standing::{Marks, Standing, describe_difference, what_was_seen};
pub use subject::Kind;
pub use watermark::Watermark;
pub use writers::other_writers;

pub(crate) use family::{Loop, all_loops};
pub(crate) use mounts::{Mount, list_mounts, mount_of, unescape_octal};
pub(crate) use roots::{names_if_any, read_attribute, read_number};
pub(crate) use subject::kind_from_stat as kind_of;
pub(crate) use usage::disk_under;
