//! Configurations of IOmeter: what each means, the workloads that they become, and every refusal at its place.

#![allow(clippy::unwrap_used)]

use crate::common;

use assay_base::Span;
use assay_formats::iometer::{Config, all_steps, read_config, write_workload};
use assay_model::workload::{self, Adjust};
use serde_json::Value;
use std::path::Path;

fn golden() -> Vec<std::path::PathBuf> {
    common::roots().iter().flat_map(|root| common::with_extension(&root.join("icf"), "icf")).collect()
}

fn config(path: &Path) -> Config {
    read_config(&path.file_name().unwrap().to_string_lossy(), &std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The workloads of a configuration, each of which has a plan.
fn workloads(config: &Config, spec: Option<&str>, (stem, file): (&str, &str)) -> Result<Vec<String>, String> {
    let told = |(what, remedy): (String, String)| format!("{what}\n{remedy}");
    let steps = all_steps(config, spec).map_err(told)?;
    let name = |number| if steps.len() == 1 { stem.to_owned() } else { format!("{stem}-{number}") };
    let one = |(step, number)| {
        let text = write_workload(config, step, &name(number), file).map_err(told)?;
        let workload =
            workload::read_workload("imported.toml", &text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
        let targets = workload.targets.names.len().max(1) as u16;
        workload.make_plan(&Adjust { targets, ..Adjust::default() }).unwrap();
        Ok(text)
    };
    steps.iter().zip(1..).map(one).collect()
}

#[test]
fn each_configuration_means_what_its_reference_says() {
    assert!(golden().len() >= 2);
    for path in golden() {
        let (config, file) = (config(&path), std::fs::read_to_string(path.with_extension("json")).unwrap());
        let means: Value = serde_json::from_str(&file).unwrap();
        let specs = means["access_specifications"].as_array().unwrap();
        assert_eq!(config.specs.len(), specs.len());
        for (spec, means) in config.specs.iter().zip(specs) {
            assert_eq!(spec.name, means["name"].as_str().unwrap());
            assert_eq!(spec.lines.len(), means["lines"].as_array().unwrap().len());
            for (line, means) in spec.lines.iter().zip(means["lines"].as_array().unwrap()) {
                let number = |key: &str| means[key].as_f64().unwrap();
                let (size, align) = (line.size.get() as f64, line.align.get() as f64);
                assert_eq!((size, align, f64::from(line.burst)), (number("size"), number("align"), number("burst")));
                assert_eq!(line.delay.as_ns() as f64 / 1e6, number("delay_ms_before_a_burst"));
                let shares = [(line.share, "share_of_bursts"), (line.reads, "reads"), (line.random, "random")];
                shares.iter().for_each(|(percent, key)| assert_eq!(*percent as f64 / 100.0, number(key), "{key}"));
            }
        }
        for (worker, means) in config.workers.iter().zip(means["workers"].as_array().unwrap()) {
            let settings = (worker.settings.in_flight, worker.settings.start.get(), worker.settings.length.get());
            let number = |key: &str| means[key].as_u64().unwrap();
            assert_eq!(settings, (number("in_flight") as u32, number("start_bytes"), number("range_bytes")));
            let specs = worker.specs.iter().map(|spec| config.specs[spec.unwrap()].name.as_str());
            assert!(specs.eq(means["specs"].as_array().unwrap().iter().map(|name| name.as_str().unwrap())));
        }
        assert_eq!(config.run_time.as_secs_f64(), means["measured_s"].as_f64().unwrap());
        assert_eq!(config.ramp_up.as_secs_f64(), means["warm_up_s"].as_f64().unwrap());
    }
}

#[test]
fn the_workloads_are_those_that_are_carried_here() {
    let root = common::roots()[0].join("icf");
    for (file, spec, names) in [
        ("array-mix", None, &["array-mix-1", "array-mix-2"][..]),
        ("array-mix", Some("backup and oltp"), &["spec"]),
        ("single", None, &["single"]),
    ] {
        let path = root.join(file).with_extension("icf");
        let texts = workloads(&config(&path), spec, (file, &format!("{file}.icf"))).unwrap();
        assert_eq!(texts.len(), names.len());
        for (text, name) in texts.iter().zip(names) {
            assert_eq!(*text, std::fs::read_to_string(root.join(name).with_extension("toml")).unwrap(), "{name}");
        }
    }
}

/// The golden configuration with its end of lines, and one part of it replaced.
fn with(from: &str, to: &str) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(common::roots()[0].join("icf/array-mix.icf")).unwrap();
    assert!(text.contains(from), "{from}");
    let config = read_config("a.icf", &text.replacen(from, to, 1)).map_err(|fault| fault.to_string())?;
    workloads(&config, None, ("a", "a.icf"))
}

#[test]
fn what_no_configuration_can_be_is_refused_at_its_place() {
    for (from, to, place, what) in [
        ("Version 2006.07.27", "Verison", "1:1", "begins with \"Version\""),
        ("'Test Type", "'Test Tpye", "25:1", "not known here"),
        ("'TEST SETUP", "'TSET SETUP", "2:1", "a section that is not known"),
        ("\tNORMAL", "\tCYCLE_TARGETS", "26:2", "CYCLE_OUTSTANDING_IOS"),
        ("\tNORMAL", "NORMAL", "26:1", "neither a label nor indented"),
        ("\t0          5          0", "\t0          5m         0", "7:13", "reads such text as 0"),
        ("\t0          5          0", "\t0          5", "7:2", "not a run time"),
        ("\t0          5          0", "\t9999       0          0", "7:2", "out of range"),
        ("8192,100,70,100,0,1,0,0", "8k,100,70,100,0,1,0,0", "36:2", "digits only"),
        ("8192,100,70,100,0,1,0,0", "8192,99,70,100,0,1,0,0", "34:2", "make 99 % of its sizes"),
        ("8192,100,70,100,0,1,0,0", "8192,100,101,100,0,1,0,0", "36:11", "write 0 to 100"),
        ("8192,100,70,100,0,1,0,0", "8192,100,70,100,0,0,0,0", "36:20", "write 1 to"),
        ("8192,100,70,100,0,1,0,0", "8192,100,70,100,-5,1,0,0", "36:18", "not a whole number"),
        ("8192,100,70,100,0,1,0,0", "8192,100,70,100,0,1,0,512", "36:24", "replies are of networks"),
        ("8192,100,70,100,0,1,0,0", "8192,100,70,100,0,1,100,0", "36:22", "whole sectors"),
        ("8192,100,70,100,0,1,0,0", "8192,100,70,100,0,1,0", "36:2", "has 8 fields"),
        ("8192,100,70", "8192,99999999999999999999,70", "36:7", "out of range"),
        ("% random,delay", "% randm,delay", "35:1", "columns of the specification"),
        ("\tfile server,NONE", "\t8K OLTP 70/30,NONE", "38:2", "another specification has this name"),
        ("\tfile server,NONE", "\tfile server", "38:2", "not a name and an assignment"),
        ("\tDISK", "\tNETWORK,TCP", "62:2", "only workers and targets of disks"),
        ("\t16,DISABLED", "\t16,ENABLED", "65:5", "not closed and opened again"),
        ("\t16,DISABLED", "\t0,DISABLED", "65:2", "write 1 to 16384"),
        ("\t16,DISABLED,1,DISABLED,0", "\t16,DISABLED,1", "65:2", "one for each column"),
        ("'Disk maximum size,", "'Disk size,", "66:1", "a column that is not known"),
        ("\tfile server\r\n'End", "\tfile sever\r\n'End", "71:2", "8K OLTP 70/30; file server"),
        ("'End worker", "'Ende", "80:1", "not known in a worker"),
    ] {
        let told = with(from, to).unwrap_err();
        assert!(told.contains(what) && told.contains(&format!("a.icf:{place}\n")), "{place} {to}: {told}");
    }
}

#[test]
fn specifications_alone_are_a_step_each() {
    let text = "Version 1.1.0 \n'ACCESS SPECIFICATIONS ====\n'Access specification name,default assignment\n\
        \tFile server,NONE\n'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,60,80,100,0,1,0,0\n\t65536,40,80,100,0,1,0,0\n\
        'Access specification name,default assignment\n\tWeb server,NONE\n'size,% of size,% reads,% random,delay,burst,align,reply\n\
        \t512,100,100,100,0,1,0,0\n'END access specifications\nVersion 1.1.0 \n";
    let mut config = read_config("a.icf", text).unwrap();
    let titles =
        |config: &Config| all_steps(config, None).unwrap().iter().map(|step| step.title.clone()).collect::<Vec<_>>();
    assert_eq!(titles(&config), ["File server", "Web server"]);
    let first = &all_steps(&config, None).unwrap()[0];
    let (what, remedy) = write_workload(&config, first, "a", "a.icf").unwrap_err();
    assert!(what.contains("has no run time") && remedy.contains("--for 5min"), "{what} {remedy}");
    config.run_time = Span::from_secs(60);
    let workload = write_workload(&config, first, "a", "a.icf").unwrap();
    assert!(workload.contains("duration = \"1min\""), "{workload}");
}

#[test]
fn what_cannot_run_is_refused_with_a_remedy() {
    for (from, to, what) in [
        ("\t0          5          0", "\t0          0          0", "has no run time"),
        ("'Target\r\n\tD: \"data\"\r\n'Target type\r\n\tDISK\r\n'End target\r\n", "", "Worker 1 has no target"),
        ("\t8K OLTP 70/30\r\n\tfile server\r\n'End assigned", "'End assigned", ""),
    ] {
        match with(from, to) {
            Err(told) => assert!(!what.is_empty() && told.contains(what), "{told}"),
            Ok(texts) => assert!(what.is_empty() && texts.len() == 1, "{texts:?}"),
        }
    }
    let path = &golden()[0];
    let none = all_steps(&config(path), Some("8k")).unwrap_err();
    assert!(none.0.contains("\"8k\"") && none.1.contains("file server"), "{none:?}");
    let cut = std::fs::read_to_string(path).unwrap();
    for at in (0..cut.len() - 30).step_by(97).filter(|at| cut.is_char_boundary(*at)) {
        // A part of a file never reads as another load: either it is refused or what it lacks are whole workers.
        if let Ok(config) = read_config("a.icf", &cut[..at]) {
            assert!(config.workers.is_empty(), "{at}");
        }
    }
}

#[test]
fn depths_targets_and_workers_that_are_alike_come_over() {
    let text = std::fs::read_to_string(common::roots()[0].join("icf/array-mix.icf")).unwrap();
    let cycled = read_config("a.icf", &text.replace("\tNORMAL", "\tCYCLE_OUTSTANDING_IOS")).unwrap();
    assert_eq!(cycled.depths, [1, 2, 4, 8, 16, 32]);
    let titles: Vec<String> = all_steps(&cycled, None).unwrap().into_iter().map(|step| step.title).collect();
    assert_eq!((titles.len(), titles[1].as_str()), (12, "8K OLTP 70/30 + backup and oltp, 2 outstanding"));
    assert!(workloads(&cycled, None, ("a", "a.icf")).unwrap()[5].contains("in_flight = 32"));
    // Two workers that do the same are copies of one loop, and a worker of one target among two has a loop there.
    let worker = &text[text.find("'Worker\r\n").unwrap()..text.find("'End worker").unwrap()];
    let worker = format!("{worker}'End worker\r\n");
    let doubled = text.replacen(&worker, &format!("{worker}{worker}"), 1);
    let texts = workloads(&read_config("a.icf", &doubled).unwrap(), None, ("a", "a.icf")).unwrap();
    assert!(texts[1].contains("copies    = 2"), "{}", texts[1]);
    let other = worker.replace("D: \"data\"", "E: log");
    let apart = text.replacen(&worker, &format!("{worker}{other}"), 1);
    let texts = workloads(&read_config("a.icf", &apart).unwrap(), None, ("a", "a.icf")).unwrap();
    assert!(texts[0].contains("targets  = [\"d-data\", \"e-log\"]"), "{}", texts[0]);
    assert!(
        texts[0].contains("target    = \"e-log\"") && texts[0].contains("for each target by itself"),
        "{}",
        texts[0]
    );
    // Idle workers rest, and a file without workers has its specifications.
    let idle = text.replacen("\tfile server\r\n'End", "\tIdle\r\n'End", 1);
    assert_eq!(all_steps(&read_config("a.icf", &idle).unwrap(), None).unwrap().len(), 1);
    let alone = format!("{}'END access specifications\r\n", &text[..text.find("'END access").unwrap()]);
    let alone = read_config("a.icf", &alone).unwrap();
    assert_eq!(all_steps(&alone, None).unwrap().len(), alone.specs.len());
    let text = &workloads(&alone, Some("file server"), ("a", "a.icf")).unwrap()[0];
    assert!(text.contains("in_flight = 1\n") && !text.contains("range"), "{text}");
}

#[test]
fn labels_of_other_versions_are_read() {
    let text = std::fs::read_to_string(common::roots()[0].join("icf/array-mix.icf")).unwrap();
    let text = text.replace(",use fixed seed,fixed seed value", "").replace("1,DISABLED,0\r\n", "1\r\n");
    let text = text.replace("'Disk maximum size,starting sector,Data pattern", "'DISK MAXIMUM SIZE,starting  sector");
    let text = text.replace("\t2097152,0,0", "\t2097152,0").replace("\t0,2048,2", "\t0,2048");
    let text = text.replace(
        "\tDISABLED,1,LAST_UPDATE\r\n",
        "\tDISABLED,1,LAST_UPDATE\r\n'Bar chart 1 statistic\r\n\tTotal I/Os per Second\r\n",
    );
    let config = read_config("a.icf", &text).unwrap();
    assert_eq!(config.workers[1].settings.start.get(), 1 << 20);
    let fixed = std::fs::read_to_string(common::roots()[0].join("icf/array-mix.icf")).unwrap();
    let fixed = read_config("a.icf", &fixed.replace("1,DISABLED,0\r\n", "1,ENABLED,77\r\n")).unwrap();
    assert!(workloads(&fixed, None, ("a", "a.icf")).unwrap()[0].contains("seed     = 77\n"));
}
