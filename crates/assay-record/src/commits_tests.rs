use super::*;

fn head() -> CommitsHead {
    CommitsHead {
        run: "a".into(),
        load: "b".into(),
        database: "sqlite:shop.db".into(),
        sessions: 2,
        before: [30, 10, -7],
    }
}

fn commits() -> Vec<LedgerEntry> {
    let of = |session, seq, what| LedgerEntry::Commit(Commit { session, seq, what });
    vec![
        of(0, 1, Committed::Order { warehouse: 1, district: 10, order: 3001 }),
        of(1, 2, Committed::Payment { amount: 500_000 }),
        of(0, 3, Committed::Delivery),
        LedgerEntry::Found { session: 1, seq: 2 },
        of(1, 3, Committed::Payment { amount: i64::MAX }),
    ]
}

/// What a ledger says.
#[derive(Debug, PartialEq)]
struct Read {
    head: CommitsHead,
    commits: Vec<LedgerEntry>,
    sent: Option<Vec<u64>>,
    torn: u64,
}

fn read(bytes: &[u8]) -> Result<Read, BadLedger> {
    let reader = CommitsReader::from_input(bytes)?;
    let (head, mut commits) = (reader.ledger_head().clone(), Vec::new());
    let CommitsEnd { sent, torn } = reader.read_entries(&mut |commit| commits.push(*commit))?;
    Ok(Read { head, commits, sent, torn })
}

/// A ledger, and where each of its parts ends.
fn written(head: &CommitsHead, ends: bool) -> (Vec<u8>, Vec<usize>) {
    let (mut writer, mut bytes) = CommitsWriter::begin_ledger(head);
    let mut parts = vec![bytes.len()];
    for commit in commits() {
        bytes.extend(match commit {
            LedgerEntry::Commit(commit) => writer.encode_commit(&commit),
            LedgerEntry::Found { session, seq } => writer.encode_found_number(session, seq),
        });
        parts.push(bytes.len());
    }
    if ends {
        bytes.extend(writer.encode_end(&[4, 3]));
    }
    (bytes, parts)
}

#[test]
fn what_is_written_is_read() {
    for (ends, sent) in [(true, Some(vec![4, 3])), (false, None)] {
        let all = Read { head: head(), commits: commits(), sent, torn: 0 };
        assert_eq!(read(&written(&head(), ends).0), Ok(all));
    }
}

#[test]
fn a_ledger_that_is_cut_at_any_byte_claims_whole_entries_and_is_not_over() {
    let (bytes, parts) = written(&head(), true);
    for length in 0..bytes.len() {
        match read(&bytes[..length]) {
            Err(why) => assert!(length < parts[0] && why == BadLedger::NoLedger, "{length}: {why}"),
            Ok(read) => {
                let whole = parts[1..].iter().filter(|end| **end <= length).count();
                assert_eq!((read.commits, read.sent), (commits()[..whole].to_vec(), None), "{length}");
            }
        }
    }
}

#[test]
fn a_byte_that_was_changed_is_found_or_makes_the_ledger_shorter() {
    let (bytes, _) = written(&head(), true);
    let whole = read(&bytes).unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        if let Ok(read) = read(&changed) {
            // The last entry, or the checksum of the one before it.
            assert!(at >= bytes.len() - ENTRY - 4, "{at}");
            assert_eq!((read.commits, read.sent), (whole.commits.clone(), None), "{at}");
        }
    }
}

#[test]
fn entries_that_were_taken_out_put_in_or_exchanged_are_found() {
    let (bytes, parts) = written(&head(), true);
    let (other, _) = written(&CommitsHead { run: "c".into(), ..head() }, true);
    assert_eq!(other.len(), bytes.len());
    let [first, second, third] = [parts[0]..parts[1], parts[1]..parts[2], parts[2]..parts[3]];
    let taken_out = [&bytes[..first.start], &bytes[second.start..]].concat();
    let put_in = [&bytes[..first.end], &bytes[first.clone()], &bytes[first.end..]].concat();
    let exchanged =
        [&bytes[..first.start], &bytes[second.clone()], &bytes[first.clone()], &bytes[third.start..]].concat();
    let of_another = [&bytes[..first.start], &other[first.start..]].concat();
    let behind = [&bytes[..], &bytes[first]].concat();
    for (altered, at) in [
        (taken_out, parts[0]),
        (put_in, parts[1]),
        (exchanged, parts[0]),
        (of_another, parts[0]),
        (behind, bytes.len()),
    ] {
        assert_eq!(read(&altered), Err(BadLedger::Altered(at as u64)));
    }
}

#[test]
fn what_a_loss_of_power_leaves_behind_is_dropped() {
    let (bytes, _) = written(&head(), false);
    for rest in [vec![0; 4096], vec![0xff; 100], vec![0x5a; 1]] {
        let read = read(&[&bytes[..], &rest].concat()).unwrap();
        assert_eq!((read.commits, read.torn, read.sent), (commits(), rest.len() as u64, None));
    }
    assert_eq!(read(b""), Err(BadLedger::NoLedger));
    let mut later = bytes;
    later[8] = 9;
    assert_eq!(read(&later), Err(BadLedger::Version(9)));
}
