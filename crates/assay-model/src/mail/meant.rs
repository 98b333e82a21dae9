//! A mail store as a workload file describes it, and as a plan keeps it.

use super::facts::{REST, SCANS_OF_2013, USUAL_DATABASE, USUAL_GROWTH, USUAL_LOG_MEAN, USUAL_LOG_WRITES, USUAL_READS};
use crate::extent::Amount;
use assay_base::{Bytes, Rate, Share, Span};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A mail store. A plan keeps it in addition to its streams, for reports and for commands that count mailboxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// The edition of Jetstress that it imitates.
    pub edition: Edition,
    /// Number of mailboxes of each database at 1x.
    pub mailboxes: u64,
    /// Reads and writes of the database per second that a mailbox causes.
    pub iops_per_mailbox: Rate,
    /// The shares and sizes of the operations.
    pub flow: Flow,
    /// Number of copies of each database: this one, and those with the same content on other hosts.
    pub copies: u32,
    /// The pace of the scan that checks all pages.
    pub maintenance: Maintenance,
    /// Where the data of the store are.
    pub storage: Storage,
    /// How long and how strictly the store is tested.
    pub test: Test,
}

/// The shares and sizes of the operations of a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// The share of reads in the reads and writes of the database.
    pub reads: Share,
    /// The number of log writes, as a share of the number of reads and writes of the database. These do not include log
    /// writes.
    pub log_writes: Share,
    /// The share of the database's writes by which it grows.
    pub growth: Share,
    /// Mean size of a log write.
    pub log_mean: Bytes,
    /// Number of page writes that come at the same moment.
    pub write_batch: u32,
}

impl Flow {
    /// Whether its shares and sizes are those that Jetstress reported.
    pub fn is_reported(&self) -> bool {
        let Flow { reads, log_writes, growth, log_mean, write_batch: _ } = *self;
        (reads, log_writes, growth, log_mean) == (USUAL_READS, USUAL_LOG_WRITES, USUAL_GROWTH, USUAL_LOG_MEAN)
    }
}

/// Where the data of a mail store are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Where the logs are.
    pub log: LogPlace,
    /// The size of each log.
    pub log_size: Bytes,
    /// The size of each database at the beginning: bytes, or a share of the space for it. It has a quarter of that as
    /// room to grow.
    #[serde(default = "usual_database", skip_serializing_if = "is_usual_database")]
    pub database_size: Amount,
    /// Whether a write is complete only when it is on stable media.
    pub durable: bool,
    /// What is read back after the run.
    pub check: Check,
}

fn usual_database() -> Amount {
    Amount::Share(USUAL_DATABASE)
}

fn is_usual_database(size: &Amount) -> bool {
    *size == usual_database()
}

/// The edition of Jetstress that the store imitates. The editions differ in the pace of the scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Edition {
    /// Each read of the scan begins 20 ms after the one before has completed.
    #[serde(rename = "2010")]
    Of2010,
    /// The scan reads four times a second.
    #[default]
    #[serde(rename = "2013")]
    Of2013,
}

impl Edition {
    /// The maintenance of this edition.
    pub fn usual_maintenance(self) -> Maintenance {
        match self {
            Edition::Of2010 => Maintenance::Paced,
            Edition::Of2013 => Maintenance::Rate(Rate::per_second(SCANS_OF_2013)),
        }
    }

    /// The year of the edition.
    pub fn edition_year(self) -> u16 {
        match self {
            Edition::Of2010 => 2010,
            Edition::Of2013 => 2013,
        }
    }
}

/// The pace of the scan that checks all pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Maintenance {
    /// There is no scan.
    Off,
    /// One read at a time, with a pause after each.
    Paced,
    /// This many reads per second, evenly spaced.
    Rate(Rate),
}

impl Maintenance {
    /// The pause after each read of a paced scan.
    pub const REST: Span = REST;
}

impl FromStr for Maintenance {
    type Err = String;
    fn from_str(text: &str) -> Result<Maintenance, String> {
        match text {
            "off" => return Ok(Maintenance::Off),
            "paced" => return Ok(Maintenance::Paced),
            _ => {}
        }
        let rate = text.parse::<Rate>().ok().filter(|rate| !rate.is_zero());
        rate.map(Maintenance::Rate).ok_or_else(|| {
            let text: String = text.chars().take(60).collect();
            format!(
                "\"{}\" is not a value for maintenance; write \"off\", \"paced\" or a rate above 0/s, such as \"4/s\"",
                text.escape_debug()
            )
        })
    }
}

impl TryFrom<String> for Maintenance {
    type Error = String;
    fn try_from(text: String) -> Result<Maintenance, String> {
        text.parse()
    }
}

impl From<Maintenance> for String {
    fn from(maintenance: Maintenance) -> String {
        match maintenance {
            Maintenance::Off => "off".to_owned(),
            Maintenance::Paced => "paced".to_owned(),
            Maintenance::Rate(rate) => rate.to_string(),
        }
    }
}

/// Where the logs of the databases are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogPlace {
    /// Each log is on the target of its database, after the database.
    #[default]
    Same,
    /// All logs are on the last target, one after the other; each of the other targets has a database.
    Last,
}

/// What is read back after the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// What the run has written.
    #[default]
    Written,
    /// What the run has written, and every page of the databases.
    All,
}

/// How a mail store is tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// A performance test, which measures for two hours.
    #[default]
    Performance,
    /// A stress test, which measures for a day, with a higher bound on the mean of a sample.
    Stress,
}

impl Mail {
    /// Reads and writes of a database per second at 1x. `None` if the rate cannot be represented.
    pub fn transactional_rate(&self) -> Option<Rate> {
        self.iops_per_mailbox.scaled_by(self.mailboxes, 1)
    }

    /// How many databases the store has on `targets` targets.
    pub fn database_count(&self, targets: u16) -> u16 {
        match self.storage.log {
            LogPlace::Same => targets,
            LogPlace::Last => targets.saturating_sub(1),
        }
    }
}
