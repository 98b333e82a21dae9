//! Parses numbers, names and times in the text of other programs.

/// A number with a decimal point or, as some locales print it, a comma; `1.234,5` and `1,234.5` get their only possible
/// meaning.
pub(super) fn parse_number(word: &str) -> Option<f64> {
    let first = word.bytes().next()?;
    if !first.is_ascii_digit() && !matches!(first, b'-' | b'+' | b'.' | b',') {
        return None;
    }
    let value: Option<f64> = match (word.rfind(','), word.rfind('.')) {
        (None, _) => word.parse().ok(),
        (Some(comma), Some(point)) if comma > point => word.replace('.', "").replace(',', ".").parse().ok(),
        (Some(_), Some(_)) => word.replace(',', "").parse().ok(),
        (Some(_), None) => word.replace(',', ".").parse().ok(),
    };
    value.filter(|value| value.is_finite())
}

/// A number in the form of `iostat -h`: `3.1M`, `9.9k`, `45.5%`. The factor is binary, as in that program.
pub(super) fn parse_human_number(word: &str) -> Option<(f64, Option<f64>)> {
    let (digits, scale) = match word.as_bytes().last()? {
        b'%' => (&word[..word.len() - 1], None),
        b'b' | b'B' => (&word[..word.len() - 1], Some(1.0)),
        b'k' => (&word[..word.len() - 1], Some(1024.0)),
        b'M' => (&word[..word.len() - 1], Some(1024.0 * 1024.0)),
        b'G' => (&word[..word.len() - 1], Some(1024.0 * 1024.0 * 1024.0)),
        b'T' => (&word[..word.len() - 1], Some(1024.0 * 1024.0 * 1024.0 * 1024.0)),
        _ => (word, None),
    };
    Some((parse_number(digits)?, scale))
}

/// `{ycsb}-device-read-size`: the namespace and the rest; without a namespace the whole name.
pub(super) fn histogram_name(text: &str) -> Option<(String, &str)> {
    let text = text.trim();
    let (namespace, rest) = match text.strip_prefix('{') {
        Some(open) => {
            let (namespace, rest) = open.split_once('}')?;
            (namespace.to_owned(), rest.strip_prefix('-')?)
        }
        None => (String::new(), text),
    };
    let fits = !rest.is_empty() && text.len() < 200 && rest.chars().all(is_of_name);
    (fits && namespace.chars().all(|c| is_of_name(c) || c == ' ')).then_some((namespace, rest))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.$".contains(c)
}

/// Days since 1970-01-01 of a civil date (proleptic Gregorian).
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let shifted = (month + 9) % 12;
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// `07:28:02`, optionally with a fraction: seconds of the day.
pub(super) fn parse_clock(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let second = second.split(['.', ',']).next()?;
    let (hour, minute, second) = (two_digits(hour, 24)?, two_digits(minute, 60)?, two_digits(second, 61)?);
    parts.next().is_none().then_some(hour * 3600 + minute * 60 + second)
}

/// One or two digits, as a number below a bound.
fn two_digits(text: &str, below: i64) -> Option<i64> {
    let fits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&value: &i64| fits && value < below)
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `Apr 10 2018 07:28:02 …`, the beginning of a line of the server's log: seconds since 1970 in the server's time zone.
pub(super) fn log_time(line: &str) -> Option<i64> {
    let head = line.get(..20)?;
    let month = MONTHS.iter().position(|name| head.starts_with(name))? as i64 + 1;
    let day: i64 = head.get(4..6)?.trim().parse().ok()?;
    let year: i64 = head.get(7..11)?.parse().ok()?;
    let gaps = head.get(3..4)? == " " && head.get(6..7)? == " " && head.get(11..12)? == " ";
    let fits = gaps && (1..=31).contains(&day) && (1970..=9999).contains(&year);
    if !fits {
        return None;
    }
    Some(days_since_epoch(year, month, day) * 86_400 + parse_clock(head.get(12..)?)?)
}

/// The line with a date that `iostat -t` prints before a report, in any of its locales: seconds since 1970 in the
/// host's time zone.
pub(super) fn report_time(line: &str) -> Option<i64> {
    let line = line.trim();
    if line.len() > 40 || !line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (date, time) = line.split_once([' ', 'T'])?;
    let mut words = time.split_whitespace();
    // ISO times have their time zone after a sign.
    let clocked = words.next()?.split(['+', '-', 'Z']).next()?;
    let seconds = parse_clock(clocked)?;
    let seconds = match words.next() {
        None => seconds,
        Some("AM") => seconds % 43_200,
        Some("PM") => seconds % 43_200 + 43_200,
        Some(zone) if zone.len() <= 6 => seconds,
        Some(_) => return None,
    };
    let parts: Vec<i64> = date.split(['/', '-', '.']).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [a, b, c] = parts[..] else { return None };
    let last_as_year = if c < 100 { 2000 + c } else { c };
    let (year, month, day) = match (a > 31, date.contains('/'), a > 12) {
        (true, ..) => (a, b, c),
        // Month first, as in the United States and in C, unless that number cannot be a month.
        (false, true, false) => (last_as_year, a, b),
        _ => (last_as_year, b, a),
    };
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && (1970..=9999).contains(&year);
    fits.then(|| days_since_epoch(year, month, day) * 86_400 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_locale() {
        for (word, value) in [
            ("1543.0", Some(1543.0)),
            ("1543,0", Some(1543.0)),
            ("1.234,5", Some(1234.5)),
            ("1,234.5", Some(1234.5)),
            ("-1", Some(-1.0)),
            ("nan", None),
            ("inf", None),
            ("1e999", None),
            ("", None),
            ("12x", None),
        ] {
            assert_eq!(parse_number(word), value, "{word}");
        }
        assert_eq!(parse_human_number("3.1M"), Some((3.1, Some(1_048_576.0))));
        assert_eq!(parse_human_number("45.5%"), Some((45.5, None)));
        assert_eq!(parse_human_number("k"), None);
    }

    #[test]
    fn names_of_histograms() {
        for (text, name) in [
            ("{ycsb}-device-read-size", Some(("ycsb", "device-read-size"))),
            ("reads", Some(("", "reads"))),
            ("{a b}-read", Some(("a b", "read"))),
            ("{ycsb}", None),
            ("{ycsb-read", None),
            ("two words", None),
            ("", None),
        ] {
            let name = name.map(|(namespace, rest)| (namespace.to_owned(), rest));
            assert_eq!(histogram_name(text), name, "{text}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(log_time("Apr 10 2018 07:28:02 GMT: INFO (drv_ssd): x"), Some(1_523_345_282));
        assert_eq!(log_time("Apr  1 2018 00:00:00 GMT"), Some(1_522_540_800));
        for bad in [
            "Apr 10 2018 07:28",
            "Foo 10 2018 07:28:02 GMT",
            "Apr 10 2018 27:28:02 GMT",
            "äApr 10 2018 07:28:0",
            "Apr 10 2018xäää07:28:02",
        ] {
            assert_eq!(log_time(bad), None, "{bad}");
        }
        let day = 1_795_392_000;
        for (text, seconds) in [
            ("11/23/26 22:29:38", day + 80_978),
            ("2026-11-23T22:29:38+0000", day + 80_978),
            ("2026-11-23T22:29:38Z", day + 80_978),
            ("11/23/2026 10:29:38 PM", day + 80_978),
            ("11/23/2026 12:00:00 AM", day),
            ("23.11.2026 22:29:38", day + 80_978),
            ("23/11/26 22:29:38", day + 80_978),
        ] {
            assert_eq!(report_time(text), Some(seconds), "{text}");
        }
        for bad in [
            "1 2 3",
            "11/23/26",
            "Device",
            "99/99/99 01:01:01",
            "9000000000000000000/1/1 01:01:01",
            "21:41:42   501  15.51",
        ] {
            assert_eq!(report_time(bad), None, "{bad}");
        }
    }
}
