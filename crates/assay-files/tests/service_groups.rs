//! Groups of commits in virtual time: how many there are in one follows from what waits, and how large its writes are
//! from that alone.

use crate::service_bed::{VirtualService, at_rate, read, shipped, with_small_databases};
use assay_base::{Bytes, Span};
use assay_files::service::FileCall;
use assay_model::files::Spacing;
use assay_model::files::service::ServiceCall;

/// A sync takes so long, and everything else a microsecond.
fn sync_takes(span: Span) -> impl Fn(&FileCall) -> Span {
    move |call: &FileCall| if call.call.is_sync() { span } else { Span::from_us(1) }
}

fn etcd(rate: u64) -> assay_model::files::FilesWorkload {
    at_rate(with_small_databases(shipped("etcd"), Bytes::from_kib(4096)), rate, Spacing::Poisson)
}

#[test]
fn a_group_has_the_bytes_of_its_commits_and_of_itself_in_parts() {
    let service = VirtualService::run(&etcd(20_000), Span::from_secs(2), sync_takes(Span::from_ms(20)));
    let sizes = service.sizes(ServiceCall::Write, "wal");
    let mut written = sizes.iter();
    let mut parts = 0;
    for group in &service.groups {
        let bytes = group.intended.len() as u64 * 1112 + 40;
        let mut left = bytes;
        while left > 0 {
            // Between two files there is one write of 96 bytes.
            let size = *written.next().unwrap();
            if size == 96 {
                continue;
            }
            assert_eq!(size, left.min(128 << 10));
            left -= size;
            parts += 1;
        }
    }
    assert!(parts > 3 * service.groups.len(), "400 commits take four parts: {parts}");
}

#[test]
fn groups_grow_with_the_time_of_a_sync() {
    for (rate, sync_ms, least, most) in
        [(100, 1, 1.0, 1.15), (500, 10, 4.5, 5.6), (500, 1, 1.0, 1.7), (2000, 10, 19.0, 21.0)]
    {
        let service = VirtualService::run(&etcd(rate), Span::from_secs(20), sync_takes(Span::from_ms(sync_ms)));
        let commits = service.commits_per_group();
        assert!(commits > least && commits < most, "{rate}/s, {sync_ms} ms: {commits} commits in a group");
        let whole: usize = service.groups.iter().map(|group| group.intended.len()).sum();
        assert!((whole as f64 / (20.0 * rate as f64) - 1.0).abs() < 0.05, "each commit is made durable once: {whole}");
    }
}

#[test]
fn a_commit_waits_for_the_sync_before_it_and_that_is_not_our_lag() {
    let service = VirtualService::run(&etcd(500), Span::from_secs(5), sync_takes(Span::from_ms(10)));
    for pair in service.groups.windows(2) {
        let [before, group] = pair else { unreachable!() };
        assert!(group.free >= before.completed.min(group.intended[0]), "{group:?}");
        assert_eq!(group.issued, group.free, "in virtual time nobody is late");
        assert!(group.own_within.is_zero());
        assert!(group.intended.iter().all(|intended| *intended <= group.issued));
    }
}

/// `most = 1` is a program that commits by itself, such as SQLite.
#[test]
fn a_writer_may_take_one_commit_at_a_time() {
    let text = "model = \"service\"\nrate = \"500/s\"\n[[file]]\nname = \"log\"\nsize = \"1GiB\"\n[writer]\nname = \"w\"\n\
        entry = \"100B\"\nmost = 1\nsteps = [{ write = \"log\" }, { fdatasync = \"log\" }]\n";
    let service = VirtualService::run(&read(text), Span::from_secs(4), sync_takes(Span::from_ms(1)));
    assert!(service.groups.len() > 1800 && service.groups.iter().all(|group| group.intended.len() == 1));
}

#[test]
fn whole_blocks_are_written_from_that_of_the_last_byte_on() {
    let text = "model = \"service\"\nrate = \"100/s\"\narrival = \"steady\"\n[[file]]\nname = \"log\"\nsize = \"16KiB\"\n\
        made_by = \"zeros\"\nblock = \"4KiB\"\nwhen_full = \"start\"\n[writer]\nname = \"w\"\nentry = \"3000B\"\n\
        steps = [{ write = \"log\" }, { fdatasync = \"log\" }]\n";
    let service = VirtualService::run(&read(text), Span::from_ms(75), sync_takes(Span::from_us(9)));
    let made = service.calls.iter().filter(|made| made.call.call == ServiceCall::Write);
    let shown: Vec<(u64, u64)> = made.map(|made| (made.call.offset, made.call.length)).collect();
    // 0..3000, 3000..6000, 6000..9000, 9000..12000, 12000..15000, and 15000..16384 with 0..1616 of the ring.
    let expected =
        [(0, 4096), (0, 8192), (4096, 8192), (8192, 4096), (8192, 8192), (12288, 4096), (0, 4096), (0, 8192)];
    assert_eq!(shown[..expected.len()], expected);
}

#[test]
fn a_timer_with_changes_rests_without_them_and_knows_how_many_there_were() {
    let text = |changes: &str| {
        format!(
            "model = \"service\"\nrate = \"1/s\"\narrival = \"steady\"\n[[file]]\nname = \"log\"\nsize = \"1MiB\"\n\
             [[file]]\nname = \"db\"\nsize = \"1MiB\"\nmade_by = \"written\"\nblock = \"4KiB\"\n[writer]\nname = \"w\"\n\
             entry = \"100B\"\nsteps = [{{ write = \"log\" }}]\n[[task]]\nname = \"t\"\neach = \"100ms\"\n{changes}\n\
             steps = [{{ write = \"db\", page = \"4KiB\", pages = 1, pages_per_commit = 2.5, at = \"random\" }}]\n"
        )
    };
    let pages = |changes| {
        let service = VirtualService::run(&read(&text(changes)), Span::from_secs(10), sync_takes(Span::from_us(1)));
        (service.groups.len(), service.sizes(ServiceCall::Write, "db").len())
    };
    // One commit a second, from the beginning on, lets one timer in ten write 3.5 pages.
    let (commits, with_changes) = pages("with_changes = true");
    assert_eq!((commits, with_changes), (10, 35));
    let (_, always) = pages("");
    assert!((99 + 25..=100 + 25).contains(&always), "{always}");
}

#[test]
fn tasks_begin_after_commits_bytes_and_full_files() {
    let text = "model = \"service\"\nrate = \"1000/s\"\n[[file]]\nname = \"log\"\nsize = \"100000B\"\nmade_by = \"fallocate\"\n\
        ready = 1\n[[file]]\nname = \"snap\"\nsize = \"1MiB\"\n[writer]\nname = \"w\"\nentry = \"1000B\"\n\
        steps = [{ write = \"log\" }, { fdatasync = \"log\" }]\n\
        [[task]]\nname = \"snapshot\"\nafter_commits = 500\nsteps = [{ create = \"snap\" }, { unlink = \"snap\" }]\n\
        [[task]]\nname = \"bytes\"\nthread = \"w\"\nafter_bytes = \"200kB\"\nsteps = [{ fsync = \"log\" }]\n\
        [[task]]\nname = \"prepare\"\nafter_full = \"log\"\nsteps = [{ make = \"log\" }]\n";
    let service = VirtualService::run(&read(text), Span::from_secs(10), sync_takes(Span::from_us(100)));
    let commits: usize = service.groups.iter().map(|group| group.intended.len()).sum();
    let count = |call| service.calls.iter().filter(|made| made.call.call == call).count();
    let near = |found: usize, expected: usize| found + 2 >= expected && found <= expected;
    assert!(near(count(ServiceCall::Unlink), commits / 500), "{commits}: {}", count(ServiceCall::Unlink));
    assert!(near(count(ServiceCall::Fsync), commits / 200), "{commits}: {}", count(ServiceCall::Fsync));
    assert!(near(count(ServiceCall::Fallocate), commits / 100), "{commits}: {}", count(ServiceCall::Fallocate));
    // Every one of them was made by the task, and none by the writer.
    let by_writer = service.calls_of(0).iter().filter(|(call, ..)| *call == "fallocate").count();
    assert_eq!(by_writer, 0);
}
