//! Runs Debian's chromium without a window, with a new profile for each page.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A browser that is installed.
pub struct Browser {
    program: PathBuf,
}

/// What the browser made of a page.
pub struct Seen {
    /// The document after its scripts ran.
    pub dom: String,
    /// Messages on the console, from the page or from the browser about the page.
    pub console: Vec<String>,
}

const FLAGS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--v=0",
];

impl Browser {
    /// The installed browser; on a Debian where we have the rights, it is installed first.
    pub fn find() -> Option<Browser> {
        let found = || {
            ["/usr/bin/chromium", "/usr/bin/chromium-browser"].map(PathBuf::from).into_iter().find(|path| path.exists())
        };
        let program = found().or_else(|| {
            let install = "test \"$(id -u)\" = 0 && apt-get update -qq && apt-get install -y -qq chromium";
            let _ = Command::new("sh").args(["-c", install]).env("DEBIAN_FRONTEND", "noninteractive").output();
            found()
        });
        if program.is_none() {
            report("skipped: no chromium here (apt-get install chromium)");
        }
        program.map(|program| Browser { program })
    }

    /// Opens `page` from disk and returns the result.
    pub fn open(&self, name: &str, page: &str) -> Seen {
        let folder = tempfile::tempdir().unwrap();
        let out = self.run(name, page, folder.path(), &["--dump-dom".to_owned(), "--window-size=1280,2000".to_owned()]);
        let console = String::from_utf8_lossy(&out.stderr);
        Seen {
            dom: String::from_utf8(out.stdout).unwrap(),
            console: console.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect(),
        }
    }

    /// A picture of `page` (PNG) at `width`. A window is never narrower than 500 pixels, so the page is put into a
    /// frame of a wider page. The picture is kept beside the other results of the build, for people to look at.
    pub fn screenshot(&self, name: &str, page: &str, width: u32, dark: bool) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let picture = folder.path().join("page.png");
        let mut flags =
            vec![format!("--screenshot={}", picture.display()), format!("--window-size={},4200", width.max(500))];
        if dark {
            flags.push("--blink-settings=preferredColorScheme=0".to_owned());
        }
        std::fs::write(folder.path().join("inner.html"), page).unwrap();
        let frame = format!(
            "<body style=\"margin:0\"><iframe src=\"inner.html\" style=\"border:0\" width={width} height=4200>"
        );
        self.run(name, &frame, folder.path(), &flags);
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}.png"));
        let picture = std::fs::read(picture).unwrap();
        std::fs::write(kept, &picture).unwrap();
        picture
    }

    /// The result of `script` on `page`, shown `width` pixels wide: `script` is the body of a function of the page's
    /// document and window that returns text.
    pub fn ask(&self, name: &str, page: &str, width: u32, script: &str) -> String {
        self.ask_frame(name, page, &format!("width={width}"), script)
    }

    /// The same for a page whose own scripts may not run.
    pub fn ask_without_scripts(&self, name: &str, page: &str, script: &str) -> String {
        self.ask_frame(name, page, "width=1280 sandbox=allow-same-origin", script)
    }

    fn ask_frame(&self, name: &str, page: &str, frame: &str, script: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("inner.html"), page).unwrap();
        let asking = format!(
            "<body style=\"margin:0\"><iframe src=\"inner.html\" style=\"border:0\" {frame} height=3000></iframe><script>\
             document.querySelector('iframe').onload = (event) => {{ const win = event.target.contentWindow; const said = document.createElement('pre'); \
             try {{ said.textContent = ((document, window) => {{ {script} }})(win.document, win); }} catch (error) {{ said.textContent = 'error: ' + error; }} \
             document.body.replaceChildren(said); }};</script>"
        );
        let flags = ["--dump-dom", "--allow-file-access-from-files", "--virtual-time-budget=3000"].map(str::to_owned);
        let out = self.run(name, &asking, folder.path(), &flags);
        let dom = String::from_utf8(out.stdout).unwrap();
        let said = dom.split_once("<pre>").unwrap_or_else(|| panic!("{name} said nothing: {dom}")).1;
        said.split_once("</pre>").unwrap().0.to_owned()
    }

    /// `page` as it is printed: the text of each sheet of paper; `None` where no program here can read a PDF. The PDF
    /// is kept beside the pictures.
    pub fn print(&self, name: &str, page: &str) -> Option<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}.pdf"));
        let flags = [format!("--print-to-pdf={}", kept.display()), "--no-pdf-header-footer".to_owned()];
        self.run(name, page, folder.path(), &flags);
        let Ok(out) = Command::new("pdftotext").arg("-layout").arg(&kept).arg("-").output() else {
            report("skipped: no pdftotext here (apt-get install poppler-utils)");
            return None;
        };
        let text = String::from_utf8(out.stdout).unwrap();
        Some(text.split_terminator('\u{c}').map(str::to_owned).collect())
    }

    fn run(&self, name: &str, page: &str, folder: &Path, flags: &[String]) -> Output {
        let file = folder.join(format!("{name}.html"));
        std::fs::write(&file, page).unwrap();
        let profile = format!("--user-data-dir={}", folder.join("profile").display());
        let out = Command::new(&self.program).args(FLAGS).arg(profile).args(flags).arg(&file).output().unwrap();
        assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
        out
    }
}

#[allow(clippy::disallowed_macros, reason = "a skipped test must say so")]
fn report(text: &str) {
    eprintln!("{text}");
}
