//! Values: each form is parsed exactly; a refusal suggests what was most likely meant.

use super::super::keys::{self, Entry, Key, Shape, Unit};
use super::super::{Production, suggest};
use super::{Item, Reader};
use assay_base::Fault;
use assay_base::Share;

/// More devices than a host can have under test.
const DEVICES_MAX: usize = 1024;
/// Powers of two that a size of 64 bits can have.
const SHARES_MAX: usize = 65;

impl Reader<'_> {
    pub(super) fn set_value(&mut self, item: &Item) -> Result<(), Fault> {
        if item.value.is_empty() && item.entry.shape != Shape::Flag {
            let fault = item.fault_at(self.file, item.value_at, 1);
            return Err(fault.with_reason(format!("{} has no value", item.key_name()), example_advice(item.entry)));
        }
        match item.entry.shape {
            Shape::Devices => self.add_devices(item),
            Shape::Number(unit, min, max) => {
                let value = self.parse_number(item, unit, min, max)?;
                self.conf.set_number(item.entry.key, value);
                Ok(())
            }
            Shape::Flag => {
                let value = self.parse_flag(item)?;
                self.conf.set_flag(item.entry.key, value);
                Ok(())
            }
            Shape::Word => self.set_word(item),
            Shape::Shares => self.set_shares(item),
        }
    }

    fn add_devices(&mut self, item: &Item) -> Result<(), Fault> {
        let mut at = item.value_at;
        for name in item.value.split(|c: char| matches!(c, ',' | ';') || c.is_whitespace()) {
            let fault = item.fault_at(self.file, at, name.len());
            at += name.len() + item.source[at + name.len()..].chars().next().map_or(0, char::len_utf8);
            if name.is_empty() {
                continue;
            }
            if self.conf.device_names.iter().any(|known| known == name) {
                let advice = "name it once; rates are for all devices together";
                return Err(fault.with_reason("this device is named twice", advice));
            }
            if self.conf.device_names.len() == DEVICES_MAX {
                return Err(fault.with_reason(format!("more than {DEVICES_MAX} devices"), "split the test"));
            }
            self.conf.device_names.push(name.to_owned());
        }
        Ok(())
    }

    fn parse_number(&self, item: &Item, unit: Unit, min: u32, max: u32) -> Result<u32, Fault> {
        let what = match unit {
            Unit::PerSecond if item.key_name().contains("reqs") => "rate must be a whole number per second".to_owned(),
            _ => format!("{} must be a whole number{}", item.key_name(), of_unit(unit)),
        };
        if !item.value.bytes().all(|b| b.is_ascii_digit()) {
            let meant =
                suggest::meant_number(item.value, unit).filter(|n| (u64::from(min)..=u64::from(max)).contains(n));
            let advice = meant.map_or_else(|| example_advice(item.entry), |number| format!("write {number}"));
            return Err(item.at_value(self.file).with_reason(what, advice));
        }
        let value = item.value.parse::<u32>().ok();
        value.filter(|value| (min..=max).contains(value)).ok_or_else(|| {
            let message = format!("{} must be from {min} to {max}", item.key_name());
            let advice = if value.is_some_and(|value| value < min) {
                format!("write {min} or more")
            } else {
                format!("write {max} or less")
            };
            item.at_value(self.file).with_reason(message, advice)
        })
    }

    fn parse_flag(&self, item: &Item) -> Result<bool, Fault> {
        keys::parse_flag(item.value).ok_or_else(|| {
            let advice = match item.value.to_lowercase().as_str() {
                "yes" | "y" | "true" | "on" | "1" => "write yes",
                _ => "write yes or no",
            };
            item.at_value(self.file).with_reason(format!("{} must be yes or no", item.key_name()), advice)
        })
    }

    /// scheduler-mode: it will be written to sysfs, so it must be a single plain word.
    fn set_word(&mut self, item: &Item) -> Result<(), Fault> {
        if item.value.len() > 31 || !item.value.chars().all(is_of_plain_word) {
            let message = format!("{} must be the name of an I/O scheduler", item.key_name());
            return Err(item.at_value(self.file).with_reason(message, "write none or mq-deadline"));
        }
        self.conf.scheduler_mode = Some(item.value.to_owned());
        Ok(())
    }

    fn set_shares(&mut self, item: &Item) -> Result<(), Fault> {
        let mut shares: Vec<Share> = Vec::new();
        let mut at = item.value_at;
        for word in item.value.split([',', ' ', '\t']) {
            let fault = item.fault_at(self.file, at, word.len());
            at += word.len() + 1;
            if word.is_empty() {
                continue;
            }
            let share = format!("{word}%").parse().ok().filter(|share| *share <= Share::WHOLE);
            let Some(share) = share else {
                return Err(fault.with_reason("a share must be a percentage", "write a number from 0 to 100"));
            };
            if shares.last().is_some_and(|last| *last < share) || shares.len() == SHARES_MAX {
                let message = "shares over growing sizes must not rise, and there are at most 65";
                return Err(fault.with_reason(message, "copy the row of the storage histogram"));
            }
            shares.push(share);
        }
        if shares.last() != Some(&Share::from_ppb(0)) {
            let fault = item.fault_at(self.file, item.source.len(), 1);
            return Err(fault.with_reason("the last share must be 0: no record is larger", "add 0.00"));
        }
        let production = self.conf.production.get_or_insert_with(Production::default);
        match item.entry.key {
            Key::StorageReadHistogram => production.read_over = shares,
            _ => production.write_over = shares,
        }
        Ok(())
    }
}

fn of_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::PerSecond => " per second",
        Unit::Seconds => " of seconds",
        Unit::Microseconds => " of microseconds",
        Unit::Bytes => " of bytes",
        Unit::Kbytes => " of kilobytes (1024)",
        Unit::Mbytes => " of megabytes (1024 x 1024)",
        Unit::Percent => " of percent",
        Unit::Count => "",
    }
}

/// Advice for a value that is missing or meaningless.
fn example_advice(entry: &Entry) -> String {
    match entry.shape {
        Shape::Devices => "write /dev/… , several separated by commas".to_owned(),
        Shape::Number(_, min, max) => format!("write digits only, from {min} to {max}"),
        Shape::Flag => "write yes or no".to_owned(),
        Shape::Word => "write none or mq-deadline".to_owned(),
        Shape::Shares => "write percentages separated by commas, the last one 0".to_owned(),
    }
}

fn is_of_plain_word(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_'
}
