//! The reader of any kind of trace.

use super::lines::LineReader;
use super::records::RecordReader;
use super::volumes::Volumes;
use super::{LeftOut, PublicTrace};

/// Reads a trace.
#[derive(Debug)]
pub struct TraceReader {
    form: Form,
    volumes: Volumes,
    left_out: LeftOut,
}

#[derive(Debug)]
enum Form {
    Lines(LineReader),
    Records(RecordReader),
}

impl TraceReader {
    /// A reader of a kind of traces, which counts `volume`, or the first one where there is no name. Times pass `speed`
    /// times as fast.
    pub fn new(kind: PublicTrace, volume: Option<&str>, speed: f64) -> TraceReader {
        let form = match kind {
            PublicTrace::OracleGeneral => Form::Records(RecordReader::default()),
            kind => Form::Lines(LineReader::new(kind)),
        };
        TraceReader { form, volumes: Volumes::new(volume, speed), left_out: LeftOut::default() }
    }

    /// The next bytes of the trace.
    pub fn feed_bytes(&mut self, bytes: &[u8]) {
        match &mut self.form {
            Form::Lines(reader) => reader.feed_bytes(bytes, &mut self.volumes, &mut self.left_out),
            Form::Records(reader) => reader.feed_bytes(bytes, &mut self.volumes, &mut self.left_out),
        }
    }

    /// A file has ended; another one may follow.
    pub fn end_file(&mut self) {
        match &mut self.form {
            Form::Lines(reader) => reader.end_file(&mut self.volumes, &mut self.left_out),
            Form::Records(reader) => reader.end_file(&mut self.left_out),
        }
    }

    /// What was counted, and what was left out.
    pub fn into_counts(self) -> (Volumes, LeftOut) {
        (self.volumes, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(kind: PublicTrace, volume: Option<&str>, bytes: &[u8]) -> (Volumes, LeftOut) {
        let mut reader = TraceReader::new(kind, volume, 1.0);
        // In pieces that end anywhere.
        bytes.chunks(7).for_each(|piece| reader.feed_bytes(piece));
        reader.end_file();
        reader.into_counts()
    }

    /// Each kind with a read of 4 KiB and a write of 8 KiB one second later, both of them invented.
    #[test]
    fn each_kind_is_read() {
        let mut records = Vec::new();
        for (time, object, bytes) in [(10u32, 5u64, 4096u32), (11, 5, 8192)] {
            records.extend(time.to_le_bytes());
            records.extend(object.to_le_bytes());
            records.extend(bytes.to_le_bytes());
            records.extend((-2i64).to_le_bytes());
        }
        for (kind, text, name) in [
            (
                PublicTrace::Msr,
                "128166372003061629,web,1,Read,512000,4096,1331\n128166372013061629,web,1,Write,0,8192,900\n"
                    .as_bytes(),
                "web.1",
            ),
            (PublicTrace::Alibaba, b"3,R,512000,4096,1577808000000000\n3,W,0,8192,1577808001000000\n", "3"),
            (PublicTrace::Tencent, b"1538323200,1000,8,0,1283\n1538323201,0,16,1,1283\n", "1283"),
            (PublicTrace::Spc, b"0,1000,4096,R,0.5\n0,0,8192,w,1.500000\n", "0"),
            (PublicTrace::OracleGeneral, &records, "objects"),
        ] {
            let (volumes, left_out) = counted(kind, None, text);
            assert_eq!(left_out, LeftOut::default(), "{kind}");
            let volume = volumes.counted().unwrap();
            let (reads, writes) = (&volume.observed.reads, &volume.observed.writes);
            assert_eq!((volume.name.as_str(), volume.seconds()), (name, 1.0), "{kind}");
            if kind == PublicTrace::OracleGeneral {
                assert_eq!((reads.operations, reads.bytes), (2, 12_288), "objects are read");
            } else {
                assert_eq!(
                    (reads.operations, reads.bytes, writes.operations, writes.bytes),
                    (1, 4096, 1, 8192),
                    "{kind}"
                );
            }
        }
    }

    #[test]
    fn one_volume_of_several_is_counted_and_all_are_named() {
        let text = b"3,R,0,4096,1000000\n7,W,0,4096,1000000\n7,W,0,4096,2000000\nx,y\n\n7,W,0,4096,3000000";
        let (volumes, left_out) = counted(PublicTrace::Alibaba, Some("7"), text);
        assert_eq!(volumes.counted().unwrap().observed.writes.operations, 3);
        assert_eq!(volumes.busiest(5), [("7".to_owned(), 3), ("3".to_owned(), 1)]);
        assert_eq!((left_out.damaged, left_out.first), (1, Some((4, "x,y".to_owned()))));
        assert!(counted(PublicTrace::Alibaba, Some("8"), text).0.counted().is_none());
    }

    #[test]
    fn a_faster_trace_has_the_same_requests_in_less_time() {
        let mut reader = TraceReader::new(PublicTrace::Spc, None, 2.0);
        reader.feed_bytes(b"0,1,512,R,0\n0,1,512,R,10\n");
        reader.end_file();
        let (volumes, _) = reader.into_counts();
        assert_eq!(volumes.counted().unwrap().seconds(), 5.0);
    }

    #[test]
    fn hostile_bytes_are_left_out() {
        let mut prng = assay_base::Prng::from_seed(1);
        for kind in
            [PublicTrace::Msr, PublicTrace::Alibaba, PublicTrace::Tencent, PublicTrace::Spc, PublicTrace::OracleGeneral]
        {
            let noise: Vec<u8> =
                (0..20_000).map(|_| b"0123456789,.-RWx\n\xff"[prng.uniform_below(18) as usize]).collect();
            let (volumes, _) = counted(kind, None, &noise);
            assert!(volumes.busiest(usize::MAX).len() <= 4096);
            let far = format!("{0},{0},{0},{0},{0},{0},{0}\n", u64::MAX);
            counted(kind, None, far.as_bytes());
        }
        let long = vec![b'7'; 1 << 20];
        assert_eq!(counted(PublicTrace::Spc, None, &long).1.damaged, 1);
    }
}
