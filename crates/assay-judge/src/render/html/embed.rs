//! What is embedded in the page: the judgement as JSON, our script and style, and the policy that prevents anything
//! else from running.
//!
//! The page allows exactly the scripts and styles whose SHA-256 is in its policy. If a name should ever reach the page
//! unescaped, the browser still refuses to run it.

use crate::Judgement;
use crate::judgement::{Series, StepFigures};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The chart library, version 1.6.32.
pub const CHARTS: &str = include_str!("../../../vendor/uPlot/uPlot.iife.min.js");
/// Its style.
pub const CHARTS_STYLE: &str = include_str!("../../../vendor/uPlot/uPlot.min.css");
/// Draws the charts.
pub(crate) const SCRIPT: &str = include_str!("../../../templates/report.js");
/// How the page looks.
pub const STYLE: &str = include_str!("../../../templates/report.css");

/// Size of the JSON up to which a page carries it completely; above this, thinner forms are tried. Tables and drawings
/// take up to 2 MB more, and a page should stay under 5 MB, which mail servers accept.
const MOST_JSON: usize = 2_000_000;

/// Content of the `meta` tag of a page that has these scripts and styles and no others.
pub fn security_policy(scripts: &[&str], styles: &[&str]) -> String {
    let (scripts, styles) = (hashes_of(scripts), hashes_of(styles));
    format!("default-src 'none'; script-src{scripts}; style-src{styles}; base-uri 'none'; form-action 'none'")
}

/// The hashes of texts, as a policy lists them.
fn hashes_of(texts: &[&str]) -> String {
    match texts {
        [] => " 'none'".to_owned(),
        texts => texts.iter().map(|text| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(text)))).collect(),
    }
}

/// The judgement as it is embedded.
pub(crate) struct Embedded {
    /// JSON that no HTML parser mistakes for markup.
    pub json: String,
    /// What is missing compared with `verdict.json`, for the reader; empty when nothing is.
    pub lacks: Vec<&'static str>,
}

/// Ways of making it smaller, the least harmful first: a description, and the function.
type Thinning = (&'static str, fn(&mut Judgement));
const THINNINGS: [Thinning; 5] = [
    ("the time lines of the deciding step a second time", |j| {
        if !j.steps.is_empty() {
            j.part.course.series = Series::default();
        }
    }),
    ("the time lines of each target", |j| parts_mut(j).for_each(|part| part.course.series.flows.clear())),
    ("the distributions by nines of each target", |j| {
        let streams = parts_mut(j).filter(|part| part.targets.each.len() > 1).flat_map(|part| &mut part.streams.each);
        streams.filter(|totals| totals.target.is_some()).for_each(|totals| {
            let kinds = [&mut totals.response, &mut totals.service, &mut totals.lag, &mut totals.own_lag];
            kinds.into_iter().for_each(|times| times.nines.clear());
        });
    }),
    ("the slices of each target", |j| {
        parts_mut(j).filter(|part| part.targets.each.len() > 1).for_each(|part| {
            part.slices.listed.iter_mut().for_each(|slice| slice.streams.retain(|entry| entry.target.is_none()));
        });
    }),
    ("the time lines of all steps but the deciding one", |j| {
        let deciding = j.deciding.as_ref().map_or(1, |deciding| deciding.step);
        j.steps
            .iter_mut()
            .filter(|step| step.number != deciding)
            .for_each(|step| step.part.course.series = Series::default());
    }),
];

/// Serialises `judgement`, made smaller as far as its size requires; `Err` when it cannot be written as JSON at all.
pub(crate) fn embed_judgement(judgement: &Judgement) -> Result<Embedded, serde_json::Error> {
    let mut embedded = Embedded { json: json_for_script(judgement)?, lacks: Vec::new() };
    if embedded.json.len() <= MOST_JSON {
        return Ok(embedded);
    }
    let mut thin = judgement.clone();
    for (lacks, thinning) in THINNINGS {
        thinning(&mut thin);
        let json = json_for_script(&thin)?;
        if json.len() < embedded.json.len() {
            embedded.json = json;
            embedded.lacks.push(lacks);
        }
        if embedded.json.len() <= MOST_JSON {
            break;
        }
    }
    Ok(embedded)
}

fn parts_mut(judgement: &mut Judgement) -> impl Iterator<Item = &mut StepFigures> {
    std::iter::once(&mut judgement.part).chain(judgement.steps.iter_mut().map(|step| &mut step.part))
}

/// In JSON, `<`, `>` and `&` occur only within strings, where an escape means the same; so neither `</script>` nor
/// `<!--` can end or comment out the element. The two line separators are escaped because old JavaScript treats them as
/// line ends.
pub(crate) fn json_for_script<T: Serialize>(document: &T) -> Result<String, serde_json::Error> {
    let plain = serde_json::to_string(document)?;
    let mut safe = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            other => safe.push(other),
        }
    }
    Ok(safe)
}
