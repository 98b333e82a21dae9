//! Job files of fio: every refusal at its place, and what of the reference jobs can be driven.

#![allow(clippy::unwrap_used)]

use crate::common;

use assay_base::{Bytes, Geometry, Instant, Share};
use assay_formats::fio::{Choice, Lowered};
use assay_model::arrival::Part;
use assay_model::generator::Generator;
use assay_model::turns::NextTarget;
use assay_model::{Address, Arrival, Plan};
use common::fio::{TestFiles, around, lowered, of, plan, plans, section};

#[test]
fn what_is_refused_is_refused_at_its_place() {
    for root in common::roots() {
        let dir = root.join("fio/refused");
        let cases: serde_json::Value =
            serde_json::from_slice(&std::fs::read(dir.join("refused.json")).unwrap()).unwrap();
        let cases = cases.as_array().unwrap();
        assert_eq!(cases.len(), 20);
        for case in cases {
            let name = case["case"].as_str().unwrap();
            let fault = lowered(&dir.join(name), &Choice::default()).unwrap_err();
            let under: String = fault.source.chars().skip(fault.column - 1).take(fault.width).collect();
            let place = (fault.line as u64, fault.column as u64, under.as_str());
            let expected = (
                case["line"].as_u64().unwrap(),
                case["column"].as_u64().unwrap(),
                case["under_the_caret"].as_str().unwrap(),
            );
            assert_eq!(place, expected, "{name}: {fault}");
            assert!(!fault.remedy.is_empty(), "{name}: {fault}");
            let said = format!("{}; {}", fault.what, fault.remedy);
            let because = case["because"].as_str().unwrap();
            let told = because.split([';', ':']).all(|part| said.contains(part.trim()));
            assert!(told, "{name}: {said}\n{because}");
        }
    }
}

/// The combinations of keys that docs/fio.md lists as not driven: each is refused at the line of the key that it names, with a
/// remedy.
#[test]
fn combinations_that_are_not_driven_are_refused_at_their_place() {
    for (keys, line, told) in [
        ("rw=randrw\nrate_iops=5,\nnumber_ios=9", 6, "ends by what both have moved"),
        ("ramp_time=5\nsize=1m", 4, "has no warm-up here"),
        ("rw=randrw\nrate_iops=50,\nthinktime=5", 6, "a pause in a job with a rate for one of its directions"),
        ("rw=randrw\nrate_iops=5,500\nthinktime=10ms", 6, "a pause that leaves time for one of two rates"),
        ("rw=randrw\nrate_iops=5\nthinktime=5\nrate_ignore_thinktime", 7, "rate_ignore_thinktime of a job with two"),
        ("rw=randread\npercentage_random=30", 5, "random in part, from places that are not drawn independently"),
        ("rw=randread\nnorandommap\nbsrange=4k-8k\npercentage_random=30", 7, "random in part"),
        ("rw=randread\nbs=64k,4k\nbs_is_seq_rand=1", 6, "a random map whose blocks have another size"),
        ("rw=randread\nbs=64k,4k\nbs_is_seq_rand=1\npercentage_random=50", 6, "a random map whose blocks"),
        ("rw=randrw\nnorandommap\nbs=64k,4k\nbs_is_seq_rand=1\npercentage_random=50", 7, "a job of reads and writes"),
        ("rw=randread\nnorandommap\nbs=64k,4k\nbs_is_seq_rand=1\npercentage_random=50\nrate_iops=9", 9, "this key"),
        ("rw=randread\nnorandommap\nbsrange=4k-8k\nbs_is_seq_rand=1", 6, "several sizes for each order"),
        ("rw=randread:8", 4, "a run of operations from places that are not drawn independently"),
        ("rw=randread:8\nnorandommap\nba=2k", 4, "a run of operations"),
        ("rw=randread:8\nnorandommap\nrandom_distribution=zipf:1.1", 4, "a run of operations"),
        ("rw=write\nfsync=8\nrate_iops=5", 5, "a flush after writes that have a rate"),
        ("rw=write\nfsync=8\nfdatasync=8", 6, "a job with fsync and fdatasync"),
        ("nrfiles=2\nrate_iops=5\nfile_service_type=sequential", 6, "one file after the other at a rate"),
        ("nrfiles=2\nrw=randrw\nrate_iops=,5\ntime_based\nruntime=1", 6, "a rate for one of two directions on several"),
        ("lockfile=exclusive", 4, "a file that jobs lock"),
        ("startdelay=1-5", 4, "a beginning that is drawn"),
        ("filesize=1m-2m", 4, "a length of files that is drawn"),
        ("rw=rw\nzonesize=64k", 5, "a job that reads and writes sequentially in zones"),
        ("rw=randrw\nrate_iops=5\nzonesize=64k\ntime_based\nruntime=1", 6, "a rate for reads and writes in zones"),
        ("rw=randread\nrandom_distribution=zipf:1.1\nzonesize=64k", 6, "a distribution, a run or a gap within zones"),
        ("rw=read:4k\nzonesize=64k", 5, "a distribution, a run or a gap within zones"),
        ("rw=rw\nverify=md5\nverify_only", 6, "verify_only of a job that reads and writes"),
        ("nrfiles=2\nrw=write\nfsync=5", 6, "a flush after writes to several files"),
        ("nrfiles=2\nrw=randread\nnorandommap\nfile_service_type=sequential", 7, "one file after the other where"),
        ("nrfiles=2\nfile_service_type=zipf:1.1", 5, "this order of files"),
        ("read_iolog=mix.log\nrate_iops=5", 5, "not driven yet"),
        ("read_iolog=mix.log\nnumber_ios=5", 5, "an end or a place of the job's own"),
    ] {
        let text = format!("[a]\ndirectory=/tmp\nfilesize=1m\n{keys}\n");
        // A recording names its file itself.
        let text = if keys.contains("iolog") { text.replace("filesize=1m", "runtime=9") } else { text };
        let fault = of(&text, &Choice::default(), &around()).err().unwrap_or_else(|| panic!("{keys} is refused"));
        assert!(fault.line == line && fault.what.contains(told) && !fault.remedy.is_empty(), "{keys}: {fault}");
    }
}

#[test]
fn rates_of_the_reference_jobs() {
    let root = common::roots().into_iter().next_back().unwrap().join("fio");
    for (file, name, streams) in [
        ("rate-mixed", "both-500", &[("both-500.reads", 500, 8), ("both-500.writes", 500, 8)][..]),
        ("rate-mixed", "suffix", &[("suffix", 1024, 8)]),
        ("rate-mixed", "two-copies", &[("two-copies.0", 300, 8), ("two-copies.1", 300, 8)]),
        ("rate-mixed", "bytes", &[("bytes", 512, 8)]),
        // fio comes to 420.
        ("rate-mixed", "splits", &[("splits", 500, 8)]),
        ("rate-poisson", "clients", &[("clients.reads", 400, 8), ("clients.writes", 100, 8)]),
    ] {
        let plan = plan(&lowered(&root.join(file).with_extension("fio"), &section(name)).unwrap());
        let found: Vec<(&str, f64, u32)> = plan
            .load
            .streams
            .iter()
            .zip(&plan.load.lanes)
            .map(|(stream, lane)| {
                (stream.name.as_str(), stream.arrival.mean_rate().unwrap().as_f64(), lane.in_flight_bound)
            })
            .collect();
        let expected: Vec<(&str, f64, u32)> =
            streams.iter().map(|(name, rate, depth)| (*name, f64::from(*rate), *depth)).collect();
        assert_eq!(found, expected, "{file} {name}");
        let poisson = plan.load.streams.iter().all(|stream| matches!(stream.arrival, Arrival::Poisson { .. }));
        assert_eq!(poisson, file == "rate-poisson");
        assert_eq!(plan.timing.measured_length().as_secs_f64(), if poisson { 4.0 } else { 2.0 });
    }
}

#[test]
fn every_reference_job_is_driven() {
    let root = common::roots().into_iter().next().unwrap().join("fio");
    let jobs = common::with_extension(&root, "fio");
    for path in &jobs {
        let lowered = lowered(path, &Choice::default()).unwrap_or_else(|fault| panic!("{path:?}: {fault}"));
        plans(&lowered).iter().for_each(|plan| assert!(!plan.load.streams.is_empty()));
    }
    assert_eq!(jobs.len(), 16);
}

/// The first offsets of each sequential job, as fio's own log of them says.
#[test]
fn sequential_jobs_go_where_the_reference_jobs_went() {
    let root = common::roots().into_iter().next().unwrap().join("fio");
    let mut jobs = 0;
    for file in ["places", "sequences", "journal", "phases", "include"] {
        let lowered = lowered(&root.join(file).with_extension("fio"), &Choice::default()).unwrap();
        let json: serde_json::Value =
            serde_json::from_slice(&std::fs::read(root.join(file).with_extension("json")).unwrap()).unwrap();
        for plan in plans(&lowered) {
            for (at, stream) in (0..).zip(&plan.load.streams) {
                let job = stream.name.trim_end_matches(".reads").trim_end_matches(".writes");
                let Some(told) = json["jobs"].as_array().unwrap().iter().find(|it| it["job"] == job) else { continue };
                let Some(block) = stream.as_block() else { continue };
                let sequential = matches!(block.address, Address::Sequential | Address::Strided { .. });
                let way = block.direction.to_string();
                let Some(first) = told[&way]["first_offsets"].as_array().filter(|_| sequential) else { continue };
                // Blocks of a byte: fio's operations have any size.
                let size = told["file"].as_u64().unwrap_or(size_of(file));
                let (whole, target) = (Part { index: 0, of: 1 }, stream.targets[0]);
                let geometry = Geometry { size, block: 1 };
                let mut generator = Generator::new(&plan, at, target, geometry, whole, Instant::ZERO).unwrap();
                let found: Vec<u64> = first.iter().map(|_| generator.next_operation(Instant::ZERO).offset).collect();
                let first: Vec<u64> = first.iter().map(|offset| offset.as_u64().unwrap()).collect();
                assert_eq!(found, first, "{file}: {}", stream.name);
                jobs += 1;
            }
        }
    }
    assert!(jobs >= 15, "{jobs}");
}

/// The size of the files of a reference run.
fn size_of(file: &str) -> u64 {
    match file {
        "places" => 100 << 20,
        "phases" => 32 << 20,
        _ => 16 << 20,
    }
}

/// Operations, bytes, start and length of a stream, or of its loop.
type Whole = (Option<u64>, Option<u64>, u64, Option<u64>);

/// The steps of a job file, and in each of them what its streams or loops have.
fn lives(lowered: &Lowered) -> Vec<Vec<(String, Whole)>> {
    let one = |plan: &Plan| {
        let mut all: Vec<(String, Whole)> = Vec::new();
        for (at, stream) in (0..).zip(&plan.load.streams) {
            let name = stream.arrival.loop_name().unwrap_or(&stream.name).clone();
            let life = plan.load.life_of(at);
            let seconds = |span: assay_base::Span| span.as_ns() / 1_000_000_000;
            let whole = (life.operations, life.bytes.map(Bytes::get), seconds(life.start), life.lasts.map(seconds));
            all.extend(all.iter().all(|(known, _)| *known != name).then_some((name, whole)));
        }
        all
    };
    plans(lowered).iter().map(one).collect()
}

/// The numbers are those that fio did, as its results say.
#[test]
fn jobs_end_as_the_reference_jobs_did() {
    let root = common::roots().into_iter().next().unwrap().join("fio");
    let n = |operations: u64| (Some(operations), None, 0, None);
    let timed = |seconds: u64| (None, None, 0, Some(seconds));
    let huge = 10 << 30;
    type Step<'a> = Vec<(&'a str, Whole)>;
    let cases: Vec<(&str, Vec<Step<'_>>)> = vec![
        ("simple", vec![vec![("random-read", n(16_384))]]),
        (
            "places",
            vec![
                vec![("tenth", n(160))],
                vec![("second-half", n(400))],
                vec![("tail", n(80))],
                vec![("by-copy.0", n(80)), ("by-copy.1", n(80)), ("by-copy.2", n(80))],
                vec![("more-than-size", n(160))],
                vec![("less-than-size", n(16))],
                vec![("odd-end", n(16))],
                vec![("twice", n(64))],
            ],
        ),
        (
            "phases",
            vec![
                vec![("fill", n(512))],
                vec![("scan", n(512)), ("late", (Some(500), None, 1, None)), ("after-scan", n(300))],
            ],
        ),
        (
            "bsrange",
            vec![
                vec![("even", (Some(6000), Some(huge), 0, None))],
                vec![("odd-top", (Some(6000), Some(huge), 0, None))],
                vec![("by-direction", (Some(6000), Some(huge), 0, None))],
                vec![("align-other", n(6000))],
            ],
        ),
        ("think", vec![vec![("each", timed(2))], vec![("every-tenth", n(200))]]),
        ("include", vec![vec![("inherits", n(256)), ("overrides", n(512)), ("later-global", n(1024))]]),
    ];
    for (file, expected) in cases {
        let found = lives(
            &lowered(&root.join(file).with_extension("fio"), &Choice::default())
                .unwrap_or_else(|fault| panic!("{fault}")),
        );
        let expected: Vec<Vec<(String, Whole)>> = expected
            .into_iter()
            .map(|step| step.into_iter().map(|(name, whole)| (name.to_owned(), whole)).collect())
            .collect();
        assert_eq!(found, expected, "{file}");
    }
    for (file, copies, operations) in
        [("max-io", 16, 256), ("max-bandwidth", 16, 8), ("real-life", 16, 512), ("units", 8, 1)]
    {
        let found = lives(
            &lowered(&root.join(file).with_extension("fio"), &Choice::default())
                .unwrap_or_else(|fault| panic!("{fault}")),
        );
        assert_eq!((found.len(), found[0].len()), (1, copies), "{file}");
        assert!(found[0].iter().all(|(_, whole)| *whole == n(operations)), "{file}: {found:?}");
    }
    let phases = lowered(&root.join("phases.fio"), &Choice::default()).unwrap();
    assert_eq!(plans(&phases)[1].load.life_of(2).after.as_deref(), Some("scan"));
}

#[test]
fn how_a_job_ends_is_never_guessed() {
    let job = |keys: &str| of(&format!("[a]\nfilename=data.img\n{keys}\n"), &Choice::default(), &around());
    let whole = |keys: &str| lives(&job(keys).unwrap_or_else(|fault| panic!("{keys}: {fault}")))[0][0].1;
    // The file has 64 MiB.
    assert_eq!(whole("rw=read\nbs=1m"), (Some(64), None, 0, None), "the whole file");
    assert_eq!(whole("rw=read\nbs=1m\noffset=60m"), (Some(4), None, 0, None));
    assert_eq!(whole("rw=read\nbs=1m\nruntime=9"), (Some(64), None, 0, Some(9)), "whichever comes first");
    assert_eq!(whole("rw=read\nbs=1m\nsize=8m\nio_size=50%\nloops=3"), (Some(12), None, 0, None));
    assert_eq!(whole("rw=read\nbs=1m\nnumber_ios=5\nloops=3\nstartdelay=7"), (Some(15), None, 7, None));
    assert_eq!(whole("rw=randread\nbsrange=4k-8k\nsize=8m\nloops=2"), (None, Some(16 << 20), 0, None));
    let based = job("rw=read\ntime_based\nruntime=9\nnumber_ios=5").unwrap();
    assert!(
        based.workload.notes.iter().any(|note| note.contains("number_ios=5: without effect")),
        "{:?}",
        based.workload.notes
    );
    // Directions with rates end with their parts of what both move.
    for (keys, reads, writes) in [
        ("rw=randrw\nrate_iops=600,200\nsize=4m", (Some(768), None), (Some(256), None)),
        ("rw=randrw\nrate=4m\nbs=8k\nsize=8m\nloops=2", (Some(1024), None), (Some(1024), None)),
        ("rw=rw\nrate_iops=100\nbs=4k,12k\nsize=16m", (None, Some(4 << 20)), (None, Some(12 << 20))),
        ("rw=rw\nrate_iops=300,100\nnumber_ios=100", (Some(75), None), (Some(25), None)),
        ("rw=rw\nrate_iops=300,100\ntime_based\nruntime=5", (None, None), (None, None)),
    ] {
        let lowered = job(keys).unwrap_or_else(|fault| panic!("{keys}: {fault}"));
        let found: Vec<(Option<u64>, Option<u64>)> = lowered
            .workload
            .load
            .streams
            .iter()
            .map(|stream| (stream.life.operations, stream.life.bytes.map(Bytes::get)))
            .collect();
        assert_eq!(found, [reads, writes], "{keys}");
    }
    for (keys, line, told) in [
        ("rw=read\nfilename=other.img", 1, "the size of its file is not known"),
        ("rw=randrw\nrate_iops=5,\nsize=1m", 5, "ends by what both have moved is not driven yet"),
        ("rw=read\nramp_time=5", 4, "has no warm-up here"),
        ("rw=read\nloops=0", 4, "loops of 0 is out of range"),
        ("rw=read\nstartdelay=1-5", 4, ""),
        ("rw=read\nnumber_ios=80%", 4, ""),
        ("rw=write\nfsync=8\nrate_iops=5", 4, "a flush after writes that have a rate is not driven yet"),
        ("rw=write\nfsync=8\nfdatasync=8", 5, "a job with fsync and fdatasync is not driven yet"),
    ] {
        let fault = job(keys).err().unwrap_or_else(|| panic!("{keys} is refused"));
        assert!(fault.line == line && fault.what.contains(told) && !fault.remedy.is_empty(), "{keys}: {fault}");
    }
    // All copies of a job, in both directions, are waited for.
    for (keys, awaited) in [
        ("numjobs=3", &["a.0", "a.1", "a.2"][..]),
        ("numjobs=2\nrw=randrw", &["a.0", "a.1"]),
        ("rw=randrw\nrate_iops=5\ntime_based\nruntime=3", &["a.reads", "a.writes"]),
        ("numjobs=2\nrw=write\nend_fsync=1", &["a.0.end-flush", "a.1.end-flush"]),
        ("numjobs=2\nread_iolog=reads.log", &["a.0", "a.1"]),
    ] {
        let lowered = job(&format!("{keys}\n[b]\nfilename=data.img\nwait_for=a")).unwrap();
        let plan = plan(&lowered);
        let last = plan.load.streams.iter().position(|stream| stream.name == "b").unwrap() as u16;
        assert_eq!(plan.load.life_of(last).waits_for().collect::<Vec<_>>(), awaited, "{keys}");
    }
    let apart = job("rw=read\n[b]\nstonewall\nfilename=data.img\nwait_for=a").unwrap();
    assert_eq!(
        (apart.workload.timing.steps.len(), plans(&apart)[1].load.life_of(0).after.clone()),
        (2, None),
        "a has ended before"
    );
}

/// Job, keys of it, what the plan says of its first stream and how many there are.
#[test]
fn keys_reach_the_plan() {
    let plain = "[a b]\nfilename=data.img\ntime_based\nruntime=2\n";
    let of = |keys: &str| {
        of(&format!("{plain}{keys}"), &Choice::default(), &around()).map_err(|fault| panic!("{keys}: {fault}")).unwrap()
    };
    let first = |keys: &str| plan(&of(keys)).load.streams[0].clone();
    let address = |keys: &str| first(keys).as_block().unwrap().address.clone();
    let extent = |keys: &str| first(keys).as_block().unwrap().extent.map(|extent| extent.to_string());
    assert_eq!(first("").name, "a-b");
    assert_eq!(first("ioengine=libaio\niodepth=16").arrival, Arrival::Closed { in_flight: 16 });
    assert_eq!(first("iodepth=16").arrival, Arrival::Closed { in_flight: 1 });
    let together = plan(&of("ioengine=libaio\niodepth=4\nthinktime=5ms")).load.loops[0].think.unwrap();
    assert!(together.together && together.every == 1);
    assert_eq!(first("thinktime=10ms").arrival, Arrival::Paced { pause: assay_base::Span::from_ms(10) });
    assert_eq!(address("rw=read"), Address::Sequential);
    assert_eq!(address("rw=randread\nbs=8k"), Address::Once { unit: Bytes::new(8192) });
    assert_eq!(address("rw=randread\nbs=8k\nnorandommap"), Address::Uniform { align: Bytes::new(8192) });
    assert_eq!(address("rw=randread\nbs=8k\nba=2k"), Address::Uniform { align: Bytes::new(2048) });
    assert_eq!(address("rw=randread\nbsrange=4k-16k"), Address::Uniform { align: Bytes::new(4096) });
    assert_eq!(address("rw=randread:8\nnorandommap").to_string(), "sequential runs of 32KiB from uniform starts");
    assert_eq!(
        address("rw=randread\nrandom_distribution=zipf:1.1").to_string(),
        "Zipf 1.1 over places of 4KiB, scattered"
    );
    assert_eq!(
        address("rw=randread\nrandom_distribution=zoned:60/10:30/20:8/30:2/40").to_string(),
        "60% in 10%, 30% in 20%, 8% in 30%, 2% in 40% over places of 4KiB, in order from the start"
    );
    for (keys, said) in [
        ("rw=read:4k", "sequential, 4KiB behind the end of the last one, wraps"),
        ("rw=read:-8k", "sequential, 8KiB back from the end of the last one, wraps"),
        ("rw=randread:4\nrw_sequencer=identical\nnorandommap", "uniform over blocks, each place 4 times"),
        ("rw=read\nrw_sequencer=identical", "sequential, wraps"),
        ("rw=randread\npercentage_random=25\nnorandommap", "sequential runs of 16KiB in the mean from uniform starts"),
        ("rw=randread\npercentage_random=0\nnorandommap", "sequential, wraps"),
        ("rw=randread\npercentage_random=100\nnorandommap", "uniform over multiples of 4KiB"),
        ("rw=randread\nrandom_distribution=pareto:0.2", "Pareto 20% over places of 4KiB, scattered"),
        (
            "rw=randread\nrandom_distribution=normal:10",
            "a bell of 10% around the middle over places of 4KiB, in order from the start",
        ),
        (
            "rw=randread\nrandom_distribution=zoned_abs:70/8m:20/16m:10/8m",
            "70% in 25%, 20% in 50%, 10% in 25% over places of 4KiB, in order from the start",
        ),
    ] {
        assert_eq!(address(keys).to_string(), said, "{keys}");
    }
    assert_eq!(
        extent("rw=randread\noffset=1m\nrandom_distribution=zoned_abs:70/8m:20/16m:10/8m"),
        Some("within 32MiB from 1MiB on".to_owned())
    );
    assert_eq!(extent("size=10%"), Some("within 6552KiB from 0B on".to_owned()));
    assert_eq!(extent("offset=50%\nsize=25%"), Some("within 16MiB from 32MiB on".to_owned()));
    let copies = plan(&of("numjobs=3\noffset=1m\noffset_increment=10m\nsize=5m"));
    let begins: Vec<String> =
        copies.load.streams.iter().map(|stream| stream.as_block().unwrap().extent.unwrap().begin.to_string()).collect();
    assert_eq!(begins, ["1MiB", "11MiB", "21MiB"]);
    let write = first("rw=randwrite\nsync=1\nbuffer_compress_percentage=30\ndedupe_percentage=20");
    let block = write.as_block().unwrap();
    assert_eq!(
        (block.durable, block.compress_to.to_string(), block.duplicates.to_string()),
        (true, "70%".into(), "20%".into())
    );
    let warm = plan(&of("ramp_time=5"));
    assert_eq!(
        (warm.timing.warm_up().longest_warm_up().as_secs_f64(), warm.timing.measured_length().as_secs_f64()),
        (5.0, 2.0)
    );
    let bounds = of("rw=randread\nmax_latency=5ms\nrate_iops_min=100\nrate_min=1m\nrate_cycle=2000").workload.criteria;
    let bounds: Vec<String> = bounds.iter().map(ToString::to_string).collect();
    assert_eq!(bounds.len(), 3, "{bounds:?}");
    assert_eq!(of("randseed=7\nioscheduler=none").workload.seed, Some(7));
}

/// Jobs with keys of their own, and for each file what the plan says of the page cache.
#[test]
fn jobs_use_the_page_cache_as_fio_does_where_that_is_allowed() {
    let cached = |text: &str, page_cache: bool| {
        let choice = Choice { page_cache, ..Choice::default() };
        let lowered = of(text, &choice, &around()).map_err(|fault| panic!("{text}: {fault}")).unwrap();
        serde_json::to_string(&lowered.workload.caches.page).unwrap()
    };
    let job = |keys: &str| format!("[a]\nfilename=data.img\nsize=1m\n{keys}\n");
    for (keys, told) in [
        ("", r#"[{"target":0,"advice":"sequential"}]"#),
        ("rw=randread", r#"[{"target":0,"advice":"random"}]"#),
        ("direct=0\ninvalidate=0", r#"[{"target":0,"advice":"sequential","keep":true}]"#),
        ("invalidate=1\nfadvise_hint=0", r#"[{"target":0}]"#),
        ("fadvise_hint=random", r#"[{"target":0,"advice":"random"}]"#),
        ("direct=1", "[]"),
        ("buffered=0", "[]"),
        ("direct=1\nbuffered=1", r#"[{"target":0,"advice":"sequential"}]"#),
        ("buffered=1\ndirect=1", "[]"),
        ("ioengine=null", "[]"),
        ("read_iolog=reads.log", r#"[{"target":0,"advice":"sequential"}]"#),
    ] {
        assert_eq!(cached(&job(keys), true), told, "{keys}");
        assert_eq!(cached(&job(keys), false), "[]", "{keys}: not without being asked for");
    }
    // Two jobs on one file: what is true of both.
    let two = format!("{}[b]\nfilename=data.img\nsize=1m\nrw=randread\n", job("invalidate=0"));
    assert_eq!(cached(&two, true), r#"[{"target":0}]"#);
    let files = "[global]\nsize=1m\n[a]\nfilename=x:y\n[b]\nfilename=z\ndirect=1\n";
    assert_eq!(cached(files, true), r#"[{"target":0,"advice":"sequential"},{"target":1,"advice":"sequential"}]"#);
    let choice = Choice { page_cache: true, ..Choice::default() };
    for (text, line, what) in [
        (format!("{}[b]\nfilename=data.img\nsize=1m\ndirect=1\n", job("")), 8, "through the page cache by the other"),
        (job("fadvise_hint=soon"), 4, "not an order that the kernel is told here"),
        (job("direct=maybe"), 4, "direct is a switch"),
    ] {
        let fault = of(&text, &choice, &around()).unwrap_err();
        assert!(fault.line == line && fault.what.contains(what), "{fault}");
    }
    let none = of(&job("direct=1"), &choice, &around()).unwrap().workload.notes;
    assert!(none.iter().any(|note| note.starts_with("--page-cache changes nothing")), "{none:?}");
    // Sizes are rounded up to blocks by direct I/O alone.
    let rounds = |choice: &Choice| {
        let notes = of(&job("bs=1000"), choice, &around()).unwrap().workload.notes;
        notes.iter().any(|note| note.contains("are rounded up to them"))
    };
    assert!(rounds(&Choice::default()) && !rounds(&choice));
}

/// Keys of two jobs that write, of which each is a step of its own or not, and what each step does with its data.
#[test]
fn what_is_verified_is_what_each_job_asks_for() {
    for (first, second, verified) in [
        ("verify=crc32c", "", &[(true, false)][..]),
        ("verify=crc32c\ndo_verify=0", "", &[(true, true)]),
        ("verify=crc32c\ndo_verify=0", "verify=md5", &[(true, false)]),
        ("do_verify=0", "verify=null", &[(false, false)]),
        ("verify=crc32c\ndo_verify=0", "stonewall\nverify=md5", &[(true, true), (true, false)]),
        ("verify=crc32c", "stonewall", &[(true, false), (false, false)]),
        ("verify=crc32c\nrw=read", "stonewall", &[(true, false), (false, false)]),
        ("verify=crc32c\nrw=read\ndo_verify=0", "stonewall", &[(false, false), (false, false)]),
    ] {
        let text = format!("[global]\nfilename=data.img\nsize=1m\nrw=write\n[a]\n{first}\n[b]\n{second}\n");
        let lowered = of(&text, &Choice::default(), &around()).unwrap();
        let plans = plans(&lowered);
        let found: Vec<(bool, bool)> =
            plans.iter().map(|plan| (plan.verification.verify, plan.verification.leave_sealed)).collect();
        assert_eq!(found, verified, "{first}; {second}");
        for plan in &plans {
            let back = plan.load.streams.iter().any(|stream| stream.reads_back());
            assert_eq!(
                back,
                plan.verification.verify && !plan.verification.leave_sealed && plan.load.writes_targets(),
                "{first}; {second}"
            );
        }
    }
    let both = "[global]\nfilename=data.img\nsize=1m\nrw=write\nverify=md5\n[a]\ndo_verify=0\n[b]\n";
    let notes = of(both, &Choice::default(), &around()).unwrap().workload.notes;
    assert!(
        notes.iter().any(|note| note.contains(":7: do_verify=0: what was written is read back nevertheless")),
        "{notes:?}"
    );
    let fault = of("[a]\nfilename=data.img\nsize=1m\nverify=md5\ndo_verify=no\n", &Choice::default(), &around());
    assert!(fault.is_err_and(|fault| fault.line == 5 && fault.what == "do_verify is a switch"));
}

/// Reads and writes of a job share the depth of each copy, and each block comes once for both together.
#[test]
fn a_mix_is_a_loop_for_each_copy() {
    let root = common::roots().into_iter().next().unwrap().join("fio");
    let text = std::fs::read_to_string(root.join("real-life.fio")).unwrap();
    let text = text.replace("direct=1", "direct=1\ntime_based\nruntime=2");
    let plan = plan(&of(&text, &Choice::default(), &around()).unwrap_or_else(|fault| panic!("{fault}")));
    assert_eq!((plan.load.loops.len(), plan.load.streams.len(), plan.load.targets), (16, 32, 16));
    assert!(plan.load.loops.iter().all(|it| (it.in_flight, it.copies, it.think) == (32, 1, None)));
    assert!(plan.load.lanes.iter().all(|lane| (lane.streams.len(), lane.in_flight_bound) == (2, 32)));
    for (at, pair) in plan.load.streams.chunks(2).enumerate() {
        for (stream, percent) in pair.iter().zip([80, 20]) {
            let Arrival::Looped { looped, share, .. } = &stream.arrival else { panic!("{stream:?}") };
            assert_eq!((looped.as_str(), *share), (format!("real-life.{at}").as_str(), Share::from_percent(percent)));
            let block = stream.as_block().unwrap();
            assert_eq!(
                (block.places.as_deref(), &block.address),
                (Some(looped.as_str()), &Address::Once { unit: Bytes::new(8192) })
            );
        }
    }
    let shares = |keys: &str| -> Vec<(String, u64)> {
        let text = format!("[a]\nfilename=data.img\ntime_based\nruntime=2\nrw=randrw\n{keys}\n");
        let streams =
            of(&text, &Choice::default(), &around()).unwrap_or_else(|fault| panic!("{fault}")).workload.load.streams;
        let share = |stream: &assay_model::Stream| {
            stream.arrival.share_of_loop().map_or(0, |share| share.as_ppb() / 10_000_000)
        };
        streams.iter().map(|stream| (stream.name.clone(), share(stream))).collect()
    };
    let (reads, writes) = ("a.reads".to_owned(), "a.writes".to_owned());
    for (keys, expected) in [
        ("", vec![(reads.clone(), 50), (writes.clone(), 50)]),
        ("rwmixread=70", vec![(reads.clone(), 70), (writes.clone(), 30)]),
        ("rwmixread=70\nrwmixwrite=40", vec![(reads.clone(), 60), (writes.clone(), 40)]),
        ("rwmixwrite=40\nrwmixread=70", vec![(reads.clone(), 70), (writes.clone(), 30)]),
        // No loop of one: it is an ordinary one, which has no share.
        ("rwmixread=100", vec![(reads, 0)]),
        ("rwmixread=0", vec![(writes, 0)]),
    ] {
        assert_eq!(shares(keys), expected, "{keys}");
    }
    let think = "[a]\nfilename=data.img\ntime_based\nruntime=2\nrw=randread\nthinktime=50000\nthinktime_blocks=10\n";
    let own = of(think, &Choice::default(), &around()).unwrap().workload.load.loops.remove(0);
    let think = own.think.unwrap();
    assert_eq!((own.in_flight, think.every, think.time), (1, 10, assay_base::Span::from_ms(50)));
}

#[test]
fn sections_set_defaults_for_those_behind_them() {
    let text = "[global]\ntime_based\nruntime=1\nfilename=data.img\nbs=8k\n[one]\n[global-more]\nbs=16k\n[two]\n[three]\nbs=1k\nbs=${BS}\n[four]\nbs=$pagesize*2 ; twice\n";
    let sizes = |text: &str| -> Vec<String> {
        let lowered = of(text, &Choice::default(), &around()).unwrap_or_else(|fault| panic!("{fault}"));
        lowered.workload.load.streams.iter().map(|stream| stream.as_block().unwrap().size.to_string()).collect()
    };
    assert_eq!(sizes(text), ["8KiB", "16KiB", "16KiB", "8KiB"]);
    let lines = of(text, &section("three"), &around()).unwrap().keys;
    let told: Vec<&str> =
        lines.iter().map(|line| line.means.as_str()).filter(|means| means.contains("replaced")).collect();
    assert_eq!(told, ["replaced in line 12"]);
    let root = common::roots().into_iter().next().unwrap().join("fio");
    let inherits = TestFiles { dir: root.clone(), data: Some(16 << 20) };
    let text = std::fs::read_to_string(root.join("include.fio"))
        .unwrap()
        .replace("ioengine=psync", "ioengine=psync\ntime_based\nruntime=1");
    let lowered = of(&text, &Choice::default(), &inherits).unwrap_or_else(|fault| panic!("{fault}"));
    let sizes: Vec<String> =
        lowered.workload.load.streams.iter().map(|stream| stream.as_block().unwrap().size.to_string()).collect();
    assert_eq!(sizes, ["32KiB", "16KiB", "4KiB"]);
    assert!(lowered.keys.iter().any(|line| line.file == "include-common.inc"));
}

#[test]
fn files_may_be_other_targets() {
    let text = "[global]\ntime_based\nruntime=1\nsize=1m\n[a]\nfilename=E\\:\\test\n[b]\ndirectory=/x:/y\nnumjobs=3\n[c]\nioengine=null\nsize=8m\n";
    let targets = |choice: &Choice| of(text, choice, &around()).map(|lowered| lowered.workload.targets.paths);
    let plain = ["E:\\test", "/x/b.0.0", "/y/b.1.0", "/x/b.2.0", "null:8388608B"];
    assert_eq!(targets(&Choice::default()).unwrap(), plain);
    let map = |from: &str| Choice { maps: vec![(from.to_owned(), "/dev/sdz".to_owned())], ..Choice::default() };
    for from in ["E:\\test", "E\\:\\test"] {
        assert_eq!(targets(&map(from)).unwrap()[0], "/dev/sdz", "{from}");
    }
    assert!(targets(&map("F")).unwrap_err().what.contains("no job has a file F"));
    let typed =
        |names: &[&str]| Choice { targets: names.iter().map(|name| (*name).to_owned()).collect(), ..Choice::default() };
    let all = ["t1", "t2", "t3", "t4", "null:1GiB"];
    assert_eq!(targets(&typed(&all)).unwrap(), all);
    for given in 1..=6 {
        let given: Vec<&str> = all.iter().chain(&["t6"]).copied().take(given).collect();
        let what = targets(&typed(&given)).err().map(|fault| fault.what);
        let files = "the jobs have 5 files (E:\\test, /x/b.0.0, /y/b.1.0, /x/b.2.0 and 1 more)";
        let expected = format!(
            "{files}, and the command line names {} target{}",
            given.len(),
            if given.len() == 1 { "" } else { "s" }
        );
        assert_eq!(what, (given.len() != all.len()).then_some(expected));
    }
    assert!(of(text, &section("nobody"), &around()).unwrap_err().remedy.contains("the jobs are a, b, c"));
}

/// A share of a file that has no target, and an end that nobody knows, follow from the missing target and are not told first.
#[test]
fn a_target_too_few_is_named_before_what_follows_from_it() {
    let typed = Choice { targets: vec!["data.img".to_owned()], ..Choice::default() };
    for keys in ["size=100%\ntime_based\nruntime=1", "offset=20%\nsize=20%", ""] {
        let text = format!("[global]\n{keys}\n[a]\nfilename=/dev/sdb\n[b]\nfilename=/dev/sdc\n");
        let fault = of(&text, &typed, &around()).unwrap_err();
        assert!(fault.what.starts_with("the jobs have 2 files (/dev/sdb, /dev/sdc)"), "{keys}: {fault}");
        assert!(fault.remedy.contains("--map FILE=TARGET"), "{fault}");
        let one = Choice { sections: vec!["b".to_owned()], ..typed.clone() };
        assert_eq!(of(&text, &one, &around()).unwrap().workload.targets.paths, ["data.img"], "{keys}");
    }
}

/// Texts that have no job in them, or far too much.
#[test]
fn hostile_texts_are_refused() {
    let many = |line: &str, n: usize| format!("[a]\n{}", line.repeat(n));
    for text in [
        String::new(),
        "[".into(),
        "[]".into(),
        "[a".into(),
        "[a] b".into(),
        "[a]\n=".into(),
        "[a]\nbs".into(),
        "[a]\nbs=".into(),
        "[a]\nbs=${NOT_SET}".into(),
        "[a]\nbs=$ncpus/0".into(),
        "[a]\ninclude nothing-of-this-name".into(),
        "[a]\nnumjobs=99999999".into(),
        "[a]\nnumjobs=0".into(),
        "[a]\niodepth=0".into(),
        "[a]\nrate_iops=99999999999999p".into(),
        "[a]\noffset=18446744073709551615\noffset_increment=18446744073709551615\nnumjobs=3".into(),
        "[a]\nrw=é".into(),
        "\u{0}".into(),
        "x".repeat(2 << 20),
        many("bs=4k\n", 70_000),
        "[a]\n".repeat(4097),
        many("bssplit=4k/1:", 3000),
    ] {
        let fault = of(&text, &Choice::default(), &around()).unwrap_err();
        assert!(!fault.what.is_empty() && fault.to_string().len() < 4000, "{fault}");
    }
}

/// Two files of 64 MiB.
const TWO: &str = "[a]\nfilename=data.img:b/data.img\nrw=read\n";

#[test]
fn several_files_of_a_copy_are_one_loop_that_takes_turns() {
    let of = |keys: &str| {
        of(&format!("{TWO}{keys}\n"), &Choice::default(), &around()).map_err(|fault| panic!("{keys}: {fault}")).unwrap()
    };
    // What fio 3.33 does with each: the order of the files, the part of each, and the operations of all.
    for (keys, next, operations, passes, part, all) in [
        ("size=2m", NextTarget::InTurn, 1, false, Some(1 << 20), 512),
        ("", NextTarget::InTurn, 1, false, None, 32_768),
        ("size=2m\nfile_service_type=roundrobin:8", NextTarget::InTurn, 8, false, Some(1 << 20), 512),
        ("size=2m\nfile_service_type=random", NextTarget::Random, 1, true, Some(1 << 20), 512),
        (
            "size=2m\nrw=randread\nnorandommap\nfile_service_type=random:4",
            NextTarget::Random,
            4,
            false,
            Some(1 << 20),
            512,
        ),
        ("size=2m\nfile_service_type=sequential", NextTarget::OneAfterAnother, 1, false, Some(1 << 20), 512),
        ("size=25%", NextTarget::InTurn, 1, false, Some(16 << 20), 8192),
        ("filesize=1m", NextTarget::InTurn, 1, false, Some(1 << 20), 512),
        ("filesize=4m\nsize=2m", NextTarget::InTurn, 1, false, Some(4 << 20), 512),
        ("filesize=1m\nsize=4m", NextTarget::InTurn, 1, false, Some(1 << 20), 512),
        // 37.5 operations for each file, of which fio gives the first one 38.
        ("size=300k", NextTarget::InTurn, 1, false, Some(152 << 10), 75),
        ("size=2m\nnumber_ios=100", NextTarget::InTurn, 1, false, Some(1 << 20), 100),
        ("size=2m\nio_size=3m", NextTarget::InTurn, 1, false, Some(1 << 20), 768),
    ] {
        let plan = plan(&of(keys));
        assert_eq!((plan.load.loops.len(), plan.load.streams.len(), plan.load.targets), (1, 1, 2), "{keys}");
        let turns = plan.load.loops[0].turns.unwrap();
        assert_eq!((turns.next, turns.operations, turns.passes), (next, operations, passes), "{keys}");
        let length = plan.load.streams[0].as_block().unwrap().extent.and_then(|extent| extent.length);
        assert_eq!(length.map(|length| length.to_string().parse::<Bytes>().unwrap().get()), part, "{keys}");
        assert_eq!(
            (plan.load.loops[0].life.operations, &plan.load.streams[0].targets),
            (Some(all), &vec![0, 1]),
            "{keys}"
        );
    }
    let copies = plan(&of("size=2m\nnumjobs=2\niodepth=8\nioengine=libaio\nend_fsync=1\nrw=randrw"));
    assert_eq!(
        (copies.load.loops.len(), copies.load.streams.len(), copies.load.lane_bounds()),
        (2, 6, vec![vec![512, 8, 8]; 2])
    );
    let names = |keys: &str| {
        let lowered = files_of(&format!("[a]\ntime_based\nruntime=1\n{keys}\n"));
        lowered.join(" ")
    };
    assert_eq!(names("nrfiles=3"), "a.0.0 a.0.1 a.0.2");
    assert_eq!(names("nrfiles=2\nnumjobs=2\ndirectory=x:y/"), "x/a.0.0 x/a.0.1 y/a.1.0 y/a.1.1");
    assert_eq!(names("nrfiles=2\nfilename_format=f.$filenum"), "f.0 f.1");
    assert_eq!(names("nrfiles=2\nfilename=x:y\\:z:w"), "x y:z w", "names count, not their number");
    // One file needs no loop, whatever the order.
    let one = plan(&of("filename=data.img\nfile_service_type=random"));
    assert_eq!((one.load.loops.len(), one.load.targets), (0, 1));
}

/// The files of a job.
fn files_of(text: &str) -> Vec<String> {
    of(text, &Choice::default(), &around()).unwrap_or_else(|fault| panic!("{fault}")).workload.targets.paths
}

#[test]
fn several_files_that_cannot_be_driven_are_refused_at_their_place() {
    for (keys, line, told) in [
        ("file_service_type=zipf:1.1", 4, "not driven here"),
        ("file_service_type=roundrobin:0", 4, "not a number of operations"),
        ("file_service_type=roundrobin:x", 4, "not a number of operations"),
        ("file_service_type=sequential:8", 4, "has no number"),
        ("file_service_type=sequential\nbsrange=4k-8k", 4, "places come again or sizes differ"),
        ("rw=randread\nnorandommap\nfile_service_type=sequential", 6, "places come again"),
        ("rate_iops=100\nfile_service_type=sequential", 5, "one file after the other at a rate is not driven yet"),
        ("rw=write\nfsync=4", 5, "a flush after writes to several files"),
        ("filename=data.img:data.img", 4, "names the same file twice"),
        ("filename=:", 4, "no file is named"),
        ("size=4k", 4, "smaller than an operation"),
        ("size=200m", 4, "beyond the end"),
        ("filesize=65m", 4, "beyond the end"),
        ("filesize=1k", 4, "smaller than an operation"),
        ("filesize=1m-2m", 4, "a length of files that is drawn"),
        ("nrfiles=0", 4, "nrfiles of 0 is out of range"),
        ("nrfiles=257", 4, "out of range"),
    ] {
        let fault = of(&format!("{TWO}{keys}\n"), &Choice::default(), &around()).err();
        let fault = fault.unwrap_or_else(|| panic!("{keys} is refused"));
        assert!(fault.line == line && fault.what.contains(told) && !fault.remedy.is_empty(), "{keys}: {fault}");
    }
}

#[test]
fn a_recording_takes_the_place_of_a_jobs_own_operations() {
    let of = |keys: &str| of(&format!("[a]\n{keys}\n"), &Choice::default(), &around());
    let plan = plan(
        &of("read_iolog=mix.log\nnumjobs=2\nioengine=libaio\niodepth=8\nsize=1m\nrw=randwrite\nstartdelay=1").unwrap(),
    );
    let stream = |at: usize| {
        let it = &plan.load.streams[at];
        let recording = it.arrival.played_recording().unwrap();
        (it.name.as_str(), it.life.operations, it.life.start.as_ns(), recording.operations, recording.reaches.get())
    };
    // fio counts times from the beginning of the job: the first operation comes after 3 ms, and the delay.
    assert_eq!(stream(0), ("a.0.reads", Some(2), 1_003_000_000, 2, 8192));
    assert_eq!(stream(3), ("a.1.writes", Some(1), 1_003_000_000, 1, 16_384));
    assert_eq!((plan.load.streams.len(), plan.load.lanes.len(), plan.load.lanes[0].in_flight_bound), (4, 4, 8));
    let notes = plan.notes.remarks.join("\n");
    for told in [
        "size=1m: without effect",
        "rw=randwrite: without effect",
        "1 operations are neither reads nor writes",
        "its wait counts",
    ] {
        assert!(notes.contains(told), "{told}: {notes}");
    }
    let reads = of("read_iolog=reads.log").unwrap();
    assert_eq!((reads.workload.load.streams.len(), reads.workload.load.streams[0].name.as_str()), (1, "a"));
    assert_eq!(reads.workload.targets.paths, ["data.img"], "the recording names its file");
    for (keys, line, told) in [
        ("read_iolog=absent.log", 2, "there is none"),
        ("read_iolog=untimed.log", 2, "an operation without a time"),
        ("read_iolog=far.log", 2, "beyond the end of data.img"),
        ("read_iolog=", 2, "has no value"),
        (
            "read_iolog=mix.log\nnumber_ios=5",
            3,
            "a recording with an end or a place of the job's own is not driven yet",
        ),
        ("read_iolog=mix.log\noffset=4k", 3, "not driven yet"),
        ("read_iolog=mix.log\nrate_iops=5", 3, "not driven yet"),
        ("read_iolog=mix.log\nfsync=5", 3, "not driven yet"),
        ("read_iolog=mix.log\nthinktime=5", 3, "not driven yet"),
        ("read_iolog=mix.log\nreplay_redirect=b", 3, "is not driven"),
        ("read_iolog=mix.log\nnumjobs=200", 3, "more streams than run together in a step"),
    ] {
        let fault = of(keys).err().unwrap_or_else(|| panic!("{keys} is refused"));
        assert!(fault.line == line && fault.what.contains(told) && !fault.remedy.is_empty(), "{keys}: {fault}");
    }
}
