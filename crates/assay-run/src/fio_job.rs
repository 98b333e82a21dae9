//! Recognises fio job files that are given as workloads, and says what to write instead.

/// Whether a text is a fio job file: sections in single brackets, and fio's keys.
pub(crate) fn is_one(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let section = |line: &str| line.starts_with('[') && !line.starts_with("[[") && line.ends_with(']');
    let Some(first) = lines.next().filter(|line| section(line)) else { return false };
    let keys = ["rw", "readwrite", "bs", "blocksize", "ioengine", "iodepth", "filename", "directory", "size", "direct"];
    let is_key = |line: &str| {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        keys.contains(&key.trim()) && !value.trim().starts_with(['"', '{'])
    };
    first == "[global]" || lines.filter(|line| is_key(line)).count() > 0
}

/// What to do with a fio job file.
pub(crate) const ADVICE: &str = "this is a job file of fio, which assay does not run: write its jobs as streams, one [[stream]] for each\n  \
    = direction (rw=), size (bs=), address (random is \"uniform\"), and rate (rate_iops=) or in_flight (iodepth=);\n    \
    assay workloads random-read prints a workload to copy and change";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_files_are_told_from_workloads() {
        for job in [
            "[global]\nioengine=libaio\n[a]\nrw=randread\n",
            "; a job\n[a]\nbs=4k\nrw=read\n",
            "[a]\r\nfilename=/dev/sdb\r\n",
        ] {
            assert!(is_one(job), "{job}");
        }
        for other in [
            "model = \"streams\"\n[[stream]]\nsize = \"4KiB\"\n",
            "[stream]\nname = \"a\"\nsize = \"4KiB\"\n",
            "[[stream]]\nsize = \"4KiB\"\n",
            "device-names: /dev/sdb\n",
            "",
        ] {
            assert!(!is_one(other), "{other}");
        }
    }
}
