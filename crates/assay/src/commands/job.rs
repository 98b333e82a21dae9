//! What `explain` says of the keys of a job file of fio: each with its line, its class, and what it means here.

use super::outline::PlanLines;
use assay_formats::fio::Line;
use assay_formats::fio::keys::Class;

/// Longest key with its value that is shown in its column.
const WIDEST: usize = 40;

/// The keys in the order of the file, section by section; those without effect are only named.
pub(crate) fn keys_text(keys: &[Line]) -> String {
    let mut out = PlanLines::default();
    let Some(first) = keys.first() else { return out.0 };
    out.add_heading("keys of the job file, with their lines");
    let wide = keys.iter().map(|key| key.written.chars().count().min(WIDEST)).max().unwrap_or(0);
    let mut section = None;
    for key in keys.iter().filter(|key| key.class != Class::NoEffect) {
        if section.replace(&key.section) != Some(&key.section) {
            out.add_line(format_args!("  [{}]", key.section.escape_debug()));
        }
        let place = if key.file == first.file { key.line.to_string() } else { format!("{}:{}", key.file, key.line) };
        let written: String = key.written.escape_debug().collect();
        out.add_line(format_args!("  {place:>5}  {written:wide$}  {:7}  {}", key.class, key.means));
    }
    let idle: Vec<&Line> = keys.iter().filter(|key| key.class == Class::NoEffect).collect();
    if !idle.is_empty() {
        out.add_heading("keys without effect");
        for key in idle {
            let written: String = key.written.escape_debug().collect();
            out.add_line(format_args!("  {:>5}  {written:wide$}  {}", key.line, key.means));
        }
    }
    out.0
}

/// The same for programs.
pub(crate) fn key_json(key: &Line) -> serde_json::Value {
    let Line { file, line, section, written, class, means } = key;
    serde_json::json!({
        "file": file, "line": line, "section": section, "written": written, "class": class.to_string(), "means": means,
    })
}
