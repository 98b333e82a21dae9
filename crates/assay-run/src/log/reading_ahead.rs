//! Reads a log ahead in a separate thread, while the entries already read are judged.

use assay_record::{Damage, Entry, Reader};
use std::io::{self, BufRead};
use std::sync::mpsc::{channel, sync_channel};

/// Entries are passed in batches of this many bytes of the log, and at most `BATCHES` batches wait. Together they take
/// about a megabyte, and somewhat more once parsed.
const BATCH: u64 = 256 << 10;
const BATCHES: usize = 2;

/// Calls `each` with all following entries in order, while a second thread reads ahead, because reading takes about as long as
/// processing. The second thread also frees the processed entries: freeing is fastest in the thread that allocated.
pub(crate) fn for_each_entry<R: BufRead + Send, E>(
    reader: &mut Reader<R>,
    mut each: impl FnMut(&Result<Entry, Damage>) -> Result<(), E>,
) -> io::Result<Result<(), E>> {
    let (sender, receiver) = sync_channel::<io::Result<Vec<_>>>(BATCHES);
    let (give, given) = channel::<Vec<_>>();
    std::thread::scope(|scope| {
        // If either side drops its channels, the other side ends.
        let (receiver, give) = (receiver, give);
        crate::host::threads::thread_builder("reader").spawn_scoped(scope, move || {
            loop {
                let batch = next_batch(reader, given.try_iter().last().unwrap_or_default());
                let over = batch.as_ref().map_or(true, Vec::is_empty);
                if sender.send(batch).is_err() || over {
                    return;
                }
            }
        })?;
        for batch in receiver {
            let batch = batch?;
            if let Err(stop) = batch.iter().try_for_each(&mut each) {
                return Ok(Err(stop));
            }
            let _ = give.send(batch);
        }
        Ok(Ok(()))
    })
}

/// The next entries, in reused memory; empty at the end.
fn next_batch<R: BufRead>(
    reader: &mut Reader<R>,
    mut batch: Vec<Result<Entry, Damage>>,
) -> io::Result<Vec<Result<Entry, Damage>>> {
    batch.clear();
    let end = reader.offset_behind_line() + BATCH;
    while reader.offset_behind_line() < end
        && let Some(item) = reader.next_entry()?
    {
        batch.push(item);
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::{FlowInterval, Interval, Writer};

    /// `lines` intervals, a few hundred bytes each, the 100th damaged.
    fn long(lines: u64) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), 0);
        for index in 0..lines {
            let flows = vec![FlowInterval { scheduled: index, ..FlowInterval::default() }; 4];
            writer.write_entry(&Entry::Interval(Interval { index, flows, ..Interval::default() })).unwrap();
        }
        let mut log = writer.into_inner();
        let at = log.split_inclusive(|&b| b == b'\n').take(100).map(<[u8]>::len).sum::<usize>();
        log[at - 5] ^= 1;
        log
    }

    #[test]
    fn reading_ahead_shows_the_same_in_the_same_order() {
        let log = long(10_000);
        assert!(log.len() as u64 > BATCH * (BATCHES as u64 + 2), "several batches: {} bytes", log.len());
        let (mut reader, mut one_by_one) = (Reader::new(&log[..]), Reader::new(&log[..]));
        let mut shown = 0;
        let ended = for_each_entry(&mut reader, |item| {
            assert_eq!(Some(item), one_by_one.next_entry().unwrap().as_ref());
            shown += 1;
            Ok::<(), ()>(())
        });
        assert_eq!((ended.unwrap(), shown), (Ok(()), 10_000));
        assert_eq!((reader.offset_behind_line(), reader.next_seq()), (log.len() as u64, 10_000));
    }

    #[test]
    fn reading_ahead_stops_where_it_is_told_to() {
        let log = long(10_000);
        let mut shown = 0;
        let ended = for_each_entry(&mut Reader::new(&log[..]), |_| {
            shown += 1;
            if shown == 7 { Err("enough") } else { Ok(()) }
        });
        assert_eq!((ended.unwrap(), shown), (Err("enough"), 7));
    }

    #[test]
    fn reading_ahead_ends_with_the_inputs_error() {
        struct Broken;
        impl io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let log = long(10_000);
        let input = io::BufReader::new(io::Read::chain(&log[..], Broken));
        let ended = for_each_entry(&mut Reader::new(input), |_| Ok::<(), ()>(()));
        assert_eq!(ended.unwrap_err().to_string(), "the disk is gone");
    }
}
