//! What surrounds every page: the policy that allows only the scripts and styles known here, and those scripts and
//! styles.

use super::embed::{CHARTS, CHARTS_STYLE, SCRIPT, STYLE, security_policy};
use askama::Template;
use std::fmt;

/// The frame of a page; `templates/base.html` fills it in.
pub(crate) struct Frame {
    /// Content of the page's policy tag.
    pub policy: String,
    pub scripts: &'static [&'static str],
    pub styles: &'static [&'static str],
}

impl Frame {
    /// The frame of a page without a script.
    pub(crate) fn without_script() -> Frame {
        Frame::new(&[], &[STYLE])
    }

    /// The frame of a page whose charts are drawn by scripts.
    pub(crate) fn with_scripts() -> Frame {
        Frame::new(&[CHARTS, SCRIPT], &[CHARTS_STYLE, STYLE])
    }

    fn new(scripts: &'static [&'static str], styles: &'static [&'static str]) -> Frame {
        Frame { policy: security_policy(scripts, styles), scripts, styles }
    }
}

/// Writes a page.
pub(crate) fn write_page(page: &impl Template, out: &mut dyn fmt::Write) -> fmt::Result {
    page.render_into(&mut Sink(out)).map_err(|_| fmt::Error)
}

/// askama writes into sized writers only.
struct Sink<'a>(&'a mut dyn fmt::Write);

impl fmt::Write for Sink<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(text)
    }
}
