//! Samples: `iostat-12.6*` and `fio-3.33-iolog` were made by those programs, `blkparse-1.2` by that program from a
//! trace made by hand (this kernel has no blktrace). The other texts follow the documents that the readers name.

use super::assemble::{Assembled, Kind, assemble_profile};
use super::*;
use assay_base::Direction;

/// Everything that is found when the files are fed in pieces of this many bytes.
fn collected_in(pieces: usize, files: &[(&str, &str)], options: &Options) -> Findings {
    let mut collector = Collector::new(options.clone());
    for (name, text) in files {
        collector.begin_file(name, "", name.rsplit_once('/').map_or("", |(group, _)| group));
        text.as_bytes().chunks(pieces).for_each(|piece| collector.feed_bytes(piece));
        collector.end_file();
    }
    collector.finish()
}

fn collected(files: &[(&str, &str)]) -> Findings {
    let whole = collected_in(1 << 16, files, &Options::default());
    // The findings do not depend on how a file is divided into pieces.
    assert_eq!(format!("{:?}", collected_in(7, files, &Options::default())), format!("{whole:?}"));
    whole
}

fn remarks(found: &Findings) -> Vec<String> {
    found.remarks.iter().map(|remark| format!("{} {}", found.place_name(remark.place), remark.text)).collect()
}

/// Asserts that there is one remark at this place, with these words.
fn remarked(found: &Findings, at: &str, words: &str) {
    let all = remarks(found);
    assert!(all.iter().any(|one| one.starts_with(&format!("{at} ")) && one.contains(words)), "{at} {words}: {all:#?}");
}

const READ_SIZES: &str = "\
{ycsb}-device-read-size
Apr 09 2018 21:31:30
               % > (bytes)
slice-to (sec)    512   1024   2048   4096   8192    ops/sec
-------------- ------ ------ ------ ------ ------ ----------
21:39:52   502 100.00 100.00  83.98  12.67   0.00    10407.5
21:48:13   501 100.00 100.00  83.99  12.65   0.00    10446.5
-------------- ------ ------ ------ ------ ------ ----------
     avg       100.00 100.00  83.98  12.66   0.00    10427.0
     max       100.00 100.00  83.99  12.67   0.00    10446.5
";

#[test]
fn tables_of_asloglatency() {
    let found = collected(&[("a.txt", READ_SIZES)]);
    let table = &found.histograms[0];
    assert_eq!((table.namespace.as_str(), table.name.as_str(), table.unit), ("ycsb", "device-read-size", Unit::Bytes));
    assert_eq!(table.over, [(512, 100.0), (1024, 100.0), (2048, 83.98), (4096, 12.66), (8192, 0.0)]);
    assert_eq!((table.rate, found.place_name(table.place).as_str()), (Some(10427.0), "a.txt:9"));
    assert_eq!((found.remarks.len(), found.files[0].other), (0, 0));
    // Windows line ends, another locale, a terminal's prompt before it.
    let other = format!("$ asloglatency -n 5 -h {{ycsb}}-device-read-size\n{READ_SIZES}")
        .replace('.', ",")
        .replace('\n', "\r\n");
    assert_eq!(collected(&[("a.txt", &other)]).histograms[0].over, table.over);
    let options = Options { slice: Some("21:48:13".into()), ..Options::default() };
    let slice = collected_in(99, &[("a.txt", READ_SIZES)], &options);
    assert_eq!((slice.histograms[0].rate, slice.histograms[0].place.line), (Some(10446.5), 7));
    let none = collected_in(99, &[("a.txt", READ_SIZES)], &Options { slice: Some("09:00:00".into()), ..options });
    remarked(&none, "a.txt:4", "no slice to 09:00:00");
}

#[test]
fn tables_that_are_not_whole() {
    let lines: Vec<&str> = READ_SIZES.lines().collect();
    let cut = lines[..7].join("\n");
    let found = collected(&[("a.txt", &cut)]);
    remarked(&found, "a.txt:7", "cut off before its row of averages");
    assert_eq!(found.histograms[0].rate, Some(10427.0));
    let found = collected(&[("a.txt", &READ_SIZES[..READ_SIZES.find("    10446.5").unwrap()])]);
    remarked(&found, "a.txt:7", "a row of 6 numbers where the table has 7");
    assert_eq!(found.histograms[0].rate, Some(10407.5));
    remarked(&collected(&[("a.txt", &lines[2..].join("\n"))]), "a.txt:2", "without its name");
    remarked(&collected(&[("a.txt", &lines[..4].join("\n"))]), "a.txt:4", "no rows");
    let wrong = READ_SIZES.replace("    10427.0", "    20427.0");
    remarked(&collected(&[("a.txt", &wrong)]), "a.txt:9", "the row of averages has 20427");
}

#[test]
fn a_number_that_may_be_cut_is_told() {
    // 10446.5 operations a second, of which 1044 are left: a row like any other.
    let at = READ_SIZES.find("    10446.5").unwrap();
    let found = collected(&[("a.txt", &READ_SIZES[..at + 8])]);
    remarked(&found, "a.txt:7", "the file ends within this line");
    let whole = collected(&[("a.txt", READ_SIZES), ("b.txt", "prose, without an end")]);
    assert!(!remarks(&whole).iter().any(|one| one.contains("ends within")), "{:?}", remarks(&whole));
}

#[test]
fn asinfo_today_and_before() {
    let today = "batch-index:;{ycsb}-read:msec,8850.0,14.90,7.80,0.08,0.00;{ycsb}-write:msec,2951.0,25.77,0.00\n";
    let before = "{ycsb}-read:22:29:59-GMT,ops/sec,>1ms,>8ms,>64ms;22:30:09,8850.0,14.90,0.08,0.00;{ycsb}-write:22:29:59-GMT,ops/sec,>1ms,>8ms,>64ms;\n";
    let found = collected(&[("now", today), ("then", before)]);
    let all: Vec<_> = found.histograms.iter().map(|one| (one.name.as_str(), one.rate, one.over.clone())).collect();
    assert_eq!(all[0], ("read", Some(8850.0), vec![(1000, 14.9), (2000, 7.8), (4000, 0.08), (8000, 0.0)]));
    assert_eq!(all[1].1, Some(2951.0));
    assert_eq!(all[2], ("read", Some(8850.0), vec![(1000, 14.9), (8000, 0.08), (64_000, 0.0)]));
    assert_eq!(all.len(), 3);
    remarked(&found, "then:1", "{ycsb}-write has no numbers");
    let sizes = collected(&[("a", "{ycsb}-device-read-size:bytes,10427.0,100.00,50.00,0.00\n")]);
    assert_eq!(sizes.histograms[0].over, [(1, 100.0), (2, 50.0), (4, 0.0)]);
}

fn drv_ssd(time: &str, writes: (u64, f64), device: &str) -> String {
    format!(
        "Apr 10 2018 {time} GMT: INFO (drv_ssd): (drv_ssd.c:2135) {{ycsb}} {device}: used-bytes 1374155776 free-wblocks 12193333 \
         write-q 0 write ({},{:.1}) defrag-q 36 defrag-read (53996089,1172.8) defrag-write (17909611,406.8)\n",
        writes.0, writes.1
    )
}

#[test]
fn large_blocks_by_their_counters() {
    let log = [
        drv_ssd("07:28:02", (65_885_408, 1543.0), "/dev/nvme0n1"),
        "Apr 10 2018 07:28:02 GMT: DETAIL (drv_ssd): (drv_ssd.c:2140) {ycsb} /dev/nvme0n1: defrag-io-skips (3650,0.2) direct-frees (11873218,369)\n".into(),
        drv_ssd("07:28:22", (65_916_368, 1548.0), "/dev/nvme0n1"),
        drv_ssd("07:28:42", (65_947_328, 1548.0), "/dev/nvme0n1"),
    ]
    .concat();
    let found = collected(&[("a.log", &log)]);
    let blocks = found.blocks.values().next().unwrap();
    assert_eq!(blocks["write"].recomputed_rate(), Some(1548.0));
    assert_eq!(
        (blocks["direct-frees"].rate_counted_or_printed(), blocks["direct-frees"].recomputed_rate()),
        (Some(369.0), None)
    );
    assert_eq!(blocks["defrag-io-skips"].rate_counted_or_printed(), Some(0.2));
    // The form of version 3.
    let old = "Feb 29 2016 16:46:12 GMT: INFO (drv_ssd): (drv_ssd.c::2088) device /opt/data.dat: used 9452474112, contig-free 108482M (108482 wblocks), swb-free 3, w-q 0 w-tot 3087071 (6.0/s), defrag-q 0 defrag-tot 3076023 (5.5/s) defrag-w-tot 1510103 (2.8/s)\n";
    let found = collected(&[("a.log", old)]);
    let ((_, namespace, device), blocks) = found.blocks.iter().next().unwrap();
    assert_eq!((namespace.as_str(), device.as_str()), ("", "/opt/data.dat"));
    let rates: Vec<_> =
        ["write", "defrag-read", "defrag-write"].iter().map(|name| blocks[name].rate_counted_or_printed()).collect();
    assert_eq!(rates, [Some(6.0), Some(5.5), Some(2.8)]);
}

#[test]
fn counters_that_restart_and_clocks_that_jump() {
    let log = |last: &[(&str, u64)]| {
        let first = [("07:28:02", 1_000_000), ("07:28:22", 1_030_000)];
        let line = |(time, count): &(&str, u64)| drv_ssd(time, (*count, 1500.0), "/dev/nvme0n1");
        first.iter().chain(last).map(line).collect::<String>()
    };
    let rate = |found: &Findings| found.blocks.values().next().unwrap()["write"].recomputed_rate();
    for (last, words) in [
        (&[("07:28:42", 500), ("07:29:02", 30_500)], "it wrapped or the server restarted"),
        (&[("09:28:42", 1_060_000), ("09:29:02", 1_090_000)], "the clock jumped"),
        (&[("07:20:00", 1_060_000), ("07:20:20", 1_090_000)], "the clock goes back by 502 s"),
    ] {
        let found = collected(&[("a.log", &log(last))]);
        assert_eq!(rate(&found), Some(1500.0), "{words}");
        remarked(&found, "a.log:3", words);
    }
    // A gap in the log alone, during which the counter continued, is not reported.
    let found = collected(&[("a.log", &log(&[("07:38:22", 1_930_000)]))]);
    assert_eq!(rate(&found), Some(1500.0));
    assert!(!remarks(&found).iter().any(|one| one.contains("lines of write")));
}

fn dump(time: &str, counts: [u64; 3]) -> String {
    let head = format!("Jun 09 2020 {time} GMT: INFO (info): (hist.c");
    format!(
        "{head}:240) histogram dump: {{ycsb}}-device-read-size ({} total) bytes\n{head}:257)  (10: {:010}) (11: {:010}) (12: {:010})\n",
        counts.iter().sum::<u64>(),
        counts[0],
        counts[1],
        counts[2]
    )
}

#[test]
fn dumps_are_told_by_what_they_grow_by() {
    let one = dump("21:40:06", [1_000_000, 0, 0]);
    let found = collected(&[("a.log", &one)]);
    assert_eq!(
        (found.histograms[0].rate, found.histograms[0].over[9..].to_vec()),
        (None, vec![(512, 100.0), (1024, 0.0)])
    );
    let two = format!(
        "{one}Jun 09 2020 21:40:07 GMT: INFO (info): (ticker.c:1) other\n{}",
        dump("21:40:16", [1_000_500, 250, 250])
    );
    let found = collected(&[("a.log", &two)]);
    let histogram = &found.histograms[0];
    assert_eq!(
        (histogram.rate, histogram.over[9..].to_vec()),
        (Some(100.0), vec![(512, 100.0), (1024, 50.0), (2048, 25.0), (4096, 0.0)])
    );
    let restart = format!("{two}{}{}", dump("21:40:26", [10, 0, 0]), dump("21:40:36", [1010, 0, 0]));
    let found = collected(&[("a.log", &restart)]);
    assert_eq!(found.histograms[0].rate, Some(100.0));
    remarked(&found, "a.log:7", "the server restarted");
    let cut = two.replace("(12: 0000000250)", "");
    let found = collected(&[("a.log", &cut)]);
    remarked(&found, "a.log:5", "holds 1000750 of its 1001000 values");
    assert_eq!(found.histograms[0].rate, None);
}

macro_rules! sample {
    ($name:literal) => {
        ($name, include_str!(concat!("../../tests/collect/samples/", $name)))
    };
}

/// r/s, w/s, rkB/s, wkB/s, rounded down, and the number of reports.
fn means(found: &Findings, device: &str) -> (Vec<u64>, u64) {
    let (_, drive) = found.drives.iter().find(|((_, name), _)| name == device).unwrap();
    let columns = ["r/s", "w/s", "rkB/s", "wkB/s"];
    (columns.iter().map(|column| drive.column_mean(column).unwrap_or(-1.0) as u64).collect(), drive.reports)
}

#[test]
fn iostat_of_sysstat_12() {
    let text = collected(&[sample!("iostat-12.6.txt")]);
    assert_eq!(text.files[0].host.as_deref(), Some("alpha"));
    assert_eq!(text.files[0].other, 0, "{:?}", text.files[0]);
    assert_eq!((means(&text, "vda").1, means(&text, "loop0").1), (2, 2));
    remarked(&text, "iostat-12.6.txt:7", "the mean since the machine started and is dropped");
    let json = collected(&[sample!("iostat-12.6.json")]);
    assert_eq!((means(&json, "vda").1, json.files[0].host.as_deref()), (2, Some("alpha")));
    assert!(json.drives.values().all(|drive| drive.hours[22].count == 2));
    // On one line, or with one value per line, it is the same document.
    let value: serde_json::Value = serde_json::from_str(sample!("iostat-12.6.json").1).unwrap();
    for other in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
        let other = collected(&[("x.json", &other)]);
        assert_eq!((means(&other, "vda"), means(&other, "loop0")), (means(&json, "vda"), means(&json, "loop0")));
    }
    let cut = &sample!("iostat-12.6.json").1[..2900];
    remarked(&collected(&[("x.json", cut)]), "x.json:32", "the JSON document is cut");
    let human = collected(&[sample!("iostat-12.6-human.txt")]);
    assert_eq!((means(&human, "vda").1, human.files[0].other), (1, 0));
    assert!(means(&human, "vda").0.iter().any(|&value| value > 0));
    let short = collected(&[sample!("iostat-12.6-short.txt")]);
    remarked(&short, "iostat-12.6-short.txt:6", "does not separate reads and writes");
    assert!(short.drives.is_empty());
}

#[test]
fn the_first_report_is_kept_only_when_that_is_asked_for() {
    let (name, text) = sample!("iostat-12.6-t-y.txt");
    let once = text
        .find("\n11/")
        .map(|at| &text[..text[at + 1..].find("\n11/").map_or(text.len(), |next| at + 1 + next)])
        .unwrap();
    let dropped = collected(&[(name, once)]);
    assert!(dropped.drives.is_empty());
    remarked(&dropped, "iostat-12.6-t-y.txt:9", "add --keep-first-report");
    let kept = collected_in(50, &[(name, text)], &Options { keep_first_report: true, ..Options::default() });
    assert_eq!((means(&kept, "vda").1, kept.remarks.len()), (2, 0));
}

#[test]
fn iostat_of_any_columns() {
    for header_and_row in [
        // sysstat 10, in kB, in MB, in sectors.
        "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\nnvme0n1 0.00 0.00 100.00 50.00 4096.00 2048.00 81.33 5.45 0.42 0.46 0.05 0.03 41.35",
        "Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\nnvme0n1 0.00 0.00 100.00 50.00 4.00 2.00 81.33 5.45 0.42 0.46 0.05 0.03 41.35",
        "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\nnvme0n1 0.00 0.00 100.00 50.00 8192.00 4096.00 81.33 5.45 0.42 0.03 41.35",
        // sysstat 11.5.
        "Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util\nnvme0n1 100.00 50.00 4096.00 2048.00 0 0 0 0 0.42 0.46 0.05 40.0 40.0 0.03 41.35",
        // A locale with decimal commas and translated words.
        "Gerät            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util\nnvme0n1 100,00 50,00 4096,00 2048,00 0,00 0 0 0 0,42 0,46 0,05 40,0 40,0 0,03 41,35",
    ] {
        let found = collected(&[("a", &format!("{header_and_row}\n"))]);
        assert_eq!(means(&found, "nvme0n1"), (vec![100, 50, 4096, 2048], 1), "{header_and_row}");
        assert_eq!((found.remarks.len(), found.files[0].other), (0, 0), "{:?}", remarks(&found));
    }
}

#[test]
fn iostat_with_counters_that_wrap_and_devices_that_come_late() {
    let report = |rows: &str| format!("Device r/s w/s rkB/s wkB/s\n{rows}\n");
    let text = [
        report("sda 10.0 10.0 40.0 40.0\n"),
        report("sda 10.0 10.0 40.0 40.0\nsdb 5.0 0.0 20.0 0.0\n"),
        report("sda 42949672950.0 10.0 40.0 40.0\nsdb -3.0 0.0 20.0 0.0\n"),
        report("sda 10.0 10.0 40.0\n"),
    ]
    .concat();
    let found = collected(&[("a", &text)]);
    assert_eq!((means(&found, "sda"), means(&found, "sdb").1), ((vec![10, 10, 40, 40], 2), 1));
    remarked(&found, "a:6", "sdb appears in report 2");
    remarked(&found, "a:9", "a counter wrapped");
    remarked(&found, "a:10", "-3");
    remarked(&found, "a:13", "a line of 4 words in a table of 5 columns");
}

fn traced<'a>(found: &'a Findings, device: &str, action: &str) -> &'a Trace {
    found.traces.iter().find(|trace| trace.device == device && trace.action == action).unwrap()
}

#[test]
fn traces() {
    let found = collected(&[sample!("blkparse-1.2.txt")]);
    let issued = traced(&found, "8,16", "D");
    // The program's own summary: 44 reads of 296 KiB, 16 writes of 112 KiB, and a discard and a flush, which it counts
    // as writes.
    assert_eq!((issued.seen.reads.operations, issued.seen.reads.bytes), (44, 296 << 10));
    assert_eq!(
        (issued.seen.writes.operations, issued.seen.writes.bytes, issued.seen.writes.durable),
        (16, 112 << 10, 16)
    );
    assert_eq!((issued.seen.flushes + issued.seen.discards, found.traces.len()), (2, 3));
    // Operations are queued before they are issued: the trace begins with the first that was queued.
    assert_eq!(found.covered_time(issued), 257_652_558);
    let found = collected(&[sample!("fio-3.33-iolog.txt")]);
    let trace = traced(&found, "fioimg", "");
    assert_eq!(
        (trace.seen.reads.operations + trace.seen.writes.operations, found.remarks.len(), found.files[0].other),
        (57, 0, 0)
    );
    assert!(trace.seen.reads.sizes.keys().all(|size| [4096, 8192, 12_288, 16_384].contains(size)));
    let untimed = collected(&[(
        "v2",
        "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb read 0 4096\n/dev/sdb read 4096 4096\n/dev/sdb close\n",
    )]);
    let trace = traced(&untimed, "/dev/sdb", "");
    assert_eq!((trace.seen.reads.operations, untimed.covered_time(trace), trace.seen.reads.sequential), (2, 0, 1));
    remarked(&untimed, "v2:1", "no times");
}

#[test]
fn snoops() {
    let biosnoop = "\
TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)
0.000000    mysqld         1234    nvme0n1   R 2048       4096       0.12
0.500000    two words      1234    nvme0n1   W 4096       16384      0.10
1.000000    mysqld         1234    nvme0n1   R 2056       4096       0.12
1.100000    mysqld         1234    nvme0n1   R 20
";
    let found = collected(&[("a", biosnoop)]);
    let trace = traced(&found, "nvme0n1", "");
    assert_eq!(
        (trace.seen.reads.operations, trace.seen.writes.bytes, found.covered_time(trace)),
        (2, 16_384, 1_000_000_000)
    );
    assert_eq!(trace.seen.reads.sequential, 1);
    remarked(&found, "a:5", "without all its columns");
    let iosnoop = "COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\nasd          5555   R    259,0    2244            131072     0.50\nasd 5555 WS 259,0 99 131072 0.1\n";
    let found = collected(&[("a", iosnoop)]);
    let trace = traced(&found, "259,0", "");
    assert_eq!((trace.seen.reads.bytes, trace.seen.writes.durable), (131_072, 1));
}

/// What is counted in a file and not used is named.
#[test]
fn rows_without_times_and_traces_beside_a_server_are_named() {
    use super::assemble::{Kind, assemble_profile};
    let found = collected(&[("a", "asd 5555 R 259,0 2244 131072 0.50\nasd 5555 WS 259,0 99 131072 0.10\n")]);
    let application = assemble_profile(&found, Kind::Application);
    assert!(application.unused.is_empty());
    for what in ["reads", "writes"] {
        let begin = format!("259,0: a rate of its {what}");
        assert!(application.missing.iter().any(|one| one.what.starts_with(&begin)), "{:?}", application.missing);
    }
    let server = assemble_profile(&found, Kind::Aerospike);
    let [unused] = &server.unused[..] else { panic!("{:?}", server.unused) };
    assert!(unused.text.starts_with("2 operations of a trace of 259,0 are not used"), "{}", unused.text);
    let timed = collected(&[("a", "0.0 0.1 asd 5555 R 259,0 2244 131072 0.50\n9.0 9.1 asd 5555 R 259,0 9 512 0.50\n")]);
    assert!(!assemble_profile(&timed, Kind::Application).missing.iter().any(|one| one.what.contains("a rate of")));
}

#[test]
fn iosnoop_without_its_header_as_grep_leaves_it() {
    let rows = "asd              5555   R    259,0    2244         131072     0.50\n\
                asd              5555   WS   259,0    99           131072     0.10\n\
                two words        5555   R    259,0    2500         131072     0.70\n";
    let found = collected(&[("a", rows)]);
    let trace = traced(&found, "259,0", "");
    assert_eq!((trace.seen.reads.operations, trace.seen.writes.operations, trace.seen.writes.durable), (2, 1, 1));
    assert_eq!((found.covered_time(trace), found.remarks.len(), found.files[0].other), (0, 0, 0));
    // `iosnoop -ts`: the time at which it began and that at which it ended.
    let timed: String = rows.lines().zip(0..).map(|(row, at)| format!("{at}.000000 {at}.500000 {row}\n")).collect();
    let found = collected(&[("a", &timed)]);
    assert_eq!(found.covered_time(traced(&found, "259,0", "")), 2_000_000_000);
    // Lines that only resemble it.
    for other in
        ["asd 5555 R 259,0 2244 131072\n", "asd 5555 read 259,0 2244 131072 0.50\n", "5555 R 259,0 1 512 0.5\n"]
    {
        assert!(collected(&[("a", other)]).traces.is_empty(), "{other}");
    }
}

#[test]
fn prose_behind_a_table_is_one_remark() {
    let prose = "\nThat was the hour of the backup.\nWe saw 12 slow reads, and restarted it.\n";
    let found = collected(&[("a", &format!("{SHORT_BURST}{prose}"))]);
    assert_eq!((found.remarks.len(), found.files[0].other), (0, 2), "{:?}", remarks(&found));
    assert_eq!(found.files[0].first_other, Some((10, "That was the hour of the backup.".to_owned())));
    let cut: String = (0..30).map(|at| format!("{at}.5 app 100 sda R 8\n")).collect();
    let found = collected(&[("a", &format!("{SHORT_BURST}{cut}"))]);
    assert_eq!(found.remarks.len(), 1, "{:?}", remarks(&found));
    remarked(
        &found,
        "a:9",
        "an operation without all its columns: the line is cut and left out; so are 29 further lines",
    );
    let bpftrace = "Attaching 5 probes...\nTIME(ms)     DISK    COMM             PID    LAT(ms)\n12           vda     app              7      1\n";
    let found = collected(&[("a", bpftrace)]);
    assert_eq!((found.remarks.len(), found.files[0].other), (1, 1));
    remarked(&found, "a:2", "prints neither the direction nor the size of an operation: trace with that of bcc");
}

#[test]
fn a_servers_log_behind_the_prefix_of_its_container() {
    let (name, drive) = ("a.log", "/dev/nvme0n1");
    let plain = [
        drv_ssd("07:28:02", (65_885_408, 1543.0), drive),
        "Apr 10 2018 07:28:02 GMT: INFO (info): (hist.c:240) histogram dump: {ycsb}-device-read-size (365 total) bytes\n".into(),
        "Apr 10 2018 07:28:02 GMT: INFO (info): (hist.c:257)  (10: 0000000300) (11: 0000000065)\n".into(),
        drv_ssd("07:28:22", (65_916_368, 1548.0), drive),
    ]
    .concat();
    let expected = collected(&[(name, &plain)]);
    assert!(!expected.blocks.is_empty() && !expected.histograms.is_empty());
    let json = |line: &str| format!("{}\n", serde_json::json!({"log": format!("{line}\n"), "stream": "stdout"}));
    let forms: [&dyn Fn(&str) -> String; 3] = [
        &|line| format!("db-1  | {line}\n"),
        &|line| format!("2018-04-10T07:28:02.123456789Z stdout F {line}\n"),
        &json,
    ];
    for form in forms {
        let text: String = plain.lines().map(form).collect();
        let found = collected(&[(name, &text)]);
        assert_eq!((&found.blocks, &found.histograms), (&expected.blocks, &expected.histograms), "{text:.200}");
    }
}

#[test]
fn a_trace_in_a_format_of_its_own() {
    let format = super::BlkparseFormat::parse("%a,%d,%T.%t,%D,%S,%n\\n").unwrap();
    let text = "Q,R,0.000000000,8,16,8,8\nD,R,0.000100000,8,16,8,8\nD,W,2.000100000,8,16,16,16\nCPU0 (sdb):\n";
    let found = collected_in(50, &[("a", text)], &Options { blkparse_format: Some(format), ..Options::default() });
    let issued = traced(&found, "8,16", "D");
    assert_eq!(
        (issued.seen.reads.bytes, issued.seen.writes.bytes, found.covered_time(issued)),
        (4096, 8192, 2_000_100_000)
    );
}

#[test]
fn a_trace_whose_clock_jumps_keeps_its_rate() {
    let line = |seconds: f64| format!("  8,16 0 1 {seconds:.9} 1 D R 8 + 8 [x]\n");
    let text: String = [0.0, 1.0, 2.0, 9000.0, 9001.0, 3.0, 4.0].into_iter().map(line).collect();
    let found = collected(&[("a", &text)]);
    assert_eq!(found.covered_time(&found.traces[0]), 4_000_000_000);
    remarked(&found, "a:4", "the clock goes ahead by 8998.0 s");
    remarked(&found, "a:6", "the clock goes back by 8998.0 s");
}

/// A minute of two drives, one of which has a burst of two reads.
const SHORT_BURST: &str = "\
TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)
0.000000    app            100    sda     R 8          4096    0.50
10.000000   app            100    sda     R 16         4096    0.50
20.000000   app            100    sda     R 24         4096    0.50
30.000000   app            100    sdb     R 800        8192    0.50
30.000500   app            100    sdb     R 8000       8192    0.50
40.000000   app            100    sda     R 32         4096    0.50
60.000000   app            100    sda     R 40         4096    0.50
";

#[test]
fn a_drive_that_did_little_was_traced_for_as_long_as_the_others() {
    let out = of(&[("t.txt", SHORT_BURST)], Kind::Application);
    let rate = |part: &assay_model::profile::ProfilePart| part.reads.as_ref().unwrap().rate.as_ref().unwrap().clone();
    let rates: Vec<(String, f64)> =
        out.profile.parts.iter().map(|part| (part.name.clone(), rate(part).value.as_f64())).collect();
    for ((name, rate), (drive, reads)) in rates.iter().zip([("sda", 5.0), ("sdb", 2.0)]) {
        assert!(name == drive && (rate * 60.0 / reads - 1.0).abs() < 1e-3, "{rates:?}");
    }
    let source = rate(&out.profile.parts[1]).source;
    assert!(source.contains("2 operations in 60.0 s"), "the time that the rate is of: {source}");
    // The seconds before and after the burst are windows too.
    let dispersion = out.profile.parts[1].reads.as_ref().unwrap().habits.dispersion.as_ref().unwrap();
    let of_second = dispersion.value.iter().find(|(window, _)| window.as_ns() == 1_000_000_000).unwrap().1;
    assert!((of_second - (4.0 / 60.0 - 4.0 / 3600.0) / (2.0 / 60.0)).abs() < 0.01, "{of_second}");
    // A drive that is first used after more than an hour shows no jump of the clock, if the others went on.
    let line = |seconds: u64, device: &str| format!("{seconds}.000000 app 100 {device} R 8 4096 0.50\n");
    let head = SHORT_BURST.lines().next().unwrap();
    let hours: String =
        (0..9).map(|at| line(at * 1800, "sda")).chain([line(16_000, "sdb"), line(16_200, "sdb")]).collect();
    let text = format!("{head}\n{}{hours}", line(0, "sdb"));
    let found = collected(&[("t.txt", &text)]);
    assert!(found.remarks.is_empty(), "{:?}", found.remarks);
    assert!(found.traces.iter().all(|trace| found.covered_time(trace) == 16_200_000_000_000));
    // Each file is a trace of its own.
    let two = collected(&[("a", SHORT_BURST), ("b", &SHORT_BURST.replace("60.000000", "50.000000"))]);
    let covered: Vec<u64> = two.traces.iter().map(|trace| two.covered_time(trace) / 1_000_000_000).collect();
    assert_eq!(covered, [60, 60, 50, 50]);
}

/// Each row: r/s and rkB/s, and the sizes of the reads.
#[test]
fn a_mean_size_of_iostat_becomes_sizes_with_that_mean() {
    for (rate, kib, sizes) in [
        (1000.0_f64, 2220.703_f64, &[(2048, 55.86), (2560, 44.14)][..]),
        (1000.0, 4000.0, &[(4096, 100.0)]),
        // iostat prints two decimals: this is 4 KiB.
        (33.33, 133.35, &[(4096, 100.0)]),
        (1000.0, 600.0, &[(512, 80.0), (1024, 20.0)]),
        (1000.0, 100.0, &[(512, 100.0)]),
        (2.0, 1e9, &[(64 << 20, 100.0)]),
        (100.0, 12_825.0, &[(131_072, 50.0), (131_584, 50.0)]),
    ] {
        let text = format!("Device r/s w/s rkB/s wkB/s\nsda {rate:.2} 0.00 {kib:.3} 0.00\n");
        let text = format!("{text}\n{text}");
        let out = of(&[("io.txt", &text)], Kind::Application);
        let reads = out.profile.parts[0].reads.as_ref().unwrap();
        let assay_model::profile::Sizes::Each(found) = &reads.sizes.as_ref().unwrap().value else { panic!() };
        let shown: Vec<(u64, f64)> =
            found.iter().map(|(size, share)| (size.get(), (share.as_f64() * 1e4).round() / 100.0)).collect();
        assert_eq!(shown, sizes, "{rate} and {kib}");
        let mean: f64 = found.iter().map(|(size, share)| size.get() as f64 * share.as_f64()).sum();
        let meant = (kib * 1024.0 / rate).clamp(512.0, (64 << 20) as f64);
        assert!((mean / meant - 1.0).abs() < 2e-3, "{rate} and {kib}: {mean}, not {meant}");
    }
}

#[test]
fn hostile_text_is_read_in_bounded_memory() {
    let long = "x".repeat(200_000);
    let found = collected(&[("a", &format!("{long}\n{long}"))]);
    remarked(&found, "a:1", "longer than 65536 bytes");
    assert_eq!((found.files[0].lines, found.files[0].other), (2, 2));
    let many: String = (0..10_000)
        .map(|i| format!("Apr 10 2018 07:28:02 GMT: INFO (drv_ssd): (drv_ssd.c:1) {{n{i}}} /dev/x: write (1,-1.0)\n"))
        .collect();
    let found = collected(&[("a", &many)]);
    assert!(found.blocks.len() <= 4096 && found.remarks.len() <= 200 && found.more_remarks > 3000);
    let binary: Vec<u8> = (0..=255u8).cycle().take(100_000).collect();
    let mut collector = Collector::new(Options::default());
    collector.begin_file("b\n\u{1b}", "", "");
    collector.feed_bytes(&binary);
    collector.end_file();
    assert_eq!(collector.finish().files[0].name, "b\u{fffd}\u{fffd}");
}

fn of(files: &[(&str, &str)], kind: Kind) -> Assembled {
    assemble_profile(&collected(files), kind)
}

#[test]
fn nothing_is_made_up() {
    let out = of(&[("a.txt", READ_SIZES)], Kind::Aerospike);
    let missing: Vec<&str> = out.missing.iter().map(|one| one.what.as_str()).collect();
    for what in ["{ycsb}-device-write-size", "drives of namespace ycsb", "large blocks written", "size of large blocks"]
    {
        assert!(missing.iter().any(|one| one.contains(what)), "{what}: {missing:#?}");
    }
    assert!(out.missing.iter().all(|one| !one.command.is_empty()));
    let part = &out.profile.parts[0];
    assert!(part.writes.is_none() && part.large_blocks.writes.is_none());
    assert!(of(&[("a.txt", "nothing\n")], Kind::Aerospike).missing[0].what.contains("every namespace"));
}

#[test]
fn what_does_not_fit_is_shown_with_both_places() {
    let rising = READ_SIZES.replace("83.98  12.66", "12.66  83.98");
    let out = of(&[("a.txt", &rising)], Kind::Aerospike);
    assert_eq!(out.contradictions[0].places, ["a.txt:9, share 3", "a.txt:9, share 4"]);
    let two =
        READ_SIZES.replace("    10427.0", "    12427.0").replace("10407.5", "12407.5").replace("10446.5", "12446.5");
    let out = of(&[("a.txt", READ_SIZES), ("b.txt", &two)], Kind::Aerospike);
    assert_eq!(out.contradictions[0].places, ["a.txt:9", "b.txt:9"]);
    let log = drv_ssd("07:28:02", (65_885_408, 1543.0), "/dev/nvme0n1p1");
    let iostat = "Device r/s w/s rkB/s wkB/s\nnvme0n1 11806.00 1800.00 344970.25 198080.00\n";
    let out = of(&[("a.log", &log), ("io.txt", iostat), ("r.txt", READ_SIZES)], Kind::Aerospike);
    let one = out.contradictions.iter().find(|one| one.what.contains("large blocks are written at 1543/s")).unwrap();
    assert!(one.places[0].starts_with("a.log:1") && one.places[1] == "io.txt:2", "{one:?}");
    assert!(!out.contradictions.iter().any(|one| one.what.contains("records are read at")), "11,600 and 11,806 fit");
    // Records of at most 8 KiB cannot be 187 MiB/s.
    let one = out.contradictions.iter().find(|one| one.what.contains("iostat has 336.9 MiB/s read")).unwrap();
    assert!(one.places[0].starts_with("r.txt:9"), "{one:?}");
}

#[test]
fn several_nodes_are_told_apart() {
    let log = |device| drv_ssd("07:28:02", (65_885_408, 1543.0), device);
    let (one, two) = (log("/dev/nvme0n1"), log("/dev/nvme1n1"));
    let host = sample!("iostat-12.6.txt").1;
    let out = of(&[("x/alpha/as.log", &one), ("x/alpha/io.txt", host), ("x/beta/as.log", &two)], Kind::Aerospike);
    let nodes: Vec<(&str, &str)> =
        out.profile.parts.iter().map(|part| (part.node.as_str(), part.drives[0].as_str())).collect();
    assert_eq!(nodes, [("alpha", "nvme0n1"), ("beta", "nvme1n1")]);
}

#[test]
fn a_trace_becomes_an_application() {
    let out = of(&[sample!("blkparse-1.2.txt")], Kind::Application);
    let part = &out.profile.parts[0];
    assert_eq!((part.name.as_str(), part.kind), ("8,16", assay_model::profile::PartKind::Application));
    assert!(part.writes.as_ref().unwrap().durable && !part.reads.as_ref().unwrap().durable);
    let text = assay_model::profile::write_profile(&out.profile, "traced", &[]);
    let workload =
        assay_model::workload::read_workload("p.toml", &text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let directions: Vec<Direction> =
        workload.load.streams.iter().filter_map(assay_model::Stream::data_direction).collect();
    assert_eq!(directions, [Direction::Read, Direction::Write]);
    assert!(out.missing.iter().any(|one| one.what.contains("hours of the day")));
    let out = of(&[sample!("iostat-12.6.json")], Kind::Application);
    let reads = out.profile.parts[0].reads.as_ref().unwrap();
    assert!(reads.habits.hours.as_ref().unwrap().value[22] >= 0.0);
    assert!(out.missing.iter().any(|one| one.what.contains("only the mean size")));
}
