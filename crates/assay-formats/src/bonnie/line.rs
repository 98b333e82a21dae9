//! The line of bonnie++ 2.00a: 50 fields between commas. Unlike the original's, it has the size of a block (field 6, from 0)
//! and the number of directories (field 24), in the places where the original's converters look for them.

use super::test::{Figure, Test};

/// The names of the fields. Those that the original prints lack `seeks` and `seek_proc_count`.
pub const COLUMNS: &str = "format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size,seeks,seek_proc_count,\
putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,get_block_cpu,seeks,seeks_cpu,num_files,\
max_size,min_size,num_dirs,file_chunk_size,seq_create,seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,\
ran_create_cpu,ran_stat,ran_stat_cpu,ran_del,ran_del_cpu,putc_latency,put_block_latency,rewrite_latency,getc_latency,\
get_block_latency,seeks_latency,seq_create_latency,seq_stat_latency,seq_del_latency,ran_create_latency,ran_stat_latency,\
ran_del_latency";

/// The version of the format, which is all that the converters look at.
const FORMAT: &str = "1.98";
/// The version of bonnie++ whose line it is.
pub(super) const VERSION: &str = "2.00a";
/// In place of a rate, and of a share of the processor, of a test that took too little time.
pub(super) const TOO_SHORT: (&str, &str) = ("+++++", "+++");

/// What a line says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// The name of the machine, as it was given.
    pub name: String,
    /// How many clients work on the small files at a time.
    pub concurrency: u32,
    /// The seed.
    pub seed: u64,
    /// The large file, where there is one.
    pub large: Option<LargeFile>,
    /// The small files, where there are some.
    pub small: Option<SmallFiles>,
    /// What each test has measured, by its number; `None` where it was not run.
    pub figures: [Option<Figure>; 12],
}

/// The large file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LargeFile {
    /// Its bytes; 0 where they are not known.
    pub size: u64,
    /// Bytes of a read or write.
    pub chunk: u64,
    /// How many seeks were wanted, or were made where none were counted.
    pub seeks: u64,
    /// How many clients make them.
    pub seekers: u32,
}

/// The small files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SmallFiles {
    /// How many.
    pub files: u64,
    /// The most bytes of one.
    pub largest: u64,
    /// The fewest.
    pub smallest: u64,
    /// Directories in which they are; 0 or 1 where all are in one.
    pub directories: u64,
    /// Bytes of a read or write.
    pub chunk: u64,
}

/// How many files make one of the original's units.
const FILES_OF_A_UNIT: u64 = 1024;

impl SmallFiles {
    /// Their number in units of 1024, with decimals where they are no whole number of these.
    pub(super) fn units(&self) -> String {
        let thousandths = (u128::from(self.files) * 1000).div_ceil(u128::from(FILES_OF_A_UNIT));
        match thousandths % 1000 {
            0 => (thousandths / 1000).to_string(),
            rest => format!("{}.{rest:03}", thousandths / 1000),
        }
    }
}

impl Row {
    /// The line, without its end.
    pub fn text(&self) -> String {
        let mut fields: Vec<String> = vec![FORMAT.to_owned(), VERSION.to_owned(), reduced_name(&self.name)];
        fields.push(self.concurrency.max(1).to_string());
        fields.push(self.seed.to_string());
        fields.extend(large_fields(self.large));
        for test in Test::ALL.into_iter().filter(|test| !test.is_on_files()) {
            fields.extend(self.rate_fields(test));
        }
        fields.extend(small_fields(self.small));
        for test in Test::ALL.into_iter().filter(|test| test.is_on_files()) {
            fields.extend(self.rate_fields(test));
        }
        fields.extend(self.figures.iter().map(longest_field));
        fields.join(",")
    }

    /// The rate and the share of the processor.
    fn rate_fields(&self, test: Test) -> [String; 2] {
        let Some(figure) = &self.figures[test.number()] else { return [String::new(), String::new()] };
        match (figure.rate(test), figure.processor_percent()) {
            (Some(rate), Some(percent)) => [rate.to_string(), percent.to_string()],
            _ => [TOO_SHORT.0.to_owned(), TOO_SHORT.1.to_owned()],
        }
    }
}

fn longest_field(figure: &Option<Figure>) -> String {
    figure.as_ref().map_or_else(String::new, Figure::longest_text)
}

/// Size, bytes of a block, seeks, and clients that seek.
fn large_fields(large: Option<LargeFile>) -> [String; 4] {
    let Some(large) = large else { return [const { String::new() }; 4] };
    let LargeFile { size, chunk, seeks, seekers } = large;
    [size_text(size), number_unless_zero(chunk), seeks.to_string(), seekers.to_string()]
}

/// Number of files, largest, smallest, directories, bytes of a block.
fn small_fields(small: Option<SmallFiles>) -> [String; 5] {
    let Some(files) = small else { return [const { String::new() }; 5] };
    let has_bytes = files.largest > 0;
    let largest = number_unless_zero(files.largest);
    let smallest = if has_bytes { files.smallest.to_string() } else { String::new() };
    let directories = if files.directories > 1 { files.directories.to_string() } else { String::new() };
    let chunk = if has_bytes { number_unless_zero(files.chunk) } else { String::new() };
    [files.units(), largest, smallest, directories, chunk]
}

fn number_unless_zero(number: u64) -> String {
    if number == 0 { String::new() } else { number.to_string() }
}

/// A size as the original writes it: in GiB, MiB or KiB where it is a whole number of these.
pub(super) fn size_text(bytes: u64) -> String {
    for (shift, unit) in [(30, "G"), (20, "M"), (10, "k")] {
        if bytes > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    number_unless_zero(bytes)
}

/// A name of which the converters make nothing else: they quote and escape nothing.
pub fn reduced_name(name: &str) -> String {
    let is_kept = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let reduced: String = name.chars().map(|letter| if is_kept(letter) { letter } else { '-' }).collect();
    if reduced.is_empty() { "assay".to_owned() } else { reduced }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Span;

    fn figure(amount: u64, seconds: u64) -> Option<Figure> {
        let (elapsed, processor) = (Span::from_secs(seconds), Span::from_ms(250 * seconds));
        Some(Figure { amount, elapsed, processor, longest: Span::from_us(1234) })
    }

    #[test]
    fn a_line_has_fifty_fields_each_in_its_place() {
        let large = LargeFile { size: 4 << 30, chunk: 65536, seeks: 8192, seekers: 5 };
        let small = SmallFiles { files: 16384, largest: 4096, smallest: 512, directories: 16, chunk: 8192 };
        let mut row = Row { name: "a,b<c>".to_owned(), concurrency: 1, seed: 42, ..Row::default() };
        (row.large, row.small) = (Some(large), Some(small));
        for test in Test::ALL {
            let amount = if test.counts_bytes() { 1024 } else { 1 };
            row.figures[test.number()] = figure(amount * (test.number() as u64 + 1) * 10, 10);
        }
        let text = row.text();
        let fields: Vec<&str> = text.split(',').collect();
        assert_eq!((fields.len(), COLUMNS.split(',').count()), (50, 50));
        let head = ["1.98", "2.00a", "a-b-c-", "1", "42", "4G", "65536", "8192", "5"];
        assert_eq!(fields[..9], head);
        assert_eq!(fields[9..21], ["1", "25", "2", "25", "3", "25", "4", "25", "5", "25", "6", "25"]);
        assert_eq!(fields[21..26], ["16", "4096", "512", "16", "8192"]);
        assert_eq!(fields[26..38], ["7", "25", "8", "25", "9", "25", "10", "25", "11", "25", "12", "25"]);
        assert_eq!(fields[38..], ["1234us"; 12]);
    }

    #[test]
    fn what_was_not_run_is_empty_and_what_was_too_short_has_plus_signs() {
        let mut row = Row { name: "m".to_owned(), seed: 7, ..Row::default() };
        assert_eq!(row.text(), format!("1.98,2.00a,m,1,7{}", ",".repeat(45)));
        row.small = Some(SmallFiles { files: 1024, ..SmallFiles::default() });
        row.figures[Test::CreateInOrder.number()] =
            Some(Figure { amount: 9, elapsed: Span::from_ms(100), ..Figure::default() });
        let text = row.text();
        let fields: Vec<&str> = text.split(',').collect();
        assert_eq!(fields[21..30], ["1", "", "", "", "", "+++++", "+++", "", ""]);
        assert_eq!((fields[44], fields[43], fields.len()), ("0us", "", 50));
    }

    #[test]
    fn sizes_and_numbers_of_files_are_exact() {
        let sizes = [(4 << 30, "4G"), (64 << 20, "64M"), (3 << 10, "3k"), (1_000_000_000, "1000000000"), (0, "")];
        for (bytes, text) in sizes {
            assert_eq!(size_text(bytes), text);
        }
        for (files, text) in [(16384, "16"), (1, "0.001"), (512, "0.500"), (1025, "1.001"), (1536, "1.500")] {
            assert_eq!(SmallFiles { files, ..SmallFiles::default() }.units(), text);
        }
    }

    #[test]
    fn no_name_shifts_a_field_or_leads_the_converters_astray() {
        for (name, reduced) in
            [("a,b", "a-b"), ("<b>", "-b-"), ("", "assay"), ("web-1.x_y", "web-1.x_y"), ("ü\n", "--")]
        {
            assert_eq!(reduced_name(name), reduced);
        }
    }
}
