//! What the generator itself costs and suffers, and the resources that are left: processor time, time spent waiting for
//! a processor, memory, free space.

use std::fs;

/// How often the calling thread gave up its processor voluntarily, as it does when it blocks in a system call; being
/// preempted or throttled does not count. Source: getrusage(2), RUSAGE_THREAD, `ru_nvcsw`.
pub(crate) fn voluntary_switches() -> u64 {
    read_rusage(libc::RUSAGE_THREAD).ru_nvcsw as u64
}

/// Processor time of all threads of this process so far, user and system, in nanoseconds.
pub fn cpu_ns() -> u64 {
    let usage = read_rusage(libc::RUSAGE_SELF);
    as_ns(usage.ru_utime) + as_ns(usage.ru_stime)
}

fn read_rusage(who: libc::c_int) -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the structure it is given; on failure it stays zeroed, which is a valid value.
    unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    }
}

/// Time during which the living threads of this process were runnable but not running, in nanoseconds (second field of
/// `/proc/self/task/*/schedstat`); 0 where the kernel does not report it.
pub fn run_queue_ns() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let waited = tasks.filter_map(|task| {
        fs::read_to_string(task.path().join("schedstat")).ok()?.split(' ').nth(1)?.parse::<u64>().ok()
    });
    waited.sum::<u64>()
}

/// Time stolen by the hypervisor from all processors, in nanoseconds (eighth figure of the first line of `/proc/stat`, in
/// ticks of 10 ms).
pub fn steal_ns() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = stat.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse::<u64>().ok());
    ticks.unwrap_or(0) * 10_000_000
}

/// Resident memory of this process in bytes (second field of `/proc/self/statm`, in pages).
pub fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// The largest size in bytes that this process may give a file (RLIMIT_FSIZE); `None` where there is no limit.
pub fn largest_file() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

/// Raises the soft limit of open files (RLIMIT_NOFILE) to the hard limit and returns it; `u64::MAX` where there is no
/// limit.
pub fn raise_descriptor_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let Rlimit { current, maximum } = limit;
    if current == maximum || setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok() {
        maximum.unwrap_or(u64::MAX)
    } else {
        current.unwrap_or(u64::MAX)
    }
}

/// Gives the calling thread real-time priority (SCHED_FIFO), so that no thread of normal priority delays an operation
/// that is due. Returns the error code when that is not permitted.
pub fn real_time(priority: i32) -> Result<(), assay_base::Code> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads the structure and changes only the calling thread's scheduling.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
    let errno = || std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    if result == 0 { Ok(()) } else { Err(assay_base::Code(errno())) }
}

/// Bytes a user may still write in the file system that holds `dir` (statvfs(3), `f_bavail`).
pub fn free_bytes(dir: &std::path::Path) -> std::io::Result<u64> {
    let fs = rustix::fs::statvfs(dir)?;
    Ok(fs.f_bavail.saturating_mul(fs.f_frsize))
}

fn as_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocking_counts_as_a_switch_and_work_as_time() {
        let before = (voluntary_switches(), cpu_ns());
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || drop(sender));
        // Blocks until the other thread drops its end, unless that happened before; so it is repeated until it blocks.
        let _ = receiver.recv();
        thread.join().unwrap();
        for _ in 0..1000 {
            let _ = rustix::thread::nanosleep(&rustix::thread::Timespec { tv_sec: 0, tv_nsec: 1 });
        }
        assert!(voluntary_switches() > before.0);
        let mut sum = 0u64;
        while cpu_ns() == before.1 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(resident_bytes() > 0);
    }
}
