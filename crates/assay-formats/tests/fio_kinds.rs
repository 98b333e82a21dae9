//! Kinds of job files that people share: what each of them becomes, or the reason for which it is refused.

#![allow(clippy::unwrap_used)]

use crate::common;

use assay_base::{Bytes, Fault, Geometry, Instant, Share, Span};
use assay_formats::fio::{Choice, Lowered};
use assay_model::arrival::{Part, Pauses};
use assay_model::generator::Generator;
use assay_model::turns::{NextTarget, Turns};
use assay_model::{Address, Arrival, Plan};
use common::fio::{TestFiles, around, of, plan, plans};

/// A job on a file of 64 MiB.
fn job(keys: &str) -> Result<Lowered, Fault> {
    of(&format!("[a]\nfilename=data.img\n{keys}\n"), &Choice::default(), &around())
}

fn accepted(keys: &str) -> Lowered {
    job(keys).unwrap_or_else(|fault| panic!("{keys}: {fault}"))
}

fn refused(keys: &str) -> Fault {
    job(keys).err().unwrap_or_else(|| panic!("{keys} is refused"))
}

fn address(keys: &str) -> Address {
    plan(&accepted(keys)).load.streams[0].as_block().unwrap().address.clone()
}

/// The first offsets of a stream, by a worker of its own, in blocks of `unit` bytes.
fn offsets(plan: &Plan, stream: u16, unit: u64, n: usize) -> Vec<u64> {
    let (whole, target) = (Part { index: 0, of: 1 }, plan.load.targets_of(stream).next().unwrap());
    let geometry = Geometry { size: 64 << 20, block: 512 };
    let mut generator = Generator::new(plan, stream, target, geometry, whole, Instant::ZERO).unwrap();
    (0..n).map(|_| generator.next_operation(Instant::ZERO).offset / unit).collect()
}

#[test]
fn time_based_without_a_runtime_lasts_as_long_as_the_command_line_says() {
    let text = "[global]\ntime_based\nfilename=data.img\n[a]\nrw=randread\n[b]\nrw=read\nruntime=7\n[c]\nstonewall\nruntime=0\n";
    let lasts = |measure: Option<Span>| {
        let choice = Choice { measure, ..Choice::default() };
        let lowered = of(text, &choice, &around())?;
        let own = |plan: &Plan| {
            let lives =
                (0..).zip(&plan.load.streams).map(|(at, stream)| (stream.name.clone(), plan.load.life_of(at).lasts));
            lives.collect::<Vec<_>>()
        };
        Ok::<_, Fault>(plans(&lowered).iter().flat_map(own).collect::<Vec<_>>())
    };
    let seconds = |n| Some(Span::from_secs(n));
    let all = [("a", seconds(5)), ("b", seconds(7)), ("c", seconds(5))].map(|(name, lasts)| (name.to_owned(), lasts));
    assert_eq!(lasts(seconds(5)).unwrap(), all);
    let fault = lasts(None).unwrap_err();
    assert_eq!(
        (fault.line, fault.what.as_str(), fault.remedy.as_str()),
        (2, "nothing says how long the job runs", "add runtime=, or give --for")
    );
    // One job alone, or several that last equally long, are the whole workload.
    let choice = Choice { measure: seconds(9), ..Choice::default() };
    let one = of("[a]\nfilename=data.img\ntime_based=1\nnumjobs=3\n", &choice, &around()).unwrap();
    assert_eq!((one.workload.timing.duration, plan(&one).load.has_lives()), (Span::from_secs(9), false));
    // Jobs that end by what they have moved do so whatever the command line says.
    let sized = of("[a]\nfilename=data.img\nsize=1m\n", &choice, &around()).unwrap();
    assert_eq!(plan(&sized).load.streams[0].life.operations, Some(256));
}

#[test]
fn streams_are_counted_in_each_step() {
    // As people write a matrix: seven steps of forty copies.
    let steps = |n: usize, copies: usize| {
        let section = |at: usize| format!("[j{at}]\nstonewall\nnumjobs={copies}\n");
        let sections: String = (0..n).map(section).collect();
        of(&format!("[global]\nbs=4k\nsize=16m\nrw=read\nfilename=data.img\n{sections}"), &Choice::default(), &around())
    };
    let all = steps(7, 40).unwrap();
    assert_eq!(plans(&all).iter().map(|plan| plan.load.streams.len()).collect::<Vec<_>>(), [40; 7]);
    assert_eq!(plans(&steps(3, 256).unwrap())[2].load.streams.len(), 256);
    let names = "[global]\nsize=1m\nfilename=data.img\nnumjobs=130\n";
    let fault = of(&format!("{names}[a]\n[b]\n"), &Choice::default(), &around()).unwrap_err();
    assert_eq!((fault.line, fault.what.as_str()), (4, "more streams than run together in a step"));
    let apart = of(&format!("{names}[a]\n[b]\nstonewall\n"), &Choice::default(), &around()).unwrap();
    assert_eq!(apart.workload.in_steps().len(), 2);
    // What is in flight is counted in each step, too.
    let deep = |wall: &str| {
        let text = format!("[global]\nioengine=libaio\niodepth=9000\nfilename=data.img\n[a]\n[b]\n{wall}\n");
        of(&text, &Choice::default(), &around())
    };
    assert!(deep("").unwrap_err().what.contains("18000 operations would be in flight"));
    assert_eq!(plans(&deep("stonewall").unwrap()).len(), 2);
}

#[test]
fn a_file_may_have_thousands_of_steps() {
    let sections = |n: usize| (0..n).map(|at| format!("[job]\nstonewall\nbs={}k\n", at % 64 + 1)).collect::<String>();
    let text = |n: usize| format!("[global]\nfilename=data.img\nsize=16m\nrw=randrw\n{}", sections(n));
    let all = of(&text(4095), &Choice::default(), &around()).unwrap();
    let steps = all.workload.in_steps();
    assert_eq!((steps.len(), steps[4094].load.streams[1].name.as_str()), (4095, "job.writes.4095"));
    assert_eq!((steps[9].load.loops.len(), steps[9].load.lanes.len()), (1, 1));
    let fault = of(&text(4096), &Choice::default(), &around()).unwrap_err();
    assert!(fault.what.contains("more sections") && fault.remedy.contains("4096"), "{fault}");
}

/// A note about one job is not a note about the others.
#[test]
fn notes_belong_to_the_step_of_their_job() {
    let text = "[global]\nfilename=data.img\nsize=1m\n[a]\nrw=randread\nrandom_distribution=zipf:1.1\n[b]\nstonewall\nrw=read\niodepth=4\n";
    let notes: Vec<String> = plans(&of(text, &Choice::default(), &around()).unwrap())
        .iter()
        .map(|plan| plan.notes.remarks.join("\n"))
        .collect();
    assert!(notes[0].contains("law of Zipf") && !notes[0].contains("iodepth is 4"), "{}", notes[0]);
    assert!(!notes[1].contains("law of Zipf") && notes[1].contains("iodepth is 4"), "{}", notes[1]);
}

#[test]
fn a_third_value_is_for_discards_and_does_nothing() {
    for keys in [
        "bs=4k,8k,16k",
        "rate_iops=100,100,100",
        "rate=1m,2m,3m",
        "ba=4k,4k,1m",
        "bsrange=4k-8k,8k-16k,1m-1m",
        "bssplit=4k/50:8k/50,8k/100,16k/100",
        "percentage_random=100,0,2",
        "rate_iops_min=1,1,1",
        "rate_min=1k,1k,1k",
        "random_distribution=zoned:60/10:40/90,50/50:50/50,100/100",
        "random_distribution=zoned_abs:60/8m:40/16m,50/8m:50/16m,100/24m",
    ] {
        let two = keys.rsplit_once(',').unwrap().0;
        let timed = |keys: &str| plan(&accepted(&format!("rw=randrw\ntime_based\nruntime=1\n{keys}")));
        let (three, plain) = (timed(keys), timed(two));
        assert_eq!(three.load.streams, plain.load.streams, "{keys}");
        let told = three.notes.remarks.iter().any(|note| note.contains("third value is without effect"));
        assert!(told || keys.contains("zoned"), "{keys}: {:?}", three.notes.remarks);
        let fault = refused(&format!("rw=randrw\ntime_based\nruntime=1\n{keys},7"));
        assert!(fault.line == 6 && !fault.remedy.is_empty(), "{fault}");
        // A third value that is none is refused.
        if !keys.contains("zoned") {
            assert!(job(&format!("rw=randrw\ntime_based\nruntime=1\n{two},?")).is_err(), "{two},?");
        }
    }
    let trim = refused("rw=randtrim\nbs=4k,4k,4k");
    assert_eq!((trim.line, trim.what.as_str()), (3, "discards are not measured here"));
}

/// The offsets are those of fio 3.33, as its iolog has them.
#[test]
fn strided_zones_are_gone_through_as_fio_does() {
    for (keys, expected, operations) in [
        // Eight operations in zones that are eight MiB apart.
        (
            "rw=read\nbs=1m\nfilesize=64m\nsize=8m\nzonemode=strided\nzonesize=2m\nzoneskip=6m",
            &[0, 1, 8, 9, 16, 17, 24, 25][..],
            8,
        ),
        ("rw=read\nbs=1m\nsize=32m\nzonesize=2m\nzoneskip=6m", &[0, 1, 8, 9, 16, 17, 24, 25, 32, 33], 32),
        (
            "rw=read\nbs=1m\nzonemode=strided\nzonesize=6m\nzonerange=4m\nzoneskip=6m",
            &[0, 1, 2, 3, 0, 1, 10, 11, 12],
            64,
        ),
        ("rw=write\nbs=1m\nzonemode=strided\nzonesize=2m\nzonerange=4m\nzoneskip=6m", &[0, 1, 10, 11, 20, 21, 30], 64),
        (
            "rw=read\nbs=1m\nzonemode=strided\nzonesize=3m\nzoneskip=4m\noffset=2m",
            &[2, 3, 4, 9, 10, 11, 16, 17, 18, 23],
            62,
        ),
        ("rw=read\nbs=1m\nzonemode=strided\nzonesize=2m\nzoneskip=0", &[0, 1, 2, 3, 4, 5], 64),
        ("rw=read\nbs=1m\nzonemode=strided\nzonesize=2m\nzoneskip=6m\nnumber_ios=40", &[0, 1, 8, 9], 40),
    ] {
        let plan = plan(&accepted(keys));
        assert_eq!(offsets(&plan, 0, 1 << 20, expected.len()), expected, "{keys}");
        assert_eq!(plan.load.streams[0].life.operations, Some(operations), "{keys}");
    }
    // Within a zone each block comes once, or places are drawn; reads and writes share the zone.
    let once = plan(&accepted("rw=randread\nbs=1m\nzonesize=4m\nzonerange=4m\nzoneskip=6m"));
    for (at, zone) in offsets(&once, 0, 1 << 20, 28).chunks(4).enumerate() {
        let mut places = zone.to_vec();
        places.sort_unstable();
        assert_eq!(places, (at as u64 * 10..at as u64 * 10 + 4).collect::<Vec<_>>());
    }
    let drawn = address("rw=randread\nbs=1m\nnorandommap\nzonesize=4m\nzoneskip=6m");
    assert_eq!(
        drawn.to_string(),
        "bands of 4MiB with 6MiB between them, 4MiB in each and then the next, uniform over multiples of 1MiB"
    );
    let both = plan(&accepted("rw=randrw\nbs=1m\nzonesize=4m\nzoneskip=6m"));
    let shared: Vec<_> = both.load.streams.iter().map(|stream| stream.as_block().unwrap().places.clone()).collect();
    assert_eq!(shared, [Some("a".to_owned()), Some("a".to_owned())]);
    // No zones, and what is wrong with some.
    assert_eq!(address("rw=read\nzonemode=none\nzoneskip=6m"), Address::Sequential);
    assert_eq!(address("rw=read\nzonesize=0"), Address::Sequential);
    for (keys, line, what) in [
        ("zonemode=strided", 3, "nothing says how much is moved in a zone"),
        ("zonemode=none\nzonesize=2m", 4, "zonemode=none has no zones"),
        ("zonemode=zbd\nzonesize=2m", 3, "zoned block devices are not driven yet"),
        ("zonemode=striped\nzonesize=2m", 3, "no such mode of zones"),
        ("zonemode=zbd\nmax_open_zones=4", 4, "zoned block devices are not driven yet"),
        ("zonesize=2 m", 3, "drops the rest"),
    ] {
        let fault = refused(keys);
        assert!(fault.line == line && fault.what.contains(what) && !fault.remedy.is_empty(), "{keys}: {fault}");
    }
    let several = of("[a]\nfilename=data.img:b/data.img\nsize=2m\nzonesize=64k\n", &Choice::default(), &around());
    let notes = several.unwrap().workload.notes.join("\n");
    assert!(notes.contains("zonesize=64k: without effect, as in fio: the job has several files"), "{notes}");
}

#[test]
fn shares_of_a_file_may_have_two_percent_signs() {
    for (keys, expected) in [
        ("size=100%%\nbs=1m", 64),
        ("size=50%%\nbs=1m", 32),
        ("offset=75%%\nbs=1m", 16),
        ("size=16m\nio_size=200%%\nbs=1m", 0),
        ("size=16m\nio_size=50%%\nbs=1m", 8),
    ] {
        match expected {
            0 => assert!(refused(keys).what.contains("not a share of a file"), "{keys}"),
            n => assert_eq!(plan(&accepted(keys)).load.streams[0].life.operations, Some(n), "{keys}"),
        }
    }
}

#[test]
fn engines_have_several_names_and_those_that_are_not_driven_say_why() {
    for name in ["libaio", "aio", "linuxaio", "aio-whatever", "io_uring", "posixaio", "solarisaio", "windowsaio"] {
        let arrival = plan(&accepted(&format!("ioengine={name}\niodepth=16\nsize=1m"))).load.streams[0].arrival.clone();
        assert_eq!(arrival, Arrival::Closed { in_flight: 16 }, "{name}");
    }
    for (keys, line, what) in [
        ("ioengine=rbd\npool=rbd\nrbdname=image", 3, "rbd needs a library of its own"),
        ("pool=rbd\nioengine=rbd", 4, "rbd needs a library of its own"),
        ("pool=${POOL}\ncont=${CONT}\nioengine=dfs", 5, "dfs needs a library of its own"),
        ("http_host=localhost\nioengine=http\nrw=write", 4, "http moves objects of a store and not blocks"),
        ("ioengine=spdk_bdev\nspdk_json_conf=./bdev.json", 3, "spdk_bdev drives devices without the kernel"),
        ("ioengine=external:/usr/lib/fio.so", 3, "external is a library of its own"),
        ("ioengine=io_uring_cmd\ncmd_type=nvme", 3, "io_uring_cmd sends commands of the device itself"),
        ("ioengine=filecreate", 3, "filecreate creates, looks up or removes files and moves no data"),
        ("ioengine=cpuio\ncpuload=50", 3, "cpuio burns time of processors and does no I/O"),
        ("ioengine=libaoi", 3, "fio has no engine libaoi"),
        // A key of an engine that the job does not name.
        ("ioengine=libaio\npool=rbd", 4, "pool belongs to fio's engines dfs, rados, rbd"),
        ("spdk_conf=x\nsize=1m", 3, "spdk_conf belongs to fio's engine spdk_bdev"),
        ("http_s3_key=${KEY}", 3, "http_s3_key belongs to fio's engine http, which moves objects"),
    ] {
        let fault = refused(keys);
        assert!(fault.line == line && fault.what.contains(what) && !fault.remedy.is_empty(), "{keys}: {fault}");
    }
    assert_eq!(refused("ioengine=libaoi").remedy, "did you mean libaio?");
}

#[test]
fn a_law_may_have_a_centre() {
    for (keys, said) in [
        ("zipf:1.2:0", "Zipf 1.2 over places of 4KiB, scattered, the most frequent at 0%"),
        ("zipf:1.2:0.25", "Zipf 1.2 over places of 4KiB, scattered, the most frequent at 25%"),
        ("zipf", "Zipf 1.2 over places of 4KiB, scattered"),
        ("pareto:0.3:1", "Pareto 30% over places of 4KiB, scattered, the most frequent at 100%"),
        ("pareto", "Pareto 20% over places of 4KiB, scattered"),
        (
            "normal:5:0.9",
            "a bell of 5% around the middle over places of 4KiB, in order from the start, the most frequent at 90%",
        ),
        ("zipf:1.1:-1", "Zipf 1.1 over places of 4KiB, scattered"),
        // A zone without a space has what the others leave.
        ("zoned:50/5:30/15:20/", "50% in 5%, 30% in 15%, 20% in 80% over places of 4KiB, in order from the start"),
        ("zoned:50/10:30/:20", "50% in 10%, 30% in 45%, 20% in 45% over places of 4KiB, in order from the start"),
    ] {
        assert_eq!(address(&format!("rw=randread\nrandom_distribution={keys}")).to_string(), said, "{keys}");
    }
    for (keys, what) in [
        ("zipf:1.2:2", "not a place in the file"),
        ("zipf:1.2:x", "not a place in the file"),
        ("zipf:x:0", "not an exponent"),
        ("pareto:1:0", "not a skew"),
        ("normal", "not a standard deviation"),
        ("normal:0:0.5", "not a standard deviation"),
        ("zoned:50/5:30/15", "the shares make 80 %"),
        ("zoned:60/100:40/", "a zone without space"),
        ("zoned:/10:100/90", "not a list of zones"),
    ] {
        let fault = refused(&format!("rw=randread\nrandom_distribution={keys}"));
        assert!(fault.line == 4 && fault.what.contains(what), "{keys}: {fault}");
    }
}

#[test]
fn a_size_of_zero_is_the_whole_file() {
    for keys in ["size=0", "filesize=0", "size=0\nfilesize=0", "size=0\nio_size=0"] {
        let plan = plan(&accepted(&format!("rw=read\nbs=1m\n{keys}")));
        assert_eq!(plan.load.streams[0].life.operations, Some(64), "{keys}");
        assert_eq!(plan.load.streams[0].as_block().unwrap().extent, None, "{keys}");
    }
    let tail = plan(&accepted("rw=read\nbs=1m\noffset=60m\nsize=0"));
    assert_eq!(tail.load.streams[0].life.operations, Some(4));
    let unknown = TestFiles { data: None, ..around() };
    let fault = of("[a]\nfilename=data.img\nsize=0\n", &Choice::default(), &unknown).unwrap_err();
    assert!(fault.what.contains("the size of its file is not known"), "{fault}");
}

#[test]
fn an_operation_is_not_larger_than_any_can_be() {
    assert_eq!(plan(&accepted("bs=64m\nnumber_ios=1")).load.streams[0].as_block().unwrap().size.to.get(), 64 << 20);
    for (keys, line) in [
        ("bs=128m\nsize=128m", 3),
        ("bs=1g", 3),
        ("bsrange=4k-65m", 3),
        ("bssplit=4k/50:128m/50", 3),
        ("bs=4k,128m", 3),
    ] {
        let fault = refused(keys);
        assert!(fault.line == line && fault.what.contains("an operation has at most 64MiB here"), "{keys}: {fault}");
        assert!(fault.remedy.contains("the kernel divides larger ones"), "{fault}");
    }
    let fault = refused("bs=0");
    assert!(fault.what.contains("not a size an operation can have"), "{fault}");
}

#[test]
fn what_is_about_writing_does_nothing_in_a_job_that_reads() {
    for (keys, also) in [
        ("buffer_pattern=0xdeadbeef", ""),
        ("buffer_pattern=\"abcd\"-120xdeadface", ""),
        ("buffer_compress_percentage=50", ""),
        ("dedupe_percentage=20", ""),
        ("dedupe_working_set_percentage=50", "dedupe_percentage=20\n"),
        ("zero_buffers", ""),
        ("write_hint=short", ""),
        ("trim_percentage=10", ""),
        ("atomic=1", ""),
        ("file_append=1", ""),
        ("write_barrier=8", ""),
    ] {
        for mode in ["read", "randread"] {
            let notes = accepted(&format!("rw={mode}\nsize=1m\n{also}{keys}")).workload.notes.join("\n");
            let told = notes.contains(&format!("{keys}: without effect: the job writes nothing"));
            assert!(told, "{keys}: {notes}");
        }
        // The pattern of what is written cannot be chosen.
        let writes = job(&format!("rw=write\nsize=1m\n{also}{keys}"));
        let driven = ["buffer_compress_percentage", "dedupe_percentage", "zero_buffers"];
        assert_eq!(writes.is_ok(), driven.iter().any(|key| keys.starts_with(key)), "{keys}");
    }
    let fault = refused("rw=randrw\nbuffer_pattern=0xff");
    assert_eq!((fault.line, fault.what.as_str()), (4, "buffer_pattern is not driven: written data carry stamps"));
}

/// The pauses of a stream's schedule, and its mean rate.
fn paused(keys: &str) -> (Option<Pauses>, f64) {
    let plan = plan(&accepted(&format!("time_based\nruntime=9\n{keys}")));
    let arrival = &plan.load.streams[0].arrival;
    let Arrival::Shared { schedule, .. } = arrival else { panic!("{keys}: {arrival:?}") };
    (schedule.pauses, arrival.mean_rate().unwrap().as_f64())
}

#[test]
fn a_pause_beside_a_rate_delays_what_is_due() {
    let pauses = |every, ms, stand_still| Some(Pauses { every, time: Span::from_ms(ms), stand_still });
    for (keys, expected, rate) in [
        ("rw=randread\nrate_iops=100\nthinktime=50ms\nthinktime_blocks=10", pauses(10, 50, false), 100.0),
        ("rw=write\nrate=400k\nthinktime=50000\nthinktime_blocks=10", pauses(10, 50, false), 100.0),
        ("rw=randread\nrate_iops=10\nthinktime=50ms", pauses(1, 50, false), 10.0),
        (
            "rw=randread\nrate_iops=100\nthinktime=50ms\nthinktime_blocks=10\nrate_ignore_thinktime=1",
            pauses(10, 50, true),
            // Ten operations in 140 ms: nine gaps of 10 ms, and the pause.
            1000.0 / 14.0,
        ),
        ("rw=randrw\nrate_iops=100,50\nthinktime=50ms\nthinktime_blocks=10", pauses(10, 50, false), 100.0),
        (
            "rw=randread\nrate_iops=100\nrate_process=poisson\nthinktime=9ms\nthinktime_blocks=4",
            pauses(4, 9, false),
            100.0,
        ),
    ] {
        let (found, mean) = paused(keys);
        assert_eq!(found, expected, "{keys}");
        assert!((mean - rate).abs() < 1e-6, "{keys}: {mean}");
    }
    // A rate that the pauses leave no time for is never reached: the job is a closed loop with pauses.
    for (keys, streams) in [
        ("rw=randread\nrate_iops=100\nthinktime=200ms\nthinktime_blocks=10", 1),
        ("rw=randread\nrate_iops=100\nthinktime=10ms", 1),
        ("rw=randrw\nrate_iops=100,50\nthinktime=200ms\nthinktime_blocks=10", 2),
    ] {
        let lowered = accepted(&format!("time_based\nruntime=9\n{keys}"));
        let own = plan(&lowered);
        assert!(
            own.load.streams.len() == streams && own.load.streams.iter().all(|it| it.arrival.mean_rate().is_none()),
            "{keys}"
        );
        let notes = lowered.workload.notes.join("\n");
        assert!(notes.contains("without effect: thinktime leaves time for"), "{keys}: {notes}");
    }
    // Each copy pauses by itself.
    let copies = plan(&accepted("time_based\nruntime=9\nrw=randrw\nnumjobs=2\nrate_iops=20\nthinktime=1ms"));
    let names: Vec<String> = copies
        .load
        .streams
        .iter()
        .map(|stream| match &stream.arrival {
            Arrival::Shared { schedule, .. } => format!("{} {}", stream.name, schedule.name),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["a.0.reads a.0", "a.0.writes a.0", "a.1.reads a.1", "a.1.writes a.1"]);
    let half =
        plan(&accepted("time_based\nruntime=9\nrw=randread\nrate_iops=100\nthinktime=0")).load.streams[0].clone();
    assert!(matches!(half.arrival, Arrival::Steady { .. }), "no time is no pause");
}

#[test]
fn a_rate_is_divided_among_several_files() {
    let files = |keys: &str| {
        let text = format!("[a]\nfilename=data.img:b/data.img:c/data.img\n{keys}\n");
        of(&text, &Choice::default(), &around()).unwrap_or_else(|fault| panic!("{keys}: {fault}"))
    };
    let timed = |keys: &str| plan(&files(&format!("time_based\nruntime=9\nrw=randread\nrate_iops=90\n{keys}")));
    let steady = timed("");
    assert_eq!((steady.load.streams.len(), &steady.load.streams[0].targets), (1, &vec![0, 1, 2]));
    assert!(matches!(steady.load.streams[0].arrival, Arrival::Steady { rate } if rate.as_f64() == 90.0));
    for (keys, turns) in [
        ("rate_process=poisson", None),
        ("file_service_type=roundrobin:8", Some((NextTarget::InTurn, 8))),
        ("file_service_type=random", Some((NextTarget::Random, 1))),
        ("file_service_type=random:4", Some((NextTarget::Random, 4))),
        ("thinktime=1ms\nthinktime_blocks=5", None),
    ] {
        let Arrival::Shared { schedule, .. } = timed(keys).load.streams[0].arrival.clone() else { panic!("{keys}") };
        let expected = turns.map(|(next, operations)| Turns { operations, ..Turns::new(next) });
        assert_eq!(schedule.turns, expected, "{keys}");
    }
    // What all files move together is divided among them.
    for (keys, operations, bytes) in [
        ("rw=read\nrate_iops=90\nsize=3m", Some(256), None),
        ("rw=read\nrate_iops=90\nnumber_ios=100", Some(34), None),
        ("rw=randread\nrate_iops=90\nbsrange=4k-8k\nsize=3m", None, Some(1 << 20)),
        ("rw=randrw\nrate_iops=60,30\nsize=3m", Some(171), None),
    ] {
        let life = plan(&files(keys)).load.streams[0].life.clone();
        assert_eq!((life.operations, life.bytes.map(Bytes::get)), (operations, bytes), "{keys}");
    }
    let uneven = TestFiles { dir: std::path::PathBuf::new(), data: Some(64 << 20) };
    let text = "[a]\nfilename=data.img:other\nrw=read\nrate_iops=9\n";
    assert!(of(text, &Choice::default(), &uneven).is_err(), "the length of the second file is not known");
}

/// How one job ends others, where that is known.
#[test]
fn exitall_ends_the_jobs_of_a_step_when_that_is_known_before() {
    let lasts = |text: &str| {
        let lowered = of(text, &Choice::default(), &around()).unwrap_or_else(|fault| panic!("{fault}"));
        let own: Vec<Option<u64>> = lowered
            .workload
            .load
            .streams
            .iter()
            .map(|stream| stream.life.lasts.map(|lasts| lasts.as_ns() / 1_000_000_000))
            .collect();
        (own, lowered.workload.notes.join("\n"))
    };
    let text = |first: &str, second: &str| {
        format!("[global]\nfilename=data.img\n[a]\n{first}\nexitall\n[b]\n{second}\n[c]\nsize=1m\n")
    };
    let (own, notes) = lasts(&text("time_based\nruntime=5", "time_based\nruntime=20\nstartdelay=2"));
    assert_eq!(own, [Some(5), Some(3), Some(5)], "{notes}");
    let (own, notes) = lasts(&text("size=1m", "time_based\nruntime=20"));
    assert_eq!(own, [None, Some(20), None]);
    assert!(notes.contains("exitall: the other jobs end at their own ends"), "{notes}");
    let (own, _) = lasts(&text("time_based\nruntime=5", "stonewall\ntime_based\nruntime=20"));
    assert_eq!(own[1], Some(20), "another step is not ended");
}

#[test]
fn a_job_that_only_verifies_reads_what_it_would_write() {
    let writes = plan(&accepted("rw=randwrite\nbs=8k\nsize=1m\nverify=crc32c"));
    let only = plan(&accepted("rw=randwrite\nbs=4k,8k\nsize=1m\nverify=crc32c\nverify_only"));
    let (written, read) = (writes.load.streams[0].as_block().unwrap(), only.load.streams[0].as_block().unwrap());
    assert_eq!(
        (read.direction.to_string(), &read.address, &read.size),
        ("read".to_owned(), &written.address, &written.size)
    );
    assert!(only.verification.verify && !only.load.writes_targets() && writes.load.writes_targets());
    let notes = accepted("rw=read\nsize=1m\nverify=md5\nverify_only=1").workload.notes.join("\n");
    assert!(notes.contains("verify_only=1: without effect"), "{notes}");
}

#[test]
fn a_variable_that_is_not_set_matters_where_it_describes_the_load() {
    assert!(job("size=1m\npercentile_list=${NOT_SET}\nlog_avg_msec=${NEITHER}").is_ok());
    for (keys, line, column) in
        [("bs=${NOT_SET}", 3, 4), ("size=1m\nname=x${NOT_SET}", 4, 7), ("wait_for=${NOT_SET}", 3, 10)]
    {
        let fault = refused(keys);
        assert_eq!((fault.line, fault.column), (line, column), "{fault}");
        assert!(fault.what.contains("NOT_SET is not set"), "{fault}");
    }
}

/// Numbers that fio reads otherwise than they look.
#[test]
fn what_fio_makes_of_a_number_is_told_as_it_is() {
    for (keys, what, remedy) in [
        ("bs=4k-512k", "fio reads 4096 bytes and drops the rest", "bsrange=4k-512k"),
        ("bs=4kx", "fio reads 4096 bytes and drops the rest", "write 4096"),
        ("size=1mx", "fio reads 1048576 bytes and drops the rest", "write 1048576"),
        ("rate_iops=1k/s", "fio reads 1024 and drops the rest", "write 1024"),
    ] {
        let fault = refused(keys);
        assert!(fault.what.contains(what) && fault.remedy.contains(remedy), "{keys}: {fault}");
    }
    let colon = plan(&accepted("rw=randread\nbsrange=512:1m\nsize=4m"));
    assert_eq!(colon.load.streams[0].as_block().unwrap().size.from.get(), 512);
    assert_eq!(Share::WHOLE.to_string(), "100%");
}

/// Keys of fio's profiles, which fio takes in any job and ignores.
#[test]
fn keys_of_profiles_do_nothing_and_that_is_told() {
    let lowered = accepted("threads=1\ndir=/somewhere\nsize=1m");
    let notes = lowered.workload.notes.join("\n");
    for key in ["threads=1", "dir=/somewhere"] {
        assert!(notes.contains(&format!("{key}: without effect, as in fio, whose profile tiobench")), "{notes}");
    }
    assert_eq!(lowered.workload.targets.paths, ["data.img"]);
}

/// Groups end at `stonewall` and before `new_group`; a stream alone is none.
#[test]
fn copies_are_reported_together_where_the_job_asks_for_it() {
    let text = "[global]\nfilename=data.img\nruntime=2\ntime_based\nrate_iops=10\n\
                [a]\nrw=randrw\nnumjobs=3\ngroup_reporting\n\
                [b]\nrw=read\n\
                [c]\nrw=read\ngroup_reporting\n\
                [d]\nnew_group\nrw=write\nnumjobs=2\ngroup_reporting\n\
                [e]\nstonewall\nrw=write\nnumjobs=2\ngroup_reporting\n\
                [f]\nnew_group\nrw=read\ngroup_reporting\n\
                [g]\nrw=read\ngroup_reporting=0\nnumjobs=2\n";
    let lowered = of(text, &Choice::default(), &around()).unwrap();
    let groups = |plan: &Plan| -> Vec<(String, String)> {
        plan.load.groups.iter().map(|group| (group.name.clone(), group.streams.join(" "))).collect()
    };
    let owned = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        all.iter().map(|(name, streams)| ((*name).to_owned(), (*streams).to_owned())).collect()
    };
    let steps: Vec<_> = plans(&lowered).iter().map(groups).collect();
    let first = owned(&[
        ("a.reads x4", "a.0.reads a.1.reads a.2.reads c"),
        ("a.writes x3", "a.0.writes a.1.writes a.2.writes"),
        ("d x2", "d.0 d.1"),
    ]);
    assert_eq!(steps, [first, owned(&[("e x2", "e.0 e.1")])]);
    assert!(plan(&accepted("rw=randread\nnumjobs=4\nruntime=1\ntime_based")).load.groups.is_empty());
    assert!(plan(&accepted("rw=randread\ngroup_reporting\nruntime=1\ntime_based")).load.groups.is_empty());
}
