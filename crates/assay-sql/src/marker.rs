//! The row by which a database is known to be ours, and with what it was loaded.

use crate::trouble::Trouble;
use assay_model::tpcc::{Population, Scale};

/// The version of schema and population. A database of another version is not used.
pub const VERSION: i64 = 1;

/// The content of the table `assay_tpcc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The version of schema and population.
    pub version: i64,
    /// The load's own name, by which two loads with one seed are told apart.
    pub run: String,
    /// The population that is loaded.
    pub population: Population,
    /// Whether all of it is there.
    pub complete: bool,
}

impl Marker {
    /// Makes the marker of a load that begins.
    pub fn new(run: &str, population: Population) -> Marker {
        Marker { version: VERSION, run: run.to_owned(), population, complete: false }
    }

    /// From the columns as they stand in a database, which anybody may have changed.
    pub(crate) fn from_columns(columns: Columns) -> Option<Marker> {
        let Columns { version, run, warehouses, seed, c_load, items, customers, complete } = columns;
        let scale = Scale::new(i32::try_from(items).ok()?, i32::try_from(customers).ok()?)?;
        let warehouses = i32::try_from(warehouses).ok().filter(|warehouses| *warehouses > 0)?;
        let population = Population::new(scale, warehouses, seed.parse().ok()?);
        let complete = match complete {
            0 => false,
            1 => true,
            _ => return None,
        };
        (i64::from(population.c_load()) == c_load).then_some(Marker { version, run, population, complete })
    }

    /// The columns as they are written.
    pub(crate) fn to_columns(&self) -> Columns {
        let population = self.population;
        Columns {
            version: self.version,
            run: self.run.clone(),
            warehouses: population.warehouse_count().into(),
            seed: population.run_seed().to_string(),
            c_load: population.c_load().into(),
            items: population.row_scale().item_count().into(),
            customers: population.row_scale().customer_count().into(),
            complete: self.complete.into(),
        }
    }

    /// Whether a load of this population may go on here, or is done already.
    pub(crate) fn check_loadable(&self, population: Population, place: &str) -> Result<(), Trouble> {
        let Marker { version, population: there, .. } = self;
        let other = if *version != VERSION {
            format!("version {version} of this workload's tables, and this program makes version {VERSION}")
        } else if *there != population {
            format!("{}, and {} is asked for", describe_population(*there), describe_population(population))
        } else {
            return Ok(());
        };
        Err(Trouble::refused_for_safety(format!("{place} holds {other}: --clear deletes it and loads anew")))
    }

    /// Whether a run on this many warehouses can use it.
    pub(crate) fn check_usable(&self, warehouses: Option<i32>, place: &str) -> Result<(), Trouble> {
        let there = self.population.warehouse_count();
        let lacks = if self.version != VERSION {
            format!("holds version {} of this workload's tables, and this program uses version {VERSION}", self.version)
        } else if !self.complete {
            "is loaded in part only".to_owned()
        } else if let Some(wanted) = warehouses.filter(|wanted| *wanted > there) {
            format!("has {there} warehouses, fewer than the {wanted} that are asked for")
        } else {
            return Ok(());
        };
        Err(Trouble::not_ready(format!("{place} {lacks}: load it with assay prep")))
    }
}

fn describe_population(population: Population) -> String {
    let (warehouses, seed, scale) = (population.warehouse_count(), population.run_seed(), population.row_scale());
    let small = if scale == Scale::STANDARD { "" } else { " of a reduced size" };
    format!("{warehouses} warehouse{}{small} with seed {seed}", if warehouses == 1 { "" } else { "s" })
}

/// The columns of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) version: i64,
    pub(crate) run: String,
    pub(crate) warehouses: i64,
    /// The seed as text, because not every database has unsigned numbers of 64 bits.
    pub(crate) seed: String,
    pub(crate) c_load: i64,
    pub(crate) items: i64,
    pub(crate) customers: i64,
    pub(crate) complete: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::TroubleKind;

    fn marker() -> Marker {
        Marker::new("a", Population::new(Scale::for_tests(100, 30), 2, u64::MAX))
    }

    #[test]
    fn what_is_written_is_read() {
        for complete in [false, true] {
            let marker = Marker { complete, ..marker() };
            assert_eq!(Marker::from_columns(marker.to_columns()), Some(marker));
        }
    }

    #[test]
    fn a_marker_that_no_load_wrote_is_none() {
        let good = marker().to_columns();
        for bad in [
            Columns { warehouses: 0, ..good.clone() },
            Columns { warehouses: i64::MAX, ..good.clone() },
            Columns { seed: "-1".into(), ..good.clone() },
            Columns { c_load: good.c_load + 1, ..good.clone() },
            Columns { items: 7, ..good.clone() },
            Columns { customers: -30, ..good.clone() },
            Columns { complete: 2, ..good },
        ] {
            assert_eq!(Marker::from_columns(bad.clone()), None, "{bad:?}");
        }
    }

    #[test]
    fn a_load_goes_on_only_with_what_it_began() {
        let marker = marker();
        assert_eq!(marker.check_loadable(marker.population, "x"), Ok(()));
        let wanted = Population::new(Scale::STANDARD, 1, 3);
        let refused = marker.check_loadable(wanted, "shop.db").unwrap_err();
        assert_eq!(refused.kind, TroubleKind::Refused);
        assert_eq!(
            refused.to_string(),
            "shop.db holds 2 warehouses of a reduced size with seed 18446744073709551615, and 1 warehouse with seed 3 is \
             asked for: --clear deletes it and loads anew"
        );
        let old = Marker { version: 9, ..marker.clone() }.check_loadable(marker.population, "shop.db").unwrap_err();
        assert!(old.to_string().contains("version 9"), "{old}");
    }

    #[test]
    fn a_run_needs_a_whole_load_of_this_version() {
        let whole = Marker { complete: true, ..marker() };
        assert_eq!(whole.check_usable(Some(2), "x"), Ok(()));
        assert_eq!(whole.check_usable(None, "x"), Ok(()));
        for (marker, warehouses, says) in [
            (marker(), None, "in part only"),
            (Marker { version: 0, ..whole.clone() }, None, "version 0"),
            (whole.clone(), Some(3), "has 2 warehouses, fewer than the 3"),
        ] {
            let trouble = marker.check_usable(warehouses, "x").unwrap_err();
            assert!(trouble.kind == TroubleKind::NotReady && trouble.to_string().contains(says), "{trouble}");
        }
    }
}
