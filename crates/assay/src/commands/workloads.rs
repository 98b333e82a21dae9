//! `assay workloads`: the workloads that come with the program.

use crate::candidates;
use crate::stdout::{print, print_json};
use assay_run::failure::{Failure, code};
use assay_run::workloads::{SHIPPED, find};
use clap_complete::engine::ArgValueCandidates;

/// `assay workloads`
#[derive(clap::Args, Debug)]
pub(crate) struct Workloads {
    /// Print the text of this workload, as a start for your own [default: list all]
    #[arg(add = ArgValueCandidates::new(candidates::shipped))]
    pub name: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Lists the shipped workloads, or prints the text of one.
pub(crate) fn workloads(args: &Workloads) -> Result<u8, Failure> {
    if let Some(name) = &args.name {
        let names = || SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let (_, text) = SHIPPED.iter().find(|(shipped, _)| shipped == name).ok_or_else(|| {
            Failure::workload(format!(
                "there is no shipped workload \"{}\"; there are {}",
                name.escape_debug(),
                names()
            ))
        })?;
        match args.json {
            true => print_json(&serde_json::json!({ "name": name, "text": text }))?,
            false => print(text),
        }
        return Ok(code::DONE);
    }
    let mut rows = Vec::new();
    for (name, _) in SHIPPED {
        let workload = find(name)?;
        rows.push((name, workload.model, workload.duration.to_string(), workload.description));
    }
    if args.json {
        let row = |(name, model, duration, description): &(&str, &str, String, String)| serde_json::json!({ "name": name, "model": model, "duration": duration, "description": description });
        print_json(&rows.iter().map(row).collect::<Vec<_>>())?;
    } else {
        let width = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
        for (name, _, duration, description) in &rows {
            print(&format!("{name:width$}  {duration:>5}  {description}\n"));
        }
        print("\n`assay workloads NAME` prints one, to copy and change.\n");
    }
    Ok(code::DONE)
}
