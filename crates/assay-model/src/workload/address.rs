//! `address` of a stream: a word, or a table whose first key names the form.

use crate::address::{self, Address, Exponent, HeatMap, INTERLEAVED_MAX, Inside, Law, Reread, RunLength, Turnover};
use crate::size::Size;
use assay_base::{Bytes, Share};
use serde::Deserialize;

/// Largest unit or alignment: no operation is longer.
pub(super) const LARGEST: Bytes = Bytes::new(64 << 20);
/// Upper bound on zones.
pub(super) const MOST_ZONES: usize = 64;
/// Largest area of a heat map.
const LARGEST_AREA: Bytes = Bytes::new(address::LARGEST_AREA);
/// How often a place may come.
const MOST_TIMES: u32 = 1_000_000;
/// The forms, for messages.
const FORMS: &str = "\"uniform\", \"sequential\", \"behind\", or a table such as { zipf = 1.1 }: uniform, zipf, hotspot, zones, working_set, \
                     never_seen, once, runs, walk, behind, pareto, normal, skip, back, repeated, bands or heat";

/// The value as written in the file.
pub(super) enum AddressKeys {
    /// One word.
    Name(Name),
    /// A form with its keys.
    Form(Box<Form>),
}

/// The forms without keys.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Name {
    Uniform,
    Sequential,
    Behind,
}

/// An address as a table: one of the keys that [`named_forms`](Form::named_forms) lists, and the keys that belong to some of them.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    uniform: Option<Bytes>,
    zipf: Option<Exponent>,
    hotspot: Option<(Share, Share)>,
    zones: Option<Vec<(Share, Share)>>,
    working_set: Option<Bytes>,
    never_seen: Option<Bytes>,
    once: Option<Bytes>,
    runs: Option<Runs>,
    walk: Option<Bytes>,
    behind: Option<Bytes>,
    pareto: Option<Share>,
    normal: Option<Share>,
    skip: Option<Bytes>,
    back: Option<Bytes>,
    repeated: Option<u32>,
    bands: Option<Bytes>,
    heat: Option<Vec<(Share, Share)>>,
    turnover: Option<Turnover>,
    inside: Option<Box<AddressKeys>>,
    reread: Option<Reread>,
    unit: Option<Bytes>,
    scatter: Option<bool>,
    centre: Option<Share>,
    gap: Option<Bytes>,
    moved: Option<Bytes>,
    area: Option<Bytes>,
    run_lengths: Option<Vec<(u32, Share)>>,
    interleaved: Option<u32>,
}

/// `runs = "1MiB"` or `{ mean = "1MiB" }`.
pub(super) struct Runs(RunLength);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mean {
    mean: Bytes,
}

/// Deserializers by hand, because an untagged enum would hide the fault inside.
macro_rules! text_or_table {
    ($name:ty, $expecting:expr, |$text:ident, $error:ident| $of_text:expr, |$table:ident: $keys:ty| $of_table:expr) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                struct Either;
                impl<'de> serde::de::Visitor<'de> for Either {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<$error: serde::de::Error>(self, $text: &str) -> Result<$name, $error> {
                        $of_text
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<$name, A::Error> {
                        <$keys as serde::Deserialize>::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                            .map(|$table| $of_table)
                    }
                }
                deserializer.deserialize_any(Either)
            }
        }
    };
}
pub(super) use text_or_table;

text_or_table!(
    AddressKeys,
    FORMS,
    |text, E| Name::deserialize(serde::de::value::StrDeserializer::new(text)).map(AddressKeys::Name),
    |form: Form| AddressKeys::Form(Box::new(form))
);
text_or_table!(
    Runs,
    "a quoted Bytes",
    |text, E| text.parse().map(|bytes| Runs(RunLength::Fixed(bytes))).map_err(E::custom),
    |table: Mean| Runs(RunLength::Mean(table.mean))
);

/// What is wrong, and what to write instead.
type Wrong = (String, String);

fn wrong_key<T>(what: impl Into<String>, remedy: impl Into<String>) -> Result<T, Wrong> {
    Err((what.into(), remedy.into()))
}

impl AddressKeys {
    /// The address, for operations of `size`.
    pub(super) fn meant_address(&self, size: &Size) -> Result<Address, Wrong> {
        match self {
            AddressKeys::Name(Name::Uniform) => Ok(Address::Uniform { align: Bytes::default() }),
            AddressKeys::Name(Name::Sequential) => Ok(Address::Sequential),
            AddressKeys::Name(Name::Behind) => Ok(Address::Behind { align: Bytes::default() }),
            AddressKeys::Form(form) => form.meant_address(size),
        }
    }

    /// A law; within a working set nothing else is allowed.
    fn meant_law(&self) -> Result<Law, Wrong> {
        let law = match self {
            AddressKeys::Name(Name::Uniform) => Some(Law::Uniform),
            AddressKeys::Form(form) if form.form_count() == 1 && form.given_options().iter().all(|(_, set)| !set) => {
                form.meant_law()?
            }
            AddressKeys::Name(Name::Sequential | Name::Behind) | AddressKeys::Form(_) => None,
        };
        let Some(law) = law else {
            return wrong_key(
                "not a possible distribution inside a working set",
                "write inside = \"uniform\", { zipf = 1.1 }, { hotspot = … } or { zones = … }",
            );
        };
        Ok(law)
    }
}

impl Form {
    fn named_forms(&self) -> [bool; 17] {
        let Form { uniform, zipf, hotspot, zones, working_set, never_seen, once, runs, walk, behind, .. } = self;
        let Form { pareto, normal, skip, back, repeated, bands, heat, .. } = self;
        [
            uniform.is_some(),
            zipf.is_some(),
            hotspot.is_some(),
            zones.is_some(),
            working_set.is_some(),
            never_seen.is_some(),
            once.is_some(),
            runs.is_some(),
            walk.is_some(),
            behind.is_some(),
            pareto.is_some(),
            normal.is_some(),
            skip.is_some(),
            back.is_some(),
            repeated.is_some(),
            bands.is_some(),
            heat.is_some(),
        ]
    }

    /// Number of forms that it names.
    fn form_count(&self) -> usize {
        self.named_forms().iter().filter(|set| **set).count()
    }

    fn given_options(&self) -> [(&'static str, bool); 11] {
        [
            ("turnover", self.turnover.is_some()),
            ("inside", self.inside.is_some()),
            ("reread", self.reread.is_some()),
            ("unit", self.unit.is_some()),
            ("scatter", self.scatter.is_some()),
            ("centre", self.centre.is_some()),
            ("gap", self.gap.is_some()),
            ("moved", self.moved.is_some()),
            ("area", self.area.is_some()),
            ("run_lengths", self.run_lengths.is_some()),
            ("interleaved", self.interleaved.is_some()),
        ]
    }

    fn meant_address(&self, size: &Size) -> Result<Address, Wrong> {
        if self.form_count() != 1 {
            return wrong_key("an address has exactly one form", format!("write {FORMS}"));
        }
        let unit = self.unit.unwrap_or_default();
        if self.unit.is_some() {
            is_unit(unit)?;
        }
        if let Some(law) = self.meant_law()? {
            self.refuse_foreign_options(&["unit", "scatter", "centre"])?;
            let (scatter, centre) = (self.scatter.unwrap_or(false), self.centre);
            if centre.is_some_and(|centre| centre > Share::WHOLE) {
                return wrong_key("not a place on the target", "write 0% for its start to 100% for its end");
            }
            if centre.is_some() && matches!(law, Law::Zones { .. }) {
                return wrong_key(
                    "zones have no centre",
                    "write the zones in another order, or zipf, pareto or normal",
                );
            }
            return Ok(Address::Ranked { law, unit, scatter, centre });
        }
        self.meant_other_form(size, unit)
    }

    /// A form that is not a law.
    fn meant_other_form(&self, size: &Size, unit: Bytes) -> Result<Address, Wrong> {
        if let Some(align) = self.uniform {
            self.refuse_foreign_options(&[])?;
            is_unit(align)?;
            return Ok(Address::Uniform { align });
        }
        if let Some(align) = self.behind {
            self.refuse_foreign_options(&[])?;
            is_unit(align)?;
            return Ok(Address::Behind { align });
        }
        if let Some(address) = self.behind_the_last()? {
            self.refuse_foreign_options(&[])?;
            return Ok(address);
        }
        if let Some(of) = self.working_set {
            self.refuse_foreign_options(&["turnover", "inside", "unit"])?;
            if of < size.to || of < unit {
                return wrong_key("a working set is smaller than one of its places", "write a size such as \"50GiB\"");
            }
            let inside = self.inside.as_ref().map_or(Ok(Law::Uniform), |keys| keys.meant_law())?;
            let turnover = self.turnover.unwrap_or(Turnover::NONE);
            return Ok(Address::WorkingSet { size: of, turnover, unit, inside });
        }
        if let Some(unit) = self.never_seen {
            self.refuse_foreign_options(&["reread"])?;
            check_unit_holds(unit, size)?;
            self.reread.map_or(Ok(()), |reread| comes_back(reread, unit))?;
            return Ok(Address::NeverSeen { unit, reread: self.reread });
        }
        if let Some(unit) = self.once {
            self.refuse_foreign_options(&[])?;
            check_unit_holds(unit, size)?;
            return Ok(Address::Once { unit });
        }
        if let Some(zones) = &self.heat {
            self.refuse_foreign_options(&["area", "unit", "run_lengths", "interleaved"])?;
            return self.meant_heat(zones, unit);
        }
        if let Some(length) = self.bands {
            self.refuse_foreign_options(&["gap", "moved", "inside"])?;
            return self.in_bands(length, size);
        }
        if let Some(Runs(length)) = self.runs {
            self.refuse_foreign_options(&[])?;
            let (RunLength::Fixed(bytes) | RunLength::Mean(bytes)) = length;
            if bytes < size.to {
                return wrong_key(
                    "a run is shorter than one of its operations",
                    "write runs = \"1MiB\" or { mean = \"1MiB\" }",
                );
            }
            return Ok(Address::Runs { length });
        }
        self.refuse_foreign_options(&["unit"])?;
        let reach = self.walk.unwrap_or_default();
        if reach.get() == 0 {
            return wrong_key("a walk of no bytes stays where it is", "write walk = \"1MiB\", the longest step");
        }
        Ok(Address::Walk { reach, unit })
    }

    /// Areas that are used more or less often.
    fn meant_heat(&self, zones: &[(Share, Share)], unit: Bytes) -> Result<Address, Wrong> {
        let map = HeatMap {
            zones: zones.to_vec(),
            area: self.area.unwrap_or(unit),
            unit,
            run_lengths: self.run_lengths.clone().unwrap_or_default(),
            interleaved: self.interleaved.unwrap_or(1),
        };
        check_heat(&map)?;
        Ok(Address::Heat(Box::new(map)))
    }

    /// Bands of this length.
    fn in_bands(&self, length: Bytes, size: &Size) -> Result<Address, Wrong> {
        let (gap, moved) = (self.gap.unwrap_or_default(), self.moved.unwrap_or(length));
        if length < size.to || moved.get() == 0 {
            return wrong_key(
                "a band is shorter than one of its operations, or nothing is moved in it",
                "write bands = \"256MiB\", gap = \"1GiB\", and moved = \"64MiB\" where it is not the whole band",
            );
        }
        let inside = match self.inside.as_ref().map_or(Ok(Address::Sequential), |keys| keys.meant_address(size))? {
            Address::Sequential => Inside::Sequential,
            Address::Uniform { align } => Inside::Uniform { align },
            Address::Once { unit } => Inside::Once { unit },
            _ => {
                return wrong_key(
                    "not a possible order inside bands",
                    "write inside = \"sequential\", \"uniform\" or { once = \"4KiB\" }",
                );
            }
        };
        Ok(Address::Bands { length, gap, moved, inside })
    }

    /// The laws that one share decides.
    fn bell_or_pareto(&self) -> Result<Option<Law>, Wrong> {
        match (self.pareto, self.normal) {
            (Some(skew), None) if skew.as_ppb() > 0 && skew < Share::WHOLE => Ok(Some(Law::Pareto { skew })),
            (None, Some(deviation)) if deviation.as_ppb() > 0 => Ok(Some(Law::Normal { deviation })),
            (Some(_), None) => {
                wrong_key("not a skew of Pareto's law", "write more than 0% and less than 100%: pareto = \"20%\"")
            }
            (None, Some(_)) => {
                wrong_key("a bell without a width", "write its standard deviation as a share: normal = \"10%\"")
            }
            _ => Ok(None),
        }
    }

    /// The forms in which one place follows from the last, or is that.
    fn behind_the_last(&self) -> Result<Option<Address>, Wrong> {
        match (self.skip.map(|by| (by, false)).or(self.back.map(|by| (by, true))), self.repeated) {
            (Some((by, _)), None) if by.get() == 0 => {
                wrong_key("no bytes to leave out", "write skip = \"4KiB\" or back = \"8KiB\", or \"sequential\"")
            }
            (Some((by, backwards)), None) => Ok(Some(Address::Strided { by, backwards })),
            (None, Some(times @ 1..=MOST_TIMES)) => Ok(Some(Address::Repeated { times })),
            (None, Some(_)) => wrong_key("not a number of times", format!("write repeated = 4, 1 to {MOST_TIMES}")),
            _ => Ok(None),
        }
    }

    fn meant_law(&self) -> Result<Option<Law>, Wrong> {
        if let Some(law) = self.bell_or_pareto()? {
            return Ok(Some(law));
        }
        let zones = match (&self.zipf, &self.hotspot, &self.zones) {
            (Some(exponent), None, None) => return Ok(Some(Law::Zipf { exponent: *exponent })),
            (None, Some((operations, space)), None) => {
                vec![(*operations, *space), (rest_of(*operations), rest_of(*space))]
            }
            (None, None, Some(zones)) => zones.clone(),
            _ => return Ok(None),
        };
        check_zones(&zones)?;
        Ok(Some(Law::Zones { zones }))
    }

    /// Refuses keys that do not belong to the form.
    fn refuse_foreign_options(&self, known: &[&str]) -> Result<(), Wrong> {
        match self.given_options().into_iter().find(|(key, set)| *set && !known.contains(key)) {
            Some((key, _)) => wrong_key(
                format!("{key} does not belong to this form of address"),
                "turnover and inside go with working_set, reread with never_seen, scatter with zipf, pareto, normal, hotspot and zones, centre with zipf, \
                 pareto and normal, gap, moved and inside with bands, area, run_lengths and interleaved with heat, and unit with those laws, working_set, walk and heat",
            ),
            None => Ok(()),
        }
    }
}

/// Each operation and each place is in one zone.
pub(super) fn check_zones(zones: &[(Share, Share)]) -> Result<(), Wrong> {
    let operations: u128 = zones.iter().map(|zone| u128::from(zone.0.as_ppb())).sum();
    let space: u128 = zones.iter().map(|zone| u128::from(zone.1.as_ppb())).sum();
    let whole = u128::from(Share::WHOLE.as_ppb());
    let empty = zones.iter().any(|zone| zone.0.as_ppb() > 0 && zone.1.as_ppb() == 0);
    if zones.is_empty() || zones.len() > MOST_ZONES || empty || operations != whole || space != whole {
        return wrong_key(
            "the zones do not cover all operations and all space",
            format!(
                "write pairs of shares, of operations and of space, that make 100% each: [[\"60%\", \"10%\"], [\"40%\", \"90%\"]], at most {MOST_ZONES}"
            ),
        );
    }
    Ok(())
}

/// Whether a heat map can be drawn.
pub(super) fn check_heat(map: &HeatMap) -> Result<(), Wrong> {
    check_zones(&map.zones)?;
    if map.unit.get() == 0 || map.unit > LARGEST || map.area < map.unit || map.area > LARGEST_AREA {
        return wrong_key(
            "not the areas of a heat map",
            format!("write unit = \"4KiB\", to {LARGEST}, and area = \"64KiB\", a multiple of it to {LARGEST_AREA}"),
        );
    }
    let runs: u128 = map.run_lengths.iter().map(|(_, share)| u128::from(share.as_ppb())).sum();
    let whole = map.run_lengths.is_empty() || runs == u128::from(Share::WHOLE.as_ppb());
    if !whole || map.run_lengths.len() > MOST_ZONES || map.run_lengths.iter().any(|(length, _)| *length == 0) {
        return wrong_key(
            "not the lengths of runs",
            format!(
                "write numbers of operations with shares of the runs that make 100%: run_lengths = [[1, \"80%\"], [32, \"20%\"]], at most {MOST_ZONES}"
            ),
        );
    }
    if map.interleaved == 0 || map.interleaved > INTERLEAVED_MAX {
        return wrong_key(
            "not a number of runs that take turns",
            format!("write interleaved = 4, 1 to {INTERLEAVED_MAX}"),
        );
    }
    Ok(())
}

fn is_unit(unit: Bytes) -> Result<(), Wrong> {
    if unit.get() == 0 || unit > LARGEST {
        wrong_key("not an alignment", format!("write 1B to {LARGEST}"))
    } else {
        Ok(())
    }
}

/// What a share leaves of the whole.
fn rest_of(share: Share) -> Share {
    Share::from_ppb(Share::WHOLE.as_ppb().saturating_sub(share.as_ppb()))
}

/// Each unit is used once, so an operation must not reach into the next one.
fn check_unit_holds(unit: Bytes, size: &Size) -> Result<(), Wrong> {
    is_unit(unit)?;
    if unit < size.to {
        return wrong_key(
            format!("an operation of {} is longer than its unit of {unit}", size.to),
            format!("write a unit of {} or more", size.to),
        );
    }
    Ok(())
}

fn comes_back(reread: Reread, unit: Bytes) -> Result<(), Wrong> {
    if reread.share >= Share::WHOLE || reread.of_last < unit {
        return wrong_key(
            "not a possible reread",
            format!("write reread = {{ share = \"40%\", of_last = \"1GiB\" }}: less than 100%, of {unit} or more"),
        );
    }
    Ok(())
}
