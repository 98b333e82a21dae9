//! Transactions on a database as a user drives them: loops, signals, kills, foreign hands, full disks, and what every
//! form of the result says about them. The database is loaded once for all tests, and each works on a copy.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests drive real processes and real time"
)]

#[allow(dead_code, reason = "shared with the other tests of the program")]
#[path = "../program/bed.rs"]
mod bed;

#[allow(dead_code, reason = "shared with the tests of the room")]
#[path = "../../../assay-sql/tests/postgres/cluster.rs"]
mod cluster;
mod drawn;
#[allow(dead_code, reason = "shared with the tests of the room")]
#[path = "../../../assay-sql/tests/mysql/server.rs"]
mod maria;
mod shop;
#[allow(dead_code, reason = "shared with the tests of the room")]
#[path = "../../../assay-sql/tests/shared/disk.rs"]
mod small;

mod agreement;
mod crash;
mod cut;
mod explained;
#[allow(dead_code, reason = "shared with the tests of the room")]
#[path = "../../../assay-files/tests/bed/mod.rs"]
mod file_systems;
mod full;
mod hands;
mod judged;
mod loops;
mod lost;
mod mariadb;
mod procedures;
mod real_etcd;
mod refused;
mod restarted;
mod searched;
mod secret;
mod server;
mod several;
mod traced_calls;
