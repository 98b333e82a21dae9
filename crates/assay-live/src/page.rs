//! The page: one document with its scripts and styles in it, the same for every run. What a run is called reaches it as JSON only, and
//! its script puts texts where no markup is read.

use assay_judge::render::html::{CHARTS, CHARTS_STYLE, STYLE, security_policy};

const DOCUMENT: &str = include_str!("../templates/live.html");
const OWN_STYLE: &str = include_str!("../templates/live.css");
const SCRIPT: &str = include_str!("../templates/live.js");

/// The document and the policy that it is sent with.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) document: String,
    pub(crate) policy: String,
}

impl Page {
    pub(crate) fn new() -> Page {
        let styles = [CHARTS_STYLE, STYLE, OWN_STYLE];
        let scripts = [CHARTS, SCRIPT];
        let style: String = styles.iter().map(|style| format!("<style>{style}</style>")).collect();
        let script: String = scripts.iter().map(|script| format!("<script>{script}</script>")).collect();
        let document = DOCUMENT.replace("<!-- styles -->", &style).replace("<!-- scripts -->", &script);
        let policy = security_policy(&scripts, &styles);
        Page { document, policy: format!("{policy}; connect-src 'self'; frame-ancestors 'none'") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_and_asks_for_nothing_from_elsewhere() {
        let page = Page::new();
        assert!(page.document.len() <= 100_000, "{} bytes", page.document.len());
        assert!(!page.document.contains("<!-- s"), "styles and scripts are in their places");
        assert!(!page.document.contains("src=") && !page.document.contains("@import"));
        assert_eq!(page.policy.matches("sha256-").count(), 5);
        assert!(page.policy.starts_with("default-src 'none'; script-src 'sha256-"));
        assert!(page.policy.ends_with("connect-src 'self'; frame-ancestors 'none'"));
    }
}
