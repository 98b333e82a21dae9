//! Opens a database for a run or a check: the gate, its marker, and whether its tables are those that a load makes.

use super::connection::{Connection, read_marker};
use super::definitions;
use super::gate::Permit;
use crate::marker::Marker;
use crate::trouble::Trouble;
use crate::url::MysqlUrl;
use std::sync::Arc;

/// The gate, the first connection and the marker of a database that is to be used for a run on a number of warehouses,
/// or on all it has.
pub fn open_for_run(url: &MysqlUrl, warehouses: Option<i32>) -> Result<(Arc<Permit>, Connection, Marker), Trouble> {
    let permit = Arc::new(Permit::to_use(url)?);
    let mut connection = Connection::open_permitted(&permit, url)?;
    let marker = read_marker(&mut connection)?;
    marker.check_usable(warehouses, &connection.display_name())?;
    definitions::check_usable(&mut connection)?;
    Ok((permit, connection, marker))
}
