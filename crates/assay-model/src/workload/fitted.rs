//! The text of a profile with other knobs: everything else stays as written, including comments and criteria.

use super::profile::read_profile;
use crate::profile::ProfileFault;
use assay_base::{Fault, Knobs, Share};
use toml_edit::{DocumentMut, Item, Table, value};

/// The text of a profile with these knobs for all parts on its drive. The drive is named in it, so that it stays the
/// one that was fitted. `head` are lines of comment at the top.
///
/// # Errors
/// The text is not a profile, or no text could be written that parses to the intended profile.
pub fn fitted_text(file: &str, text: &str, knobs: &Knobs, head: &[String]) -> Result<String, Fault> {
    let meant = read_profile(file, text)?;
    let lowered = meant.lower_to_streams().map_err(|unfit| impossible_load(file, unfit))?;
    let parts = meant.parts_meant().map_err(|unfit| impossible_load(file, unfit))?;
    let fitted = meant.with_knobs(knobs).map_err(|unfit| impossible_load(file, unfit))?;
    let mut document: DocumentMut = text.parse().map_err(|_| unwritable_form(file))?;
    if !lowered.meant.is_empty() {
        set_text(document.as_table_mut(), "drive", &lowered.meant);
    }
    let namespaces = table_count(&document, "namespace");
    for index in parts {
        let (table, at) = if index < namespaces { ("namespace", index) } else { ("application", index - namespaces) };
        let written = document.get_mut(table).and_then(Item::as_array_of_tables_mut).and_then(|all| all.get_mut(at));
        let written = written.ok_or_else(|| unwritable_form(file))?;
        let part = &meant.parts[index];
        for (key, flow, position) in
            [("reads", &part.reads, knobs.read_position), ("writes", &part.writes, knobs.write_position)]
        {
            if flow.as_ref().is_some_and(crate::profile::Flow::has_buckets) {
                set_knob(table_below(written, key), "position", position);
            }
        }
        if table == "namespace" {
            let blocks = table_below(written, "large_blocks");
            set_knob(blocks, "write_scale", knobs.write_scale);
            set_knob(blocks, "read_scale", knobs.read_scale);
            let others = fitted.parts[index].others;
            let was = part.others;
            for (key, was, to) in [("reads", was.reads, others.reads), ("writes", was.writes, others.writes)] {
                if was != to {
                    set_moved(table_below(written, "others"), key, &was.to_string(), &to.to_string());
                }
            }
        }
    }
    let comment: String = head.iter().map(|line| format!("# {}\n", assay_base::text::one_line(line))).collect();
    let out = format!("{comment}{}{document}", if head.is_empty() { "" } else { "\n" });
    let is_meant =
        read_profile(file, &out).ok().and_then(|read| read.first_knobs().ok()).is_some_and(|read| read == *knobs);
    if is_meant { Ok(out) } else { Err(unwritable_form(file)) }
}

/// The fault for a profile that cannot be a load.
fn impossible_load(file: &str, unfit: ProfileFault) -> Fault {
    Fault::for_file(file, unfit.what, unfit.remedy)
}

/// The fault for a profile whose tables are written in a form that is not changed here.
fn unwritable_form(file: &str) -> Fault {
    Fault::for_file(file, "the fitted profile cannot be written in this form", "write its tables as [[namespace]]")
}

/// Number of tables of a kind.
fn table_count(document: &DocumentMut, name: &str) -> usize {
    document.get(name).and_then(Item::as_array_of_tables).map_or(0, toml_edit::ArrayOfTables::len)
}

/// The table `name` of a part, created if it does not exist.
fn table_below<'a>(part: &'a mut Table, name: &str) -> &'a mut Item {
    part.entry(name).or_insert_with(|| Item::Table(Table::new()))
}

/// Sets a knob; the line of an unchanged knob is kept. An item that is not a table is found by the check of the whole
/// text.
fn set_knob(item: &mut Item, key: &str, to: Share) {
    let Some(table) = item.as_table_like() else { return };
    let was = table.get(key).and_then(Item::as_str).and_then(|text| text.parse::<Share>().ok()).unwrap_or(Share::WHOLE);
    if was != to {
        set_moved(item, key, &was.to_string(), &to.to_string());
    }
}

/// Sets a knob and adds its previous value as a comment, except within an inline table.
fn set_moved(item: &mut Item, key: &str, was: &str, to: &str) {
    let one_line = item.is_inline_table();
    let Some(table) = item.as_table_like_mut() else { return };
    table.insert(key, value(to));
    if let Some(value) = table.get_mut(key).and_then(Item::as_value_mut).filter(|_| !one_line) {
        value.decor_mut().set_suffix(format!("  # fitted, was {was}"));
    }
}

/// Sets a text and keeps the comments around it.
fn set_text(table: &mut Table, key: &str, text: &str) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(known) => {
            let decor = known.decor().clone();
            *known = text.into();
            *known.decor_mut() = decor;
        }
        None => drop(table.insert(key, value(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Rate;

    const PROFILE: &str = r#"# mine
name = "p"
model = "profile"
duration = "1h"  # an hour

[[namespace]]
name = "a"
drives = ["sda"]
[namespace.reads]
rate = "1000/s"   # table:1
larger_than = [["1KiB", "100%"], ["2KiB", "0%"]]
position = "100%"
[namespace.writes]
rate = "10/s"
larger_than = [["1KiB", "100%"], ["2KiB", "0%"]]

[[namespace]]
name = "elsewhere"
drives = ["sdb"]
[namespace.reads]
rate = "1/s"
larger_than = [["1KiB", "100%"], ["2KiB", "0%"]]

[[application]]
name = "log"
drives = ["sda"]
reads = { rate = "5/s", larger_than = [["1KiB", "100%"], ["2KiB", "0%"]] }

[[criterion]]
stream = "a.reads"
share_over = "1ms"
at_most = "5%"
"#;

    fn knobs() -> Knobs {
        let share = Share::from_percent;
        Knobs { read_position: share(110), read_scale: share(90), ..Knobs::default() }
    }

    #[test]
    fn all_that_is_not_moved_stays_as_it_is_written() {
        let text = fitted_text("p.toml", PROFILE, &knobs(), &["one".into(), "two".into()]).unwrap();
        let expected = PROFILE
            .replace("model = \"profile\"\nduration = \"1h\"  # an hour\n", "model = \"profile\"\nduration = \"1h\"  # an hour\ndrive = \"sda\"\n")
            .replace("position = \"100%\"", "position = \"110%\"  # fitted, was 100%")
            .replace("\n\n[[namespace]]\nname = \"elsewhere\"", "\n\n[namespace.large_blocks]\nread_scale = \"90%\"  # fitted, was 100%\n\n[[namespace]]\nname = \"elsewhere\"")
            .replace("[\"2KiB\", \"0%\"]] }", "[\"2KiB\", \"0%\"]] , position = \"110%\" }");
        assert!(text.starts_with("# one\n# two\n\n# mine\n"), "{text}");
        let read = |text: &str| {
            crate::workload::read_workload("p.toml", text).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
        };
        assert_eq!(read(&text).criteria, read(PROFILE).criteria);
        assert_eq!(text, format!("# one\n# two\n\n{expected}"));
    }

    #[test]
    fn other_operations_get_a_table_of_their_own() {
        let some = Knobs { other_reads: Rate::from_ratio(2064, 10).unwrap(), ..Knobs::default() };
        let once = fitted_text("p.toml", PROFILE, &some, &[]).unwrap();
        assert!(once.contains("[namespace.others]\nreads = \"206.4/s\"  # fitted, was 0/s\n"), "{once}");
        assert_eq!(once.matches("others").count(), 1, "no other namespace has them: {once}");
        let more = Knobs { other_reads: Rate::per_second(7), other_writes: Rate::per_second(3), ..Knobs::default() };
        let twice = fitted_text("p.toml", &once, &more, &[]).unwrap();
        assert!(
            twice.contains("reads = \"7/s\"  # fitted, was 206.4/s\nwrites = \"3/s\"  # fitted, was 0/s\n"),
            "{twice}"
        );
        let none = fitted_text("p.toml", &twice, &Knobs::default(), &[]).unwrap();
        assert_eq!(read_profile("p.toml", &none).unwrap().first_knobs().unwrap(), Knobs::default());
    }

    #[test]
    fn what_is_fitted_again_says_what_it_was() {
        let once = fitted_text("p.toml", PROFILE, &knobs(), &[]).unwrap();
        let share = Share::from_percent(105);
        let twice = fitted_text("p.toml", &once, &Knobs { read_position: share, ..knobs() }, &[]).unwrap();
        assert!(twice.contains("position = \"105%\"  # fitted, was 110%"), "{twice}");
        assert_eq!(twice.matches("drive = ").count(), 1);
        assert_eq!(fitted_text("p.toml", &twice, &Knobs { read_position: share, ..knobs() }, &[]).unwrap(), twice);
    }

    #[test]
    fn what_is_no_profile_is_refused() {
        for text in ["", "name = 1", "model = \"profile\"\n", "name = \"p\"\nmodel = \"streams\"\n"] {
            assert!(fitted_text("p.toml", text, &knobs(), &[]).is_err(), "{text}");
        }
    }

    /// Lines left out, doubled and exchanged, characters lost: an answer, and what is written reads back with those knobs.
    #[test]
    fn hostile_text_is_refused_or_written_as_it_is_meant() {
        let mut prng = assay_base::Prng::from_seed(1);
        let (mut written, mut refused) = (0, 0);
        for _ in 0..1000 {
            let mut lines: Vec<&str> = PROFILE.lines().collect();
            for _ in 0..=prng.uniform_below(2) {
                let at = |prng: &mut assay_base::Prng, n: usize| prng.uniform_below(n as u64) as usize;
                let (one, other) = (at(&mut prng, lines.len()), at(&mut prng, lines.len()));
                match prng.uniform_below(4) {
                    0 => drop(lines.remove(one)),
                    1 => lines.insert(one, lines[other]),
                    2 => lines.swap(one, other),
                    _ => lines[one] = &lines[one][..lines[one].len() / 2],
                }
            }
            match fitted_text("p.toml", &lines.join("\n"), &knobs(), &[]) {
                Ok(text) => {
                    assert_eq!(read_profile("p.toml", &text).unwrap().first_knobs().unwrap(), knobs(), "{text}");
                    written += 1;
                }
                Err(fault) => {
                    assert!(!fault.what.is_empty());
                    refused += 1;
                }
            }
        }
        assert!(written > 100 && refused > 100, "{written} written, {refused} refused");
    }
}
