//! The `[tree]` table of a tree that was counted.

use super::counts::TreeCounts;
use assay_base::Share;
use assay_model::files::MOST_FILES;
use std::fmt::Write;

/// How wide lines of lists are.
const WIDTH: usize = 100;

/// The table, of a tree with at least one file.
pub fn tree_table(counts: &TreeCounts) -> String {
    let mut text = String::from(
        "# The like of a tree that was counted by `assay import tree`. Put it into a workload file with model = \"files\".\n\
         # files can be changed: everything else is a share of it.\n",
    );
    let left_out = counts.left_out.in_words();
    if !left_out.is_empty() {
        let _ = writeln!(text, "# Not in it: {}.", left_out.join(", "));
    }
    let files = counts.files.min(MOST_FILES.into());
    let sizes: Vec<String> = counts.sizes().iter().map(u64::to_string).collect();
    let groups: Vec<String> = counts
        .directory_groups()
        .iter()
        .map(|group| format!("[{}, {}, {}]", group.depth, group.directories, group.files))
        .collect();
    let names: Vec<String> = counts.names().map(|(length, count)| format!("[{length}, {count}]")).collect();
    let _ = write!(
        text,
        "\n[tree]\nfiles = {files}\n# Files by size: empty, then 1, 2 to 3, 4 to 7 bytes and so on.\nsize = {{ log2 = [{}] }}\n",
        sizes.join(", ")
    );
    text += "# Depth, directories of that depth that have about as many files, files in all of them.\n";
    write_list(&mut text, "directories", &groups);
    text += "# Bytes of a name, names that have so many.\n";
    write_list(&mut text, "names", &names);
    for (key, count) in [("symlinks", counts.symlinks), ("links", counts.links)] {
        if count > 0 {
            let _ = writeln!(text, "{key} = \"{}\"", share_of_files(count, counts.files));
        }
    }
    text
}

/// A list of several lines.
fn write_list(text: &mut String, key: &str, entries: &[String]) {
    let _ = writeln!(text, "{key} = [");
    let mut line = String::new();
    for entry in entries {
        if line.len() + entry.len() > WIDTH {
            let _ = writeln!(text, " {line}");
            line.clear();
        }
        let _ = write!(line, " {entry},");
    }
    let _ = writeln!(text, " {line}\n]");
}

/// A part of the files, at most as many as there are.
fn share_of_files(count: u64, files: u64) -> Share {
    let whole = u128::from(Share::WHOLE.as_ppb());
    let share = u128::from(count) * whole / u128::from(files.max(1));
    Share::from_ppb(share.min(whole) as u64)
}
