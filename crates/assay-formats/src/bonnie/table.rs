//! The table of bonnie++ for people, with the original's columns. Unlike there, the rate of creating files is a rate, and the
//! number of seeks stands behind one colon.

use super::line::{LargeFile, Row, SmallFiles, TOO_SHORT, VERSION, size_text};
use super::test::{Figure, Test};
use std::fmt::Write;

const LARGE_TITLES: &str = "------Sequential Output------ --Sequential Input- --Random-";
const LARGE_TESTS: &str = "-Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--";
const SMALL_TITLES: &str = "------Sequential Create------ --------Random Create--------";
const SMALL_TESTS: &str = "-Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--";
const UNITS: &str = " /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP";
/// The width of the column before the figures, without the blank behind it.
const NAME: usize = 19;
/// What the original takes unless another number is given.
const USUAL_CHUNK: u64 = 8192;
const USUAL_SEEKS: u64 = 8192;
/// A rate in KiB of more digits is shown in MiB, and one in MiB of more digits in GiB.
const MOST_KIB: u64 = 9999;
const MIB_OF_A_GIB: u64 = 1024;

/// The table of a row.
pub fn table_text(row: &Row) -> String {
    let mut text = String::new();
    let version = format!("Version {VERSION}");
    if let Some(large) = &row.large {
        let _ = writeln!(text, "{version:20}{LARGE_TITLES}\n{:20}{LARGE_TESTS}", "");
        let _ = writeln!(text, "{:20}{UNITS}", "Name:Size etc");
        let _ = write!(text, "{}", name_and_size(&row.name, large));
        add_figures(&mut text, row, false);
    }
    if let Some(small) = &row.small {
        let _ = writeln!(text, "{version:20}{SMALL_TITLES}");
        let name: String = row.name.chars().take(NAME).collect();
        let _ = writeln!(text, "{name:20}{SMALL_TESTS}");
        let (title, size) = small_files_text(small);
        let _ = write!(text, "{title}{UNITS}\n{size:>19}");
        add_figures(&mut text, row, true);
    }
    text
}

/// The figures and the longest services of the tests on the large file, or of those on small files.
fn add_figures(text: &mut String, row: &Row, on_files: bool) {
    let mut latencies = format!("{:17}", "Latency");
    for test in Test::ALL.into_iter().filter(|test| test.is_on_files() == on_files) {
        let (rate, percent, longest) = match &row.figures[test.number()] {
            Some(figure) => cells(test, figure),
            None => Default::default(),
        };
        let _ = write!(text, " {rate:>5} {percent:>3}");
        let _ = write!(latencies, "{longest:>10}");
    }
    let _ = writeln!(text, "\n{latencies}");
}

fn cells(test: Test, figure: &Figure) -> (String, String, String) {
    let (rate, percent) = match (figure.rate(test), figure.processor_percent()) {
        (Some(rate), Some(percent)) if test.counts_bytes() => (rate_text(rate), percent.to_string()),
        (Some(rate), Some(percent)) => (rate.to_string(), percent.to_string()),
        _ => (TOO_SHORT.0.to_owned(), TOO_SHORT.1.to_owned()),
    };
    (rate, percent, figure.longest_text())
}

/// A rate of KiB a second with the unit in which it is short.
fn rate_text(kib: u64) -> String {
    let mib = (kib + 512) / 1024;
    match kib {
        ..=MOST_KIB => format!("{kib}k"),
        _ if mib < MIB_OF_A_GIB => format!("{mib}m"),
        _ => format!("{:.1}g", mib as f64 / MIB_OF_A_GIB as f64),
    }
}

/// The name, cut so that the size behind it stays whole.
fn name_and_size(name: &str, large: &LargeFile) -> String {
    let mut size = size_text(large.size);
    let has_own_seeks = large.seeks != USUAL_SEEKS;
    if large.chunk != USUAL_CHUNK {
        let _ = write!(size, ":{}", size_text(large.chunk));
    } else if has_own_seeks {
        size.push(':');
    }
    if has_own_seeks {
        let _ = write!(size, ":{}", large.seeks);
    }
    let room = NAME.saturating_sub(size.chars().count() + 1);
    let name: String = name.chars().take(room).collect();
    format!("{name:room$} {size}")
}

/// The title of the first column, and what stands in it.
fn small_files_text(small: &SmallFiles) -> (String, String) {
    let directories = if small.directories > 1 { format!("/{}", small.directories) } else { String::new() };
    let units = small.units();
    match (small.largest, small.smallest) {
        (0, _) => (format!("{:>19} ", "files"), format!("{units}{directories}")),
        (largest, 0) => (format!("{:19} ", "files:max"), format!("{units}:{largest}{directories}")),
        (largest, smallest) => {
            (format!("{:19} ", "files:max:min"), format!("{units}:{largest}:{smallest}{directories}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Span;

    /// The original's own table of these figures (recorded: files-only and io-direct, with rates in place of `+++++`).
    const TABLE: &str = "\
Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
golden     256M:64k            235m  27  183m  67           +++++ +++ 11979  20
Latency                       14614us   27374us               372us   11979us
Version 2.00a       ------Sequential Create------ --------Random Create--------
golden              -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
files:max:min        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
       4:4096:512/8  4096  11                                                  
Latency              3168us                                                  
";

    fn figure(per_second: u64, percent: u64, longest_us: u64) -> Option<Figure> {
        let elapsed = Span::from_secs(10);
        let processor = Span::from_ms(percent * 100 + 1);
        Some(Figure { amount: per_second * 10, elapsed, processor, longest: Span::from_us(longest_us) })
    }

    #[test]
    fn a_table_has_the_columns_of_the_original() {
        let large = LargeFile { size: 256 << 20, chunk: 65536, seeks: 8192, seekers: 5 };
        let small = SmallFiles { files: 4096, largest: 4096, smallest: 512, directories: 8, chunk: 8192 };
        let mut row = Row { name: "golden".to_owned(), ..Row::default() };
        (row.large, row.small) = (Some(large), Some(small));
        row.figures[Test::WriteBlocks.number()] = figure(240_822 << 10, 27, 14614);
        row.figures[Test::Rewrite.number()] = figure(186_913 << 10, 67, 27374);
        row.figures[Test::ReadBlocks.number()] =
            Some(Figure { amount: 1, longest: Span::from_us(372), ..Figure::default() });
        row.figures[Test::Seeks.number()] = figure(11979, 20, 11979);
        row.figures[Test::CreateInOrder.number()] = figure(4096, 11, 3168);
        let text = table_text(&row);
        let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(lines(&text), lines(TABLE));
    }

    #[test]
    fn a_rate_is_shown_in_a_unit_in_which_it_fits() {
        for (kib, text) in [(598, "598k"), (4580, "4580k"), (553_277, "540m"), (266_889, "261m"), (5_163_809, "4.9g")] {
            assert_eq!(rate_text(kib), text);
        }
    }

    #[test]
    fn a_long_name_gives_way_to_the_size() {
        let large = LargeFile { size: 128 << 20, chunk: 4096, seeks: 2000, seekers: 3 };
        assert_eq!(name_and_size("golden-machine", &large), "golden 128M:4k:2000");
        assert_eq!(name_and_size("g", &LargeFile { chunk: 8192, ..large }), "g        128M::2000");
    }
}
