//! A real tree is counted, described without any of its names, and remade in memory: the figures agree.

use crate::client_bed::bench;
use assay_base::Span;
use assay_files::ledger::Kind;
use assay_files::script::Script;
use assay_files::survey::{TreeCounts, survey_tree, tree_table};
use assay_model::files::{FilesWorkload, TreeShape};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

/// A number that follows from another one and looks drawn (Steele, Lea, Flood 2014).
fn mixed(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The names of everything begin with this, which no description says by chance.
const STEM: &str = "Qzj";

/// A tree with many small directories and some large ones, at every depth up to 6, and links of both kinds.
fn make_tree(top: &Path, files: u64) {
    let mut directories = vec![top.to_path_buf()];
    for number in 0..files / 12 {
        let above = directories[(mixed(number) % directories.len() as u64) as usize].clone();
        if above.components().count() < top.components().count() + 6 {
            let path = above.join(format!("{STEM}d{number}"));
            fs::create_dir(&path).unwrap();
            directories.push(path);
        }
    }
    for number in 0..files {
        let drawn = mixed(number + 1_000_000_000);
        // The square of a uniform number: a few directories have many files.
        let unit = (drawn % 10_000) as f64 / 10_000.0;
        let directory = &directories[(unit * unit * unit * directories.len() as f64) as usize];
        let tail = "x".repeat((drawn / 7 % 30) as usize);
        let path = directory.join(format!("{STEM}{number:07}{tail}"));
        let size = if drawn.is_multiple_of(11) { 0 } else { mixed(drawn) >> (34 + drawn % 26) };
        File::create(&path).unwrap().set_len(size).unwrap();
        if number.is_multiple_of(25) {
            symlink(&path, directory.join(format!("{STEM}s{number:07}"))).unwrap();
        }
        if number.is_multiple_of(100) {
            fs::hard_link(&path, directory.join(format!("{STEM}l{number:07}"))).unwrap();
        }
    }
}

/// The workload that a description belongs to.
fn workload(table: &str) -> FilesWorkload {
    let rest = "\n[[do]]\nname = \"stat\"\nsteps = [\"stat\"]\n";
    let text = format!("model = \"files\"\nclosed = true\n{table}{rest}");
    let read =
        assay_model::workload::read_workload("counted.toml", &text).map_err(|faults| faults.to_string()).unwrap();
    read.load.as_files().unwrap().workload.clone()
}

/// The largest difference of two histograms in a cell, as a share of the whole.
fn largest_difference(one: &BTreeMap<u64, u64>, other: &BTreeMap<u64, u64>) -> f64 {
    let whole = |cells: &BTreeMap<u64, u64>| cells.values().sum::<u64>() as f64;
    let share = |cells: &BTreeMap<u64, u64>, key: &u64| cells.get(key).copied().unwrap_or(0) as f64 / whole(cells);
    let keys = one.keys().chain(other.keys());
    keys.map(|key| (share(one, key) - share(other, key)).abs()).fold(0.0, f64::max)
}

fn power(number: u64) -> u64 {
    u64::from(u64::BITS - number.leading_zeros())
}

/// Files by size, by depth, by the files of their directory, and by length of name.
#[derive(Debug, Default)]
struct Histograms {
    sizes: BTreeMap<u64, u64>,
    depths: BTreeMap<u64, u64>,
    widths: BTreeMap<u64, u64>,
    names: BTreeMap<u64, u64>,
}

impl Histograms {
    /// Those of a real tree, looked at in another way than by the code that is tested.
    fn read(top: &Path) -> Histograms {
        let mut histograms = Histograms::default();
        let mut directories = vec![(top.to_path_buf(), 0)];
        while let Some((directory, depth)) = directories.pop() {
            let mut files = 0;
            for entry in fs::read_dir(&directory).unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                if entry.file_type().unwrap().is_dir() {
                    directories.push((entry.path(), depth + 1));
                    continue;
                }
                *histograms.names.entry(name.len().max(13) as u64).or_default() += 1;
                if entry.file_type().unwrap().is_file() && !name.starts_with(&format!("{STEM}l")) {
                    files += 1;
                    *histograms.sizes.entry(power(entry.metadata().unwrap().len())).or_default() += 1;
                }
            }
            *histograms.depths.entry(depth).or_default() += files;
            *histograms.widths.entry(power(files)).or_default() += files;
        }
        histograms
    }

    /// Those of a tree that is made.
    fn remade(shape: &TreeShape, files: u32) -> Histograms {
        let mut histograms = Histograms::default();
        let mut of_directories: BTreeMap<u64, u64> = BTreeMap::new();
        for number in 0..files {
            *histograms.sizes.entry(power(shape.size(number))).or_default() += 1;
            *histograms.names.entry(shape.name_length(number).unwrap().max(13).into()).or_default() += 1;
            let directory = shape.directory(number);
            *of_directories.entry(directory.0).or_default() += 1;
            let mut at = directory;
            let mut depth = 0;
            while let Some(above) = shape.parent(at) {
                (at, depth) = (above, depth + 1);
            }
            *histograms.depths.entry(depth).or_default() += 1;
        }
        for files in of_directories.values() {
            *histograms.widths.entry(power(*files)).or_default() += files;
        }
        histograms
    }

    /// Compares with a tree that is as large, or with one that is larger: there is still one directory of the run, and it
    /// has more files.
    fn check_against(&self, other: &Histograms, is_as_large: bool) {
        let mut pairs = vec![
            ("sizes", &self.sizes, &other.sizes),
            ("depths", &self.depths, &other.depths),
            ("names", &self.names, &other.names),
        ];
        if is_as_large {
            pairs.push(("widths", &self.widths, &other.widths));
        }
        for (what, one, other) in pairs {
            let difference = largest_difference(one, other);
            assert!(difference < 0.01, "{what}: {difference}: {one:?} {other:?}");
        }
    }
}

#[test]
fn a_tree_is_counted_and_the_like_of_it_is_made() {
    let top = tempfile::tempdir().unwrap();
    make_tree(top.path(), 20_000);
    let survey = survey_tree(top.path()).unwrap();
    let TreeCounts { files, symlinks, links, deepest, .. } = survey.counts;
    assert_eq!((files, symlinks, links, deepest), (20_000, 800, 200, 6));
    assert_eq!((survey.remarks.len(), survey.counts.left_out.in_words().len()), (0, 0));
    let table = tree_table(&survey.counts);
    assert!(!table.contains(STEM) && !table.contains(top.path().to_str().unwrap()), "{table}");
    let real = Histograms::read(top.path());
    let described = workload(&table);
    let shape = TreeShape::new(&described.tree, described.clients, 7).unwrap();
    assert_eq!(shape.directories(), survey.counts.directories + 1);
    real.check_against(&Histograms::remade(&shape, described.tree.files), true);
    // As the clients find it.
    let script = Script::new(&described, shape, 7);
    let ledger = script.ledger();
    let symlinks = ledger.all_names().filter(|(_, node)| ledger.node(*node).kind == Kind::Symlink).count();
    let second_names = ledger.all_names().filter(|(_, node)| ledger.node(*node).links == 2).count();
    assert_eq!((ledger.all_names().count(), symlinks, second_names), (21_000, 800, 400));
    // At another multiple.
    let tripled = table.replace("files = 20000", "files = 60000");
    let described = workload(&tripled);
    let shape = TreeShape::new(&described.tree, described.clients, 7).unwrap();
    real.check_against(&Histograms::remade(&shape, 60_000), false);
    let directories = shape.directories() as f64 / survey.counts.directories as f64;
    assert!((directories / 3.0 - 1.0).abs() < 0.01, "{directories}");
}

#[test]
fn the_like_of_a_tree_is_made_on_a_file_system_verified_counted_and_cleaned() {
    let (top, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    make_tree(top.path(), 1500);
    let counts = survey_tree(top.path()).unwrap().counts;
    let mut described = workload(&tree_table(&counts));
    // The sizes of the tree would fill this file system.
    described.tree.size = assay_model::files::FileSize::Fixed(assay_base::Bytes::new(100));
    let mut bench = bench(place.path(), &described, Span::from_ms(50));
    let remade = survey_tree(place.path()).unwrap().counts;
    // The directory of the run is one more, and so is the marker in it.
    assert_eq!((remade.files, remade.symlinks, remade.links), (1501, counts.symlinks, counts.links));
    assert_eq!((remade.directories, remade.deepest), (counts.directories + 1, counts.deepest + 1));
    let longest = |counts: &TreeCounts| counts.names().map(|(length, _)| length).max();
    assert_eq!(longest(&remade), longest(&counts));
    bench.run_phase(0);
    bench.verify_and_clean();
}

#[test]
fn what_is_neither_file_nor_directory_is_left_out_and_named() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    fs::create_dir(at("mounted")).unwrap();
    fs::write(at("file"), "bytes").unwrap();
    symlink(".", at("loop")).unwrap();
    symlink("loop2", at("loop2")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, at("device"), rustix::fs::FileType::CharacterDevice, mode, 0x103).unwrap();
    }
    let mount = std::process::Command::new("mount").args(["-t", "tmpfs", "none"]).arg(at("mounted")).status();
    let is_mounted = mount.is_ok_and(|status| status.success());
    if is_mounted {
        fs::write(at("mounted/file"), "other bytes").unwrap();
    } else {
        crate::bed::skip("mounts cannot be made here");
    }
    let survey = survey_tree(top.path());
    if is_mounted {
        assert!(std::process::Command::new("umount").arg(at("mounted")).status().unwrap().success());
    }
    let survey = survey.unwrap();
    let counts = &survey.counts;
    assert_eq!((counts.files, counts.bytes, counts.symlinks), (1, 5, 2));
    let left_out = counts.left_out;
    assert_eq!((left_out.sockets, left_out.pipes, left_out.devices), (1, 1, u64::from(is_root)));
    assert_eq!((left_out.mount_points, left_out.unreadable), (u64::from(is_mounted), 0));
    if is_mounted {
        assert_eq!(survey.remarks[0].place, at("mounted").display().to_string());
        let table = tree_table(counts);
        assert!(
            table.contains("# Not in it: 1 socket, 1 named pipe") && table.contains("1 mount point with what"),
            "{table}"
        );
        assert!(!table.contains("mounted"), "{table}");
    }
}

#[test]
fn what_cannot_be_described_is_refused() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("empty")).unwrap();
    fs::write(top.path().join("file"), "").unwrap();
    for (path, text) in [
        ("empty", "there are no files in"),
        ("file", "is not a directory: name the directory"),
        ("nothing", "cannot be read: No such file or directory"),
    ] {
        let trouble = survey_tree(&top.path().join(path)).unwrap_err().to_string();
        assert!(trouble.contains(text), "{trouble}");
    }
}
