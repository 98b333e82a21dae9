//! A mail store as a workload file describes it, and as a plan keeps it.

use super::facts::{REST, SCANS_OF_2013};
use assay_base::{Bytes, Rate, Share, Span};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A mail store. A plan keeps it beside its streams, for those who count in mailboxes and for reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// Whose habits it has.
    pub edition: Edition,
    /// Mailboxes of each database, at 1x.
    pub mailboxes: u64,
    /// Reads and writes of the database that a mailbox causes.
    pub iops_per_mailbox: Rate,
    /// What these are.
    pub flow: Flow,
    /// Databases of the same content on other hosts, and this one.
    pub copies: u32,
    /// How the scan that checks all pages goes on.
    pub maintenance: Maintenance,
    /// Where its data are.
    pub storage: Storage,
    /// How long and how strictly it is tested.
    pub test: Test,
}

/// What the operations of a database are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Reads, of the reads and writes of the database.
    pub reads: Share,
    /// Log writes, as a share of the reads and writes of the database, which do not include them.
    pub log_writes: Share,
    /// Writes by which the database grows, of its writes.
    pub growth: Share,
    /// Mean size of a log write.
    pub log_mean: Bytes,
    /// Pages that are written at one moment.
    pub write_batch: u32,
}

/// Where the data of a mail store are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Where the logs are.
    pub log: LogPlace,
    /// The size of each log.
    pub log_size: Bytes,
    /// Whether a write is complete only when it is on stable media.
    pub durable: bool,
    /// What is read back after the run.
    pub check: Check,
}

/// The edition of Jetstress whose habits the store has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Edition {
    /// The scan goes on 20 ms after its last read.
    #[serde(rename = "2010")]
    Of2010,
    /// It reads four times a second.
    #[default]
    #[serde(rename = "2013")]
    Of2013,
}

impl Edition {
    /// Its own maintenance.
    pub fn maintenance(self) -> Maintenance {
        match self {
            Edition::Of2010 => Maintenance::Paced,
            Edition::Of2013 => Maintenance::Rate(Rate::per_second(SCANS_OF_2013)),
        }
    }

    /// The year.
    pub fn year(self) -> u16 {
        match self {
            Edition::Of2010 => 2010,
            Edition::Of2013 => 2013,
        }
    }
}

/// How the scan that checks all pages goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Maintenance {
    /// There is none.
    Off,
    /// One read at a time, and a rest after each.
    Paced,
    /// So many reads per second, evenly spaced.
    Rate(Rate),
}

impl Maintenance {
    /// How long it rests after each read, where it does.
    pub const REST: Span = REST;
}

impl FromStr for Maintenance {
    type Err = String;
    fn from_str(text: &str) -> Result<Maintenance, String> {
        let fault = || {
            let text: String = text.chars().take(60).collect();
            format!(
                "\"{}\" is no maintenance; write \"off\", \"paced\" or a rate above 0/s, such as \"4/s\"",
                text.escape_debug()
            )
        };
        match text {
            "off" => Ok(Maintenance::Off),
            "paced" => Ok(Maintenance::Paced),
            _ => {
                let rate: Rate = text.parse().map_err(|_| fault())?;
                if rate.is_zero() { Err(fault()) } else { Ok(Maintenance::Rate(rate)) }
            }
        }
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
    /// Each on the target of its database, behind it.
    #[default]
    Same,
    /// All on the last target, one behind the other; a database is on each of the others.
    Last,
}

/// What is read back after the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// What the run has written.
    #[default]
    Written,
    /// Every page of the databases too.
    All,
}

/// How a mail store is tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// For two hours.
    #[default]
    Performance,
    /// For a day, with a higher bound on the mean of a sample.
    Stress,
}

impl Mail {
    /// Reads and writes of a database per second, at 1x. `None` when that does not fit.
    pub fn transactional(&self) -> Option<Rate> {
        self.iops_per_mailbox.scaled(self.mailboxes, 1)
    }

    /// How many databases it has on so many targets.
    pub fn databases(&self, targets: u16) -> u16 {
        match self.storage.log {
            LogPlace::Same => targets,
            LogPlace::Last => targets.saturating_sub(1),
        }
    }
}
