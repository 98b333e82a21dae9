//! Scripts that people wrote for ACT's output, over that of the drop-in: pipes of the shell and a reader in Python. They
//! are our own, of the kinds that such scripts are: line patterns, counts per block, shares over a threshold.

use super::bed::{Loop, config, dropin, text, unhindered};
use std::process::Command;

/// A reader as monitoring has it: every line must be of a known kind, counts must add up and never fall.
const READER: &str = r#"
import re, sys
block = re.compile(r'^after (\d+) sec:$')
histogram = re.compile(r'^(\S+) \((\d+) total\)$')
buckets = re.compile(r'^( \(\d\d: \d{10}\)){1,4}$')
pair = re.compile(r'\((\d\d): (\d{10})\)')
head = re.compile(r'^([a-z-]+): (.+)$')
seconds, name, counts, totals, last = 0, None, {}, {}, {}
config = {}
lines = iter(sys.stdin.read().split('\n'))
for line in lines:
    if block.match(line):
        break
    if head.match(line):
        config[head.match(line).group(1)] = head.match(line).group(2)
else:
    sys.exit('no block')
assert config['num-devices'] == '1' and config['report-interval-sec'] == '1', config
rows = []
def finish():
    for name in totals:
        assert sum(counts[name].values()) == totals[name], (seconds, name)
        assert totals[name] >= last.get(name, 0), (seconds, name)
        last[name] = totals[name]
    rows.append((seconds, dict(totals), {n: dict(c) for n, c in counts.items()}))
seconds = int(block.match(line).group(1))
for line in lines:
    if block.match(line):
        finish()
        at = int(block.match(line).group(1))
        assert at == seconds + 1, (seconds, at)
        seconds, totals, counts = at, {}, {}
    elif histogram.match(line):
        name, total = histogram.match(line).groups()
        totals[name], counts[name] = int(total), {}
    elif buckets.match(line):
        for bucket, count in pair.findall(line):
            assert int(bucket) not in counts[name], line
            counts[name][int(bucket)] = int(count)
    else:
        assert line == '', repr(line)
finish()
before = rows[-2]
total = rows[-1][1]['reads'] - before[1]['reads']
def over(i):
    beyond = lambda row: sum(n for b, n in row[2]['reads'].items() if b > i)
    return round((beyond(rows[-1]) - beyond(before)) * 100.0 / total, 2)
print(len(rows), rows[-1][1]['reads'], '%.2f %.2f %.2f' % (over(0), over(3), over(6)))
"#;

#[test]
fn scripts_written_for_acts_output_read_the_drop_ins() {
    let Some(device) = Loop::of(64 << 20) else { return };
    let dir = tempfile::tempdir().unwrap();
    let keys = "test-duration-sec: 4\nreport-interval-sec: 1\nread-reqs-per-sec: 500\nwrite-reqs-per-sec: 250\n";
    let conf = config(dir.path(), &[&device], keys);
    let ran = unhindered(|| dropin("act_storage", &[&device]).arg(&conf).output().unwrap());
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let out = dir.path().join("output.txt");
    std::fs::write(&out, &ran.stdout).unwrap();
    let shell = |script: &str| {
        let output = Command::new("bash").args(["-c", script]).current_dir(dir.path()).output().unwrap();
        text(&output.stdout).trim_end().to_owned()
    };
    let reads: u64 = shell("grep '^reads (' output.txt | tail -1 | grep -o '[0-9]*'").parse().unwrap();
    assert!((1900..=2000).contains(&reads), "{reads}");
    for (script, said) in [
        ("head -3 output.txt | tail -2", "ACT version 6.6\nStorage device IO test".to_owned()),
        ("grep -c '^after ' output.txt", "4".to_owned()),
        ("awk '/^after/ {print $2}' output.txt | paste -sd,", "1,2,3,4".to_owned()),
        ("sed -n 's/^device-names: //p' output.txt", device.name().to_owned()),
        ("sed -n 's/^read-reqs-per-sec: //p' output.txt", "500".to_owned()),
        ("awk -F': ' '/^large-block-reads-per-sec/ {print $2}' output.txt", "5.88".to_owned()),
        ("sed -n '/^HISTOGRAM NAMES/,/^$/p' output.txt | sed 1d | grep -c .", "4".to_owned()),
        (
            "awk '/^after 4 sec/ {f=1} f && /^reads/ {gsub(/[(]/,\"\",$2); print $2; exit}' output.txt",
            reads.to_string(),
        ),
        ("grep -E 'ERROR|stopped' output.txt | wc -l", "0".to_owned()),
        ("tail -c 2 output.txt | od -An -c | tr -d ' '", "\\n\\n".to_owned()),
        ("grep -P '[\\t\\r]| $' output.txt | wc -l", "0".to_owned()),
    ] {
        assert_eq!(shell(script), said, "{script}\n{}", text(&ran.stdout));
    }
    // The shares that such a reader computes are those of the analyzer.
    std::fs::write(dir.path().join("reader.py"), READER).unwrap();
    let read = Command::new("python3")
        .arg("reader.py")
        .current_dir(dir.path())
        .stdin(std::fs::File::open(&out).unwrap())
        .output();
    let read = read.unwrap();
    assert!(read.status.success(), "{}{}", text(&read.stdout), text(&read.stderr));
    let words: Vec<String> = text(&read.stdout).split_whitespace().map(str::to_owned).collect();
    assert_eq!(words[..2], ["4".to_owned(), reads.to_string()]);
    let table = Command::new(super::bed::assay())
        .args(["as", "act_latency", "-t", "1", "-h", "reads", "-e", "3", "-n", "3", "-l"])
        .arg(&out)
        .output();
    let table = text(&table.unwrap().stdout);
    let row = table.lines().find(|line| line.trim_start().starts_with("4 ")).unwrap_or_else(|| panic!("{table}"));
    assert_eq!(row.split_whitespace().skip(1).take(3).collect::<Vec<_>>(), words[2..5], "{table}");
}
