//! `assay import KIND`: makes a workload of what another tool wrote, or of what production did.

mod behind;
mod collected;
mod iometer;
mod published;
mod tree;

use assay_formats::collect::assemble::Kind;
use assay_formats::public_traces::PublicTrace;
use assay_run::failure::Failure;

/// `assay import`
#[derive(clap::Args, Debug)]
pub(crate) struct Import {
    /// Kind of the files
    #[command(subcommand)]
    pub kind: ImportSource,
}

/// What is imported.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum ImportSource {
    /// Aerospike namespaces, from its logs, its tables and asinfo; iostat is used to check the load
    Aerospike(collected::Collected),
    /// Any application, from iostat; traces may be given as well
    Iostat(collected::Collected),
    /// Any application, from the text output of blkparse
    Blktrace(collected::Collected),
    /// Any application, from biosnoop (bcc) or iosnoop (perf-tools)
    Biosnoop(collected::Collected),
    /// Any application, from an iolog of fio
    FioIolog(collected::Collected),
    /// Any application, from a trace of Microsoft Research Cambridge
    Msr(published::Published),
    /// Any application, from one of Alibaba's block traces
    Alibaba(published::Published),
    /// Any application, from a trace of Tencent's CBS
    Tencent(published::Published),
    /// Any application, from an SPC trace of the UMass repository
    Spc(published::Published),
    /// The objects of a cache, from a binary trace of libCacheSim (oracleGeneral)
    OracleGeneral(published::Published),
    /// A configuration of IOmeter (.icf): its workers and access specifications
    Iometer(iometer::Iometer),
    /// What a target sees of a workload behind a cache of some size. No I/O
    Behind(behind::Behind),
    /// A directory: the like of its files, for loads on file systems. No name, no path and no content is written
    Tree(tree::Tree),
}

/// Reads the files and prints the workload.
pub(crate) fn import_files(args: &Import) -> Result<u8, Failure> {
    match &args.kind {
        ImportSource::Aerospike(args) => collected::import_collected("aerospike", Kind::Aerospike, args),
        ImportSource::Iostat(args) => collected::import_collected("iostat", Kind::Application, args),
        ImportSource::Blktrace(args) => collected::import_collected("blktrace", Kind::Application, args),
        ImportSource::Biosnoop(args) => collected::import_collected("biosnoop", Kind::Application, args),
        ImportSource::FioIolog(args) => collected::import_collected("fio-iolog", Kind::Application, args),
        ImportSource::Msr(args) => published::import_published(PublicTrace::Msr, args),
        ImportSource::Alibaba(args) => published::import_published(PublicTrace::Alibaba, args),
        ImportSource::Tencent(args) => published::import_published(PublicTrace::Tencent, args),
        ImportSource::Spc(args) => published::import_published(PublicTrace::Spc, args),
        ImportSource::OracleGeneral(args) => published::import_published(PublicTrace::OracleGeneral, args),
        ImportSource::Iometer(args) => iometer::import_iometer(args),
        ImportSource::Behind(args) => behind::import_behind_cache(args),
        ImportSource::Tree(args) => tree::import_tree(args),
    }
}
