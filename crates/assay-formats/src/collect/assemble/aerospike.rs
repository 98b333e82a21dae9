//! Namespaces: what their histograms and the server's log say about them, compared with each other and with iostat.

use super::super::findings::{Blocks, Counter, DriveSeen, Findings, Histogram, Place, Remark, Unit};
use super::super::tolerance::{TOLERANCE, are_apart};
use super::against::DriveWithParts;
use super::assembled::Assembled;
use super::figures::{
    drive_from_iostat, drive_of, measured_rate, place_names, rate_in_words, rounded_rate, share_from_percent,
};
use super::nodes::Nodes;
use assay_base::{Bytes, Share, Span};
use assay_model::profile::{Flow, LargeBlocks, PartKind, ProfilePart, Sizes, Sourced};
use std::collections::{BTreeMap, BTreeSet};

/// Rounding to hundredths can make neighbouring shares rise by this much.
const ROUNDING: f64 = 0.015;

/// All namespaces of all nodes.
pub(super) fn assemble_namespaces(found: &Findings, nodes: &Nodes, out: &mut Assembled) {
    for node in nodes.all_nodes() {
        let seen = NodeFindings { found, nodes, node: &node };
        let namespaces = seen.namespace_names();
        for namespace in &namespaces {
            let part = Namespace { seen: &seen, name: namespace, out }.into_part();
            out.profile.parts.push(part);
        }
        if !namespaces.is_empty() {
            assemble_drives(&seen, out);
        }
    }
    if out.profile.parts.is_empty() {
        out.add_missing("every namespace", "scripts/collect, on a node of the cluster");
    }
    name_unused_traces(found, out);
}

/// The load of a namespace is what the server counted: of a trace of its drives nothing is used.
fn name_unused_traces(found: &Findings, out: &mut Assembled) {
    for trace in &found.traces {
        let operations = trace.seen.reads.operations + trace.seen.writes.operations;
        let text = format!(
            "{operations} operations of a trace of {} are not used: a namespace's load is what the server counted; import blktrace takes them",
            trace.device
        );
        out.unused.push(Remark { place: trace.first, text });
    }
}

/// The findings about one node.
struct NodeFindings<'a> {
    found: &'a Findings,
    nodes: &'a Nodes,
    node: &'a str,
}

impl<'a> NodeFindings<'a> {
    fn all_histograms(&self) -> impl Iterator<Item = &'a Histogram> {
        let (nodes, node) = (self.nodes, self.node);
        self.found.histograms.iter().filter(move |one| nodes.node_of_file(one.place.file) == node)
    }

    fn all_blocks(&self) -> impl Iterator<Item = (&'a str, &'a str, &'a Blocks)> {
        let (nodes, node) = (self.nodes, self.node);
        let here = self.found.blocks.iter().filter(move |((file, ..), _)| nodes.node_of_file(*file) == node);
        here.map(|((_, namespace, device), blocks)| (namespace.as_str(), device.as_str(), blocks))
    }

    fn namespace_names(&self) -> BTreeSet<String> {
        let names = ["device-read-size", "device-write-size", "read", "write"];
        let relevant = self.all_histograms().filter(|one| names.contains(&one.name.as_str()));
        let of_histograms = relevant.map(|one| one.namespace.clone());
        of_histograms.chain(self.all_blocks().map(|(namespace, ..)| namespace.to_owned())).collect()
    }

    /// iostat's figures for a drive, over all files of the node.
    fn find_drive(&self, name: &str) -> Option<&'a DriveSeen> {
        self.found
            .drives
            .iter()
            .filter(|((file, device), seen)| {
                self.nodes.node_of_file(*file) == self.node && device == name && seen.reports > 0
            })
            .map(|(_, seen)| seen)
            .max_by_key(|seen| seen.reports)
    }
}

/// The sum of the counters of one kind over the devices and files of a namespace.
struct Sum {
    rate: f64,
    place: Place,
    how: String,
}

struct Namespace<'a, 'b> {
    seen: &'a NodeFindings<'a>,
    name: &'a str,
    out: &'b mut Assembled,
}

impl Namespace<'_, '_> {
    fn into_part(mut self) -> ProfilePart {
        let drives = self.drive_names();
        let reads = self.storage_flow("device-read-size");
        let writes = self.storage_flow("device-write-size");
        let large_blocks = self.large_blocks(&drives);
        ProfilePart {
            kind: PartKind::Namespace,
            name: if self.name.is_empty() { "namespace".to_owned() } else { self.name.to_owned() },
            node: self.seen.node.to_owned(),
            drives,
            reads,
            writes,
            large_blocks,
            reads_over: self.client_waits("read"),
            writes_over: self.client_waits("write"),
            ..ProfilePart::default()
        }
    }

    fn qualified_name(&self, name: &str) -> String {
        if self.name.is_empty() { name.to_owned() } else { format!("{{{}}}-{name}", self.name) }
    }

    fn at_node(&self) -> String {
        if self.seen.node.is_empty() { String::new() } else { format!(" of {}", self.seen.node) }
    }

    fn drive_names(&mut self) -> Vec<String> {
        let mine = self.seen.all_blocks().filter(|(namespace, ..)| *namespace == self.name);
        let drives: BTreeSet<String> = mine.map(|(_, device, _)| drive_of(device)).collect();
        if drives.is_empty() {
            let (what, command) = (
                format!("the drives of namespace {}{}", self.name, self.at_node()),
                "grep drv_ssd /var/log/aerospike/aerospike.log".to_owned(),
            );
            self.out.add_missing(what, command);
        }
        drives.into_iter().collect()
    }

    /// The best histogram with that name; others that differ from it are reported.
    fn best_histogram(&mut self, name: &str, unit: Unit) -> Option<Histogram> {
        let mut all: Vec<&Histogram> = self
            .seen
            .all_histograms()
            .filter(|one| one.namespace == self.name && one.name == name && one.unit == unit)
            .collect();
        all.sort_by_key(|one| (one.source, one.rate.is_none()));
        let (best, others) = all.split_first()?;
        for other in others {
            if let (Some(a), Some(b)) = (best.rate, other.rate)
                && are_apart(a, b)
            {
                let what = format!(
                    "{}: {} by {}, {} by {}; the first is used",
                    self.qualified_name(name),
                    rate_in_words(a),
                    best.how,
                    rate_in_words(b),
                    other.how
                );
                self.out.add_contradiction(what, place_names(self.seen.found, &[best.place, other.place]));
            }
        }
        let rising = best.over.windows(2).find(|pair| pair[1].1 > pair[0].1 + ROUNDING);
        if let Some([(smaller, a), (larger, b)]) = rising.map(|pair| [pair[0], pair[1]]) {
            let what = format!(
                "{}: {b}% are over {larger}, but only {a}% are over {smaller}: shares over growing thresholds cannot rise",
                self.qualified_name(name)
            );
            let place = self.seen.found.place_name(best.place);
            let [smaller, larger] = [smaller, larger].map(|value| {
                let column = best.over.iter().position(|(threshold, _)| *threshold == value).unwrap_or(0) + 1;
                format!("{place}, share {column}")
            });
            self.out.add_contradiction(what, vec![smaller, larger]);
        }
        let outside = best.over.iter().find(|(_, share)| !(0.0..=100.0).contains(share));
        if let Some((threshold, share)) = outside {
            let what = format!("{}: {share}% over {threshold} is not a share", self.qualified_name(name));
            self.out.add_contradiction(what, place_names(self.seen.found, &[best.place]));
        }
        Some((*best).clone())
    }

    fn source_of_histogram(&self, histogram: &Histogram) -> String {
        format!("{}, {}", self.seen.found.place_name(histogram.place), histogram.how)
    }

    /// Reads or writes of the storage layer.
    fn storage_flow(&mut self, name: &str) -> Option<Flow> {
        let called = self.qualified_name(name);
        let Some(histogram) = self.best_histogram(name, Unit::Bytes) else {
            let command = format!(
                "asinfo -v 'set-config:context=namespace;id={};enable-benchmarks-storage=true', then after the peak: \
                 asloglatency -f -3000 -t 500 -n 26 -e 1 -h {called} -l /var/log/aerospike/aerospike.log",
                self.name
            );
            self.out.add_missing(format!("{called}{}: sizes and operations per second", self.at_node()), command);
            return None;
        };
        let source = self.source_of_histogram(&histogram);
        if histogram.rate.is_none() {
            let command =
                format!("asloglatency -f -3000 -t 500 -n 26 -e 1 -h {called} -l /var/log/aerospike/aerospike.log");
            self.out.add_missing(
                format!("{called}{}: operations per second (the log has a single dump of it)", self.at_node()),
                command,
            );
        }
        if histogram.over.last().is_some_and(|(_, share)| *share > 0.0) {
            let command =
                format!("asloglatency -f -3000 -t 500 -n 26 -e 1 -h {called} -l /var/log/aerospike/aerospike.log");
            self.out.add_missing(
                format!("{called}{}: its largest sizes, the table has too few columns", self.at_node()),
                command,
            );
        }
        let lines = shares_over_thresholds(&histogram.over)
            .into_iter()
            .map(|(size, share)| (Bytes::new(size), share))
            .collect();
        Some(Flow {
            rate: histogram.rate.and_then(rounded_rate).map(|rate| Sourced::new(rate, source.clone())),
            sizes: Some(Sourced::new(Sizes::LargerThan(lines), source)),
            ..Flow::default()
        })
    }

    /// How long clients waited.
    fn client_waits(&mut self, name: &str) -> Option<Sourced<Vec<(Span, Share)>>> {
        let histogram = self.best_histogram(name, Unit::Microseconds)?;
        let source = self.source_of_histogram(&histogram);
        let over = histogram.over.iter().map(|&(micros, over)| (Span::from_us(micros), share_from_percent(over)));
        // One threshold with zero shows that nothing is longer.
        let zero = histogram.over.iter().position(|(_, over)| *over <= 0.0).map_or(usize::MAX, |at| at + 1);
        Some(Sourced::new(over.take(zero).collect(), source))
    }

    /// The rate of one counter over all devices; contradictions are reported.
    fn sum_over_devices(&mut self, counter: &'static str) -> Option<Sum> {
        let mut devices = BTreeMap::<String, Vec<&Counter>>::new();
        for (namespace, device, blocks) in self.seen.all_blocks() {
            if let Some(found) = blocks.get(counter).filter(|_| namespace == self.name) {
                devices.entry(device.to_owned()).or_default().push(found);
            }
        }
        let mut sum = 0.0;
        let (mut first, mut seconds, mut printed) = (None, 0, 0);
        for (device, counters) in &devices {
            let counted: u64 = counters.iter().map(|one| one.counted).sum();
            let passed: u64 = counters.iter().map(|one| one.seconds).sum();
            let of_printed: f64 = counters.iter().map(|one| one.printed.mean * one.printed.count as f64).sum();
            let lines: u64 = counters.iter().map(|one| one.printed.count).sum();
            let mean = if lines > 0 { of_printed / lines as f64 } else { 0.0 };
            let rate = if passed > 0 { counted as f64 / passed as f64 } else { mean };
            if passed > 0 && are_apart(rate, mean) && (rate - mean).abs() > 1.0 {
                let what = format!(
                    "{counter} of {device}: its counter grows by {}, the lines print {} in the mean; the counter is used",
                    rate_in_words(rate),
                    rate_in_words(mean)
                );
                let (a, b) = (counters[0].first, counters[counters.len() - 1].last);
                self.out.add_contradiction(what, place_names(self.seen.found, &[a, b]));
            }
            sum += rate;
            first = first.or(Some(counters[0].first));
            seconds = seconds.max(passed);
            printed += lines;
        }
        let on = if devices.len() == 1 { String::new() } else { format!(" of {} devices", devices.len()) };
        let how = match seconds {
            0 if printed == devices.len() as u64 => format!("drv_ssd{on}, as printed"),
            0 => format!("drv_ssd{on}, as printed in {printed} lines"),
            seconds => format!("drv_ssd{on}, by its counters over {seconds} s"),
        };
        Some(Sum { rate: sum, place: first?, how })
    }

    fn sourced_rate(&self, sum: &Option<Sum>) -> Option<Sourced<assay_base::Rate>> {
        let sum = sum.as_ref()?;
        let source = format!("{}, {}", self.seen.found.place_name(sum.place), sum.how);
        Some(Sourced::new(measured_rate((sum.rate * 100.0).round() / 100.0)?, source))
    }

    fn large_blocks(&mut self, drives: &[String]) -> LargeBlocks {
        let (writes, reads) = (self.sum_over_devices("write"), self.sum_over_devices("defrag-read"));
        let frees = self.sum_over_devices("direct-frees");
        let log = "/var/log/aerospike/aerospike.log";
        if writes.is_none() {
            self.out.add_missing(
                format!("large blocks written by namespace {}{}", self.name, self.at_node()),
                format!("grep drv_ssd {log}"),
            );
        }
        if writes.is_some() && frees.is_none() {
            self.out.add_missing(
                format!("large blocks of namespace {}{} that are freed directly", self.name, self.at_node()),
                format!("asinfo -v 'log-set:id=0;drv_ssd=detail', and after some minutes: grep drv_ssd {log}; then drv_ssd=info"),
            );
        }
        if let (Some(writes), Some(reads), Some(frees)) = (&writes, &reads, &frees)
            && are_apart(writes.rate, reads.rate + frees.rate)
        {
            let what = format!(
                "namespace {}: {} large blocks are written, but {} are read by defragmentation and {} freed directly: it was not in a steady state",
                self.name,
                rate_in_words(writes.rate),
                rate_in_words(reads.rate),
                rate_in_words(frees.rate)
            );
            self.out.add_contradiction(what, place_names(self.seen.found, &[writes.place, reads.place, frees.place]));
        }
        let size = self.block_size(drives);
        LargeBlocks {
            size,
            writes: self.sourced_rate(&writes),
            direct_frees: self.sourced_rate(&frees),
            reads: self.sourced_rate(&reads),
            ..LargeBlocks::default()
        }
    }

    /// The size of a large block: iostat's bytes for each block that any namespace writes to these drives.
    fn block_size(&mut self, drives: &[String]) -> Bytes {
        let usual = LargeBlocks::default().size;
        let kib: Option<f64> = drives.iter().map(|drive| self.seen.find_drive(drive)?.column_mean("wkB/s")).sum();
        let on_them = self.seen.all_blocks().filter(|(_, device, _)| drives.contains(&drive_of(device)));
        // A device that is in two files counts once.
        let each: BTreeMap<(&str, &str), f64> = on_them
            .filter_map(|(namespace, device, blocks)| {
                Some(((namespace, device), blocks.get("write")?.rate_counted_or_printed()?))
            })
            .collect();
        let blocks: f64 = each.values().sum();
        let near = kib.filter(|_| blocks > 0.0).and_then(|kib| {
            let bytes = kib * 1024.0 / blocks;
            (9..=23).map(|i| 1u64 << i).find(|size| (bytes / *size as f64 - 1.0).abs() <= TOLERANCE)
        });
        near.map_or_else(
            || {
                self.out.add_missing(
                    format!("the size of large blocks of namespace {}{}; {usual} is assumed", self.name, self.at_node()),
                    format!("asinfo -v 'get-config:context=namespace;id={}' | tr ';' '\\n' | grep -E 'write-block-size|flush-size'", self.name),
                );
                usual
            },
            Bytes::new,
        )
    }
}

/// From the last threshold that all operations exceed to the first that none exceeds.
fn shares_over_thresholds(over: &[(u64, f64)]) -> Vec<(u64, Share)> {
    let first = over.iter().rposition(|(_, share)| *share >= 100.0 - 1e-9).unwrap_or(0);
    let zero = over.iter().position(|(_, share)| *share <= 0.0).map_or(over.len(), |at| at + 1);
    let mut least = f64::INFINITY;
    let lines = over.get(first..zero.max(first + 1).min(over.len())).unwrap_or_default();
    lines
        .iter()
        .map(|&(size, of)| {
            // A rise because of rounding is removed; a real rise stays, and is refused when the profile is read.
            let of = if of <= least + ROUNDING { of.min(least) } else { of };
            least = of;
            (size, share_from_percent(of))
        })
        .collect()
}

/// Production's drives, compared with what the namespaces on them do.
fn assemble_drives(seen: &NodeFindings<'_>, out: &mut Assembled) {
    let mut used = BTreeMap::<String, Vec<ProfilePart>>::new();
    for part in out.profile.parts.iter().filter(|part| part.node == seen.node) {
        part.drives.iter().for_each(|drive| used.entry(drive.clone()).or_default().push(part.clone()));
    }
    let names: BTreeSet<String> = if used.is_empty() {
        let active = seen.found.drives.iter().filter(|((file, _), drive)| {
            let moved = drive.column_mean("r/s").unwrap_or(0.0) + drive.column_mean("w/s").unwrap_or(0.0);
            seen.nodes.node_of_file(*file) == seen.node && moved > 0.0
        });
        active.map(|((_, name), _)| drive_of(name)).collect()
    } else {
        used.keys().cloned().collect()
    };
    for name in names {
        let Some(found) = seen.find_drive(&name) else {
            let at = if seen.node.is_empty() { String::new() } else { format!(" on {}", seen.node) };
            out.add_missing(
                format!("iostat of {name}{at}: the figures that the load is compared with"),
                format!("iostat -x {name} 10 60"),
            );
            continue;
        };
        if let Some(parts) = used.get(&name) {
            DriveWithParts { drive: found, parts, name: &name, place: seen.found.place_name(found.first) }
                .report_contradictions(out);
        }
        out.profile.drives.push(drive_from_iostat(seen.found, seen.node, &name, found));
    }
}
