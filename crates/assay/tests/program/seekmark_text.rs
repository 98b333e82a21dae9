//! A grammar of SeekMark's output: a text either follows it to the last byte, or is refused with the place where it
//! does not.

/// What a text says.
#[derive(Debug, Default)]
pub struct Report {
    pub endless: bool,
    pub writes: bool,
    pub file: String,
    pub amount: String,
    /// Absent where only the total was asked for.
    pub settings: Option<Settings>,
    /// Number of lines that announce a thread.
    pub spawned: u64,
    /// Of each thread that has ended, in the order of their ends: its number, seconds, seeks a second, and milliseconds
    /// a request.
    pub threads: Vec<(u64, f64, f64, f64)>,
    /// Seconds, milliseconds a request, seeks a second, and seeks a second of one thread; absent where the program was
    /// killed before it printed them.
    pub total: Option<[f64; 4]>,
}

#[derive(Debug, Default)]
pub struct Settings {
    pub threads: u64,
    pub seeks: u64,
    pub size: u64,
    pub align: u64,
    pub limit: Option<u64>,
    pub data: Option<String>,
}

/// The part of a text that is not read yet.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn eat(&mut self, text: &str) -> Result<(), String> {
        match self.0.strip_prefix(text) {
            Some(rest) => {
                self.0 = rest;
                Ok(())
            }
            None => Err(format!("no {text:?} at {:?}", self.0.chars().take(60).collect::<String>())),
        }
    }

    fn is(&self, text: &str) -> bool {
        self.0.starts_with(text)
    }

    fn upto(&mut self, text: &str) -> Result<&'a str, String> {
        let (before, rest) = self
            .0
            .split_once(text)
            .ok_or_else(|| format!("no {text:?} after {:?}", self.0.chars().take(60).collect::<String>()))?;
        self.0 = rest;
        Ok(before)
    }

    fn whole(&mut self, after: &str) -> Result<u64, String> {
        let text = self.upto(after)?;
        text.parse().map_err(|_| format!("{text:?} is no whole number"))
    }

    /// A number with `digits` digits after its point, or the `inf` that the original prints.
    fn number(&mut self, digits: usize, after: &str) -> Result<f64, String> {
        let text = self.upto(after)?;
        let right = text == "inf" || text.split_once('.').is_some_and(|(_, behind)| behind.len() == digits);
        match text.parse() {
            Ok(number) if right => Ok(number),
            _ => Err(format!("{text:?} has not {digits} digits behind its point")),
        }
    }
}

/// Reads a text to its end.
pub fn read(text: &str) -> Result<Report, String> {
    let mut rest = Rest(text);
    let mut report = Report::default();
    if rest.is("***") {
        rest.eat("***WARNING: Endless mode enabled, we will simply run until killed!***\n")?;
        report.endless = true;
    }
    rest.eat("\n")?;
    report.writes = rest.is("WRITE");
    let mode = if report.writes { "WRITE" } else { "READ" };
    rest.eat(mode)?;
    rest.eat(" benchmarking against ")?;
    let (file, amount) = rest.upto("\n\n")?.split_once(' ').ok_or("no amount")?;
    (report.file, report.amount) = (file.to_owned(), amount.to_owned());
    let (number, unit) = amount.split_once(' ').ok_or("no unit")?;
    if number.parse::<u64>().is_err() || !["B", "KB", "MB"].contains(&unit) {
        return Err(format!("{amount:?} is no amount"));
    }
    if rest.is("threads to spawn") {
        report.settings = Some(settings(&mut rest, report.writes)?);
        threads(&mut rest, &mut report)?;
    }
    if rest.0.is_empty() && report.endless {
        return Ok(report);
    }
    rest.eat("\ntotal time: ")?;
    let seconds = rest.number(2, ", time per ")?;
    rest.eat(mode)?;
    rest.eat(" request(ms): ")?;
    let each = rest.number(3, "\n")?;
    let all = rest.number(2, " total seeks per sec, ")?;
    let one = rest.number(2, " ")?;
    rest.eat(mode)?;
    rest.eat(" seeks per sec per thread\n\n")?;
    rest.0.is_empty().then_some(()).ok_or_else(|| format!("more behind the end: {:?}", rest.0))?;
    report.total = Some([seconds, each, all, one]);
    Ok(report)
}

fn settings(rest: &mut Rest<'_>, writes: bool) -> Result<Settings, String> {
    let mut settings = Settings::default();
    for (name, value) in [
        ("threads to spawn: ", &mut settings.threads),
        ("seeks per thread: ", &mut settings.seeks),
        ("io size in bytes: ", &mut settings.size),
        ("io aligned bytes: ", &mut settings.align),
    ] {
        rest.eat(name)?;
        *value = rest.whole("\n")?;
    }
    if rest.is("size limit") {
        rest.eat("size limit in bytes: ")?;
        settings.limit = Some(rest.whole("\n")?);
    }
    if writes {
        rest.eat("write data is ")?;
        settings.data = Some(rest.upto("\n")?.to_owned());
    }
    rest.eat("\n")?;
    Ok(settings)
}

fn threads(rest: &mut Rest<'_>, report: &mut Report) -> Result<(), String> {
    while rest.is("Spawning") {
        rest.eat(&format!("Spawning worker {} to do ", report.spawned))?;
        let seeks = rest.upto(" seeks\n")?;
        let asked = report.settings.as_ref().map(|settings| settings.seeks.to_string());
        if !(report.endless && seeks == "endless" || asked.as_deref() == Some(seeks)) {
            return Err(format!("{seeks:?} seeks"));
        }
        report.spawned += 1;
    }
    while rest.is("thread ") {
        rest.eat("thread ")?;
        let number = rest.whole(" completed, time: ")?;
        let seconds = rest.number(2, ", ")?;
        let rate = rest.number(2, " seeks/sec, ")?;
        let each = rest.number(1, "ms per request\n")?;
        report.threads.push((number, seconds, rate, each));
    }
    Ok(())
}
