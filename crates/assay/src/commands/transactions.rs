//! What `explain` shows of a load of transactions on a database.

use super::outline::PlanLines;
use assay_base::text::counted_things;
use assay_model::tpcc::checks::Check;
use assay_model::tpcc::load::{Homes, Pace};
use assay_model::tpcc::{DEVIATIONS, Load, TransactionKind, WATERMARK};
use assay_model::{Plan, Stream};
use assay_run::open::targets::{Named, named_databases};

/// The reason why one of the named databases cannot be looked at, if there is one.
pub(crate) fn unknown_reason(named: &[(String, Named)]) -> Option<String> {
    named_databases(named)
        .into_iter()
        .find_map(|database| database.try_read_marker().err())
        .map(|failure| failure.user_message().to_owned())
}

/// The share of transactions that are of a stream's kind, if there is no rate.
pub(crate) fn transaction_share(plan: &Plan, stream: &Stream) -> Option<String> {
    let mix = plan.load.tpcc()?.mix;
    let (_, weight) =
        TransactionKind::ALL.into_iter().zip(mix.kind_weights()).find(|(kind, _)| kind.stream_name() == stream.name)?;
    Some(format!("{weight} of {}", mix.total_weight()))
}

/// The pace of a load, the database that it needs, and what this is not.
pub(crate) fn add_lines(load: &Load, targets: u16, unknown: Option<&str>, out: &mut PlanLines) {
    let sessions = counted_things(load.session_count().into(), "session");
    let pace = match (load.pace, load.transaction_rate()) {
        (Pace::Closed, _) => format!("{sessions}, each of which asks again as soon as it is answered (closed loop)"),
        (Pace::Keyed, _) => format!(
            "{}, at which people think and type (closed loop); their transactions share {sessions}",
            counted_things(load.terminal_count().unwrap_or_default().into(), "terminal")
        ),
        (_, rate) => format!(
            "{} whatever is answered (open loop), on at most {sessions}; one that finds all busy waits, and its wait counts",
            rate.map(|rate| format!("{:.3} transactions a second", rate.as_f64())).unwrap_or_default()
        ),
    };
    let on_each = if targets > 1 { format!(", on each of {targets} databases") } else { String::new() };
    out.add_heading(format_args!("pace{on_each}: {pace}"));
    if let Some(orders) = load.new_orders_a_minute() {
        out.add_line(format_args!("  that is {orders:.2} new orders a minute (NOPM) if all are answered"));
    }
    let home = match load.home {
        Homes::All => "each transaction is for any warehouse",
        Homes::Session => "a session is at home in one warehouse and district for the whole run",
    };
    out.add_line(format_args!("  {home}"));
    match (load.warehouses, unknown) {
        (Some(warehouses), _) => {
            let database = if targets > 1 { "each database" } else { "the database" };
            out.add_line(format_args!("  {database} has {}", counted_things(warehouses.into(), "warehouse")));
        }
        (None, Some(why)) => {
            out.add_line(format_args!("  these are figures for one warehouse, because the database cannot be looked at: {why}"));
        }
        (None, None) => out.add_line(
            "  these are figures for one warehouse: name a database that assay prep has loaded, such as sqlite:shop.db, for its own",
        ),
    }
    out.add_line(format_args!(
        "after the run: {} conditions are checked, and whether anybody else wrote meanwhile (--no-check leaves that out)",
        Check::ALL.len()
    ));
    out.add_line(format_args!("deviations from the standard: {}", DEVIATIONS.join(", ")));
    out.add_line(WATERMARK);
}
