//! The engines of fio: how many operations each has in flight, and why some of them are not driven.

use super::class::Key;
use super::job::Job;
use super::text::Entry;
use assay_base::Fault;
use assay_base::fault::nearest_known_name;
use assay_model::workload::LARGEST_BOUND;

/// How a job reaches its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Engine {
    /// Upper bound on the operations of a copy in flight.
    pub depth: u32,
    /// Whether operations go to no device at all (`ioengine=null`).
    pub null: bool,
}

/// Engines whose callers wait for each operation.
const ONE_AT_A_TIME: [&str; 7] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];
/// Engines that have several operations in flight. fio takes every name that begins with `aio` or `linuxaio` for
/// `libaio`.
const SEVERAL: [&str; 6] = ["libaio", "io_uring", "posixaio", "windowsaio", "solarisaio", "null"];

/// An engine that is not driven.
struct Undriven {
    name: &'static str,
    /// What it does or needs: follows its name in a sentence.
    because: &'static str,
    remedy: &'static str,
}

const LIBRARY: &str = "needs a library of its own";
const OBJECTS: &str = "moves objects of a store and not blocks";
const NAMES: &str = "creates, looks up or removes files and moves no data";
const NETWORK: &str = "moves data over a network and not to storage";
const PERSISTENT: &str = "writes to persistent memory by the processor and not by I/O";
const PASSTHROUGH: &str = "sends commands of the device itself and not reads and writes of blocks";
const GPU: &str = "moves data to the memory of a GPU";
const IME: &str = "needs the library of a burst buffer (IME)";
const SPDK: &str = "drives devices without the kernel, by SPDK";
const MAP: &str = "map the volume and name its device";
const OTHER_TOOL: &str = "remove the job, or run it with fio beside";
const KERNEL_DEVICE: &str = "name the block device that the kernel has of it, and write libaio or io_uring";

#[rustfmt::skip]
const UNDRIVEN: [Undriven; 44] = [
    Undriven { name: "rbd", because: LIBRARY, remedy: MAP },
    Undriven { name: "libiscsi", because: LIBRARY, remedy: MAP },
    Undriven { name: "nbd", because: LIBRARY, remedy: MAP },
    Undriven { name: "libblkio", because: LIBRARY, remedy: KERNEL_DEVICE },
    Undriven { name: "xnvme", because: LIBRARY, remedy: KERNEL_DEVICE },
    Undriven { name: "gfapi", because: LIBRARY, remedy: "mount the volume and name a file there" },
    Undriven { name: "gfapi_async", because: LIBRARY, remedy: "mount the volume and name a file there" },
    Undriven { name: "nfs", because: LIBRARY, remedy: "mount the export and name a file there" },
    Undriven { name: "libhdfs", because: LIBRARY, remedy: "mount the file system and name a file there" },
    Undriven { name: "dfs", because: LIBRARY, remedy: "mount the file system and name a file there" },
    Undriven { name: "ime_psync", because: IME, remedy: "mount the file system and name a file there" },
    Undriven { name: "ime_psyncv", because: IME, remedy: "mount the file system and name a file there" },
    Undriven { name: "ime_aio", because: IME, remedy: "mount the file system and name a file there" },
    Undriven { name: "rados", because: OBJECTS, remedy: "test the devices below the store, or map an image of it" },
    Undriven { name: "http", because: OBJECTS, remedy: "test the devices below the store" },
    Undriven { name: "spdk", because: SPDK, remedy: KERNEL_DEVICE },
    Undriven { name: "spdk_bdev", because: SPDK, remedy: KERNEL_DEVICE },
    Undriven { name: "sg", because: PASSTHROUGH, remedy: KERNEL_DEVICE },
    Undriven { name: "io_uring_cmd", because: PASSTHROUGH, remedy: "write io_uring, and name the block device: /dev/nvme0n1 for /dev/ng0n1" },
    Undriven { name: "libzbc", because: "is for zoned block devices, which are not driven yet", remedy: KERNEL_DEVICE },
    Undriven { name: "mtd", because: "writes to flash memory without a block device", remedy: "name a block device" },
    Undriven { name: "libpmem", because: PERSISTENT, remedy: "name the block device of the memory, such as /dev/pmem0, and write libaio or io_uring" },
    Undriven { name: "pmemblk", because: PERSISTENT, remedy: "name the block device of the memory, such as /dev/pmem0, and write libaio or io_uring" },
    Undriven { name: "dev-dax", because: PERSISTENT, remedy: "name the block device of the memory, such as /dev/pmem0, and write libaio or io_uring" },
    Undriven { name: "librpma_apm_client", because: PERSISTENT, remedy: OTHER_TOOL },
    Undriven { name: "librpma_apm_server", because: PERSISTENT, remedy: OTHER_TOOL },
    Undriven { name: "librpma_gpspm_client", because: PERSISTENT, remedy: OTHER_TOOL },
    Undriven { name: "librpma_gpspm_server", because: PERSISTENT, remedy: OTHER_TOOL },
    Undriven { name: "libcufile", because: GPU, remedy: "write libaio or io_uring" },
    Undriven { name: "libhipfile", because: GPU, remedy: "write libaio or io_uring" },
    Undriven { name: "net", because: NETWORK, remedy: OTHER_TOOL },
    Undriven { name: "netsplice", because: NETWORK, remedy: OTHER_TOOL },
    Undriven { name: "rdma", because: NETWORK, remedy: OTHER_TOOL },
    Undriven { name: "cpuio", because: "burns time of processors and does no I/O", remedy: OTHER_TOOL },
    Undriven { name: "exec", because: "runs another program, and nothing else is started while measuring", remedy: "run it beside" },
    Undriven { name: "page_fault", because: "touches memory and does no I/O", remedy: OTHER_TOOL },
    Undriven { name: "falloc", because: "reserves and releases space of files and moves no data", remedy: OTHER_TOOL },
    Undriven { name: "ftruncate", because: "changes lengths of files and moves no data", remedy: OTHER_TOOL },
    Undriven { name: "e4defrag", because: "moves extents of files by the file system itself", remedy: OTHER_TOOL },
    Undriven { name: "filecreate", because: NAMES, remedy: OTHER_TOOL },
    Undriven { name: "filestat", because: NAMES, remedy: OTHER_TOOL },
    Undriven { name: "filedelete", because: NAMES, remedy: OTHER_TOOL },
    Undriven { name: "external", because: "is a library of its own, which is named behind the colon", remedy: "write libaio or io_uring" },
    Undriven { name: "cpp_null", because: "is a sample for engines in libraries of their own", remedy: "write null" },
];
/// Engines whose operations are those of the engine behind them, for directories.
const OF_DIRECTORIES: [(&str, &str); 3] =
    [("dircreate", "filecreate"), ("dirstat", "filestat"), ("dirdelete", "filedelete")];

fn find_undriven(name: &str) -> Option<&'static Undriven> {
    let alike =
        OF_DIRECTORIES.iter().find(|(of_directories, _)| *of_directories == name).map_or(name, |(_, engine)| *engine);
    UNDRIVEN.iter().find(|engine| engine.name == alike)
}

/// Refuses a job whose engine is not driven, or that has a key of such an engine: first of all, because what else stands
/// in such a job follows from its engine.
pub(super) fn refuse_undriven(job: &Job<'_>) -> Result<(), Fault> {
    if let Some((entry, value)) = job.value_of_key("ioengine")? {
        let (name, _) = value.text.split_once(':').unwrap_or((&value.text, ""));
        if let Some(engine) = find_undriven(name) {
            return Err(job.fault_at_entry(entry, format!("{name} {}", engine.because), engine.remedy));
        }
    }
    match job.effective_entries().into_iter().find(|entry| !entry.key.engines.is_empty()) {
        Some(entry) => Err(foreign_key_fault(job, entry)),
        None => Ok(()),
    }
}

/// The fault of a key that only engines know which are not driven, in a job that has none of them.
fn foreign_key_fault(job: &Job<'_>, entry: &Entry) -> Fault {
    let Key { name, engines, .. } = entry.key;
    let (of, because) = match engines {
        [engine] => (
            format!("fio's engine {engine}"),
            find_undriven(engine).map_or("is not driven here", |reason| reason.because),
        ),
        several => (format!("fio's engines {}", several.join(", ")), "are not driven here"),
    };
    let what = format!("{name} belongs to {of}, which {because}");
    let remedy = match job.find_entry("ioengine") {
        Some(_) => "remove this key, as the job names another engine".to_owned(),
        None => "remove this key, and write libaio or io_uring".to_owned(),
    };
    job.file.fault_at(entry.place, what, remedy)
}

/// Reads `ioengine` and `iodepth`.
pub(super) fn read_engine(job: &Job<'_>) -> Result<Engine, Fault> {
    let asked = job.number_within::<u32>("iodepth", 1, LARGEST_BOUND.into())?.unwrap_or(1);
    // The default of fio on Linux.
    let Some((entry, value)) = job.value_of_key("ioengine")? else {
        return Ok(waiting_engine(job, "psync, fio's own,", asked));
    };
    let name = value.text.as_str();
    let name = if name.starts_with("aio") || name.starts_with("linuxaio") { "libaio" } else { name };
    if ONE_AT_A_TIME.contains(&name) {
        job.note_difference(entry, "one operation of each copy in flight, by the engine that the log names");
        return Ok(waiting_engine(job, name, asked));
    }
    if SEVERAL.contains(&name) {
        if name != "null" {
            job.note_difference(entry, "carried by the engine that the log names");
        }
        return Ok(Engine { depth: asked, null: name == "null" });
    }
    let known: Vec<&str> = ONE_AT_A_TIME.into_iter().chain(SEVERAL).collect();
    let remedy = match nearest_known_name(name, &known) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("write one of {}", known.join(", ")),
    };
    Err(job.fault_at_entry(entry, format!("fio has no engine {}", name.escape_debug()), remedy))
}

fn waiting_engine(job: &Job<'_>, engine: &str, asked: u32) -> Engine {
    if asked > 1 {
        job.add_note(format!("{}: iodepth is {asked}, but {engine} waits for each operation: 1 in flight", job.name));
    }
    Engine { depth: 1, null: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::engine_keys::OF_ENGINES;

    #[test]
    fn every_engine_has_one_entry_and_every_key_an_engine() {
        for (at, engine) in UNDRIVEN.iter().enumerate() {
            assert!(UNDRIVEN[..at].iter().all(|before| before.name != engine.name), "{}", engine.name);
            assert!(!ONE_AT_A_TIME.contains(&engine.name) && !SEVERAL.contains(&engine.name), "{}", engine.name);
        }
        for key in OF_ENGINES {
            assert!(!key.engines.is_empty(), "{}", key.name);
            assert!(
                key.engines.iter().all(|engine| *engine == "netsplice" || find_undriven(engine).is_some()),
                "{key:?}"
            );
        }
        assert!(find_undriven("dirstat").is_some_and(|engine| engine.because == NAMES));
    }
}
