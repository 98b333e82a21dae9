//! `assay links`: creates links with the names of the tools that this program can replace in a directory, which all start this program.
//! `act_latency.py` is a script, because users start it as an argument of Python, which cannot run a program.

use crate::stdout::show_text;
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::files;
use assay_run::files::sum;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// `assay links`
#[derive(clap::Args, Debug)]
pub(crate) struct Links {
    /// Directory for the links. It is created if it does not exist; what is in the way of a link stays, and is named
    pub dir: PathBuf,
    /// Replace links that lead elsewhere, and an act_latency.py that is ACT's own text, unchanged. Nothing else is ever replaced
    #[arg(long)]
    pub force_links: bool,
}

/// The names that become links.
const LINKS: [&str; 7] = ["act_storage", "act_index", "act_prep", "act_latency", "pblio", "seekmark", "bonnie++"];
/// The name that becomes a script.
const SCRIPT: &str = "act_latency.py";
/// The line by which every version of our script is known.
const MADE_BY_US: &str =
    "# Made by assay links: starts assay in place of ACT's analyzer, called by its name or by python.";
/// Works as a shell script and in any Python version: the code of one is a string for the other. It starts the link
/// beside it, unless that leads to a script like this one: a copy of it would start itself for ever.
const TEXT: &str = r#"#!/bin/sh
# Made by assay links: starts assay in place of ACT's analyzer, called by its name or by python.
''':'
here="$(dirname -- "$(readlink -f -- "$0")")"
if [ -n "$ASSAY_LINK_STARTED" ] || [ ! -x "$here/act_latency" ] || [ "$here/act_latency" -ef "$0" ]; then
    echo "error: $here/act_latency does not start assay" >&2
    echo "  = this script starts the link beside it: make both in one directory with assay links DIRECTORY" >&2
    exit 5
fi
ASSAY_LINK_STARTED=1 exec "$here/act_latency" "$@"
'''
import os
import sys
here = os.path.dirname(os.path.realpath(__file__))
program = os.path.join(here, "act_latency")
if os.environ.get("ASSAY_LINK_STARTED") or not os.access(program, os.X_OK) or os.path.samefile(program, __file__):
    sys.stderr.write("error: %s does not start assay\n" % program)
    sys.stderr.write("  = this script starts the link beside it: make both in one directory with assay links DIRECTORY\n")
    sys.exit(5)
os.environ["ASSAY_LINK_STARTED"] = "1"
os.execv(program, [program] + sys.argv[1:])
"#;
/// Larger than any script that is replaced.
const LARGEST: u64 = 1 << 18;

/// BLAKE3 of every text of `act_latency.py` in the public repository of ACT (aerospike/act, up to November 2026).
const ACTS_OWN: [&str; 14] = [
    "093383a3100123bd0b681c2d78d6759463889d1e791fbdefa430224e07011df0",
    "12ff24c58de406e569abb703e1e6522d7a97c0e717cfdd66be089d5e6064419e",
    "21600cc9c60d7a6ae2eff6544817cf702ab82e93af6285471540fd643e6fb730",
    "32dce589ad9b7f7c517e9b7e86914beb60150a5f2130e5a2741d0b2c446b7f9b",
    "39074bc85e7ef23a49a4cb3e8d8ffca5525bf085a23c97b5b30b83f4fcd5c7fb",
    "7331a8ba13514821096ca691c6d3e91bbb276cbda7a9d14daccf886b6c5cd0f2",
    "81012fe7ae0549008c0e469d211d5b06489d393a23f516e08a31a031597b9c27",
    "951f51e428fa446c56c3fe874f080c099212f6168c71ffe39045fde806d796cf",
    "a576a005a4a0c3ba2a89f9e1d71e14d7c3691107e58f3d18f5025c50daa9f36a",
    "a6c7145eb9a70725974c66437c8f2a687c8bab71f8818becab25953b6c26a356",
    "b5ad1e409efa55c1c6b99045e209e22b80811c803beb6201b18f3fa47cd0d6b2",
    "bf8a31af1a9129c53b40952d930a6f0e6e75974067fc5bb89306a342b9b78754",
    "da607acebf1bbd7e4b279d0b96999b628b821882a6d39c9501ea642bd53d2784",
    "df782b609c72ebbf5fbe3e9604ea52bf5773bd0702b84c52286da9c7cf63d78d",
];

/// The file at the place where a link is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LinkPlace {
    /// Nothing.
    Free,
    /// A link or script as this command makes it.
    Ours,
    /// A symbolic link to something else.
    LinkTo(PathBuf),
    /// A script that this command made in an earlier version.
    Older,
    /// ACT's own analyzer.
    Acts,
    /// Anything else: it stays.
    Other,
}

impl LinkPlace {
    fn inspect_link(path: &Path, name: &str, program: &Path) -> LinkPlace {
        let Ok(meta) = path.symlink_metadata() else { return LinkPlace::Free };
        if meta.is_symlink() {
            return match fs::read_link(path) {
                Ok(to) if to == program && name != SCRIPT => LinkPlace::Ours,
                Ok(to) => LinkPlace::LinkTo(to),
                Err(_) => LinkPlace::Other,
            };
        }
        match files::read_text(path, LARGEST) {
            Ok(text) if name == SCRIPT && meta.nlink() == 1 => LinkPlace::of_script(&text),
            _ => LinkPlace::Other,
        }
    }

    fn of_script(text: &str) -> LinkPlace {
        if text == TEXT {
            LinkPlace::Ours
        } else if text.lines().nth(1) == Some(MADE_BY_US) {
            LinkPlace::Older
        } else if ACTS_OWN.contains(&sum::blake3_hex(text.as_bytes()).as_str()) {
            LinkPlace::Acts
        } else {
            LinkPlace::Other
        }
    }

    /// Describes what is there, and what a person can do about it.
    fn in_words(&self) -> String {
        match self {
            LinkPlace::LinkTo(to) => format!("is a link to {}; --force-links replaces it", escaped_path(to)),
            LinkPlace::Older => "is of an earlier version; --force-links replaces it".to_owned(),
            LinkPlace::Acts => "is ACT's own analyzer; --force-links replaces it".to_owned(),
            _ => "is not a link, and is never replaced: move it away, or name another directory".to_owned(),
        }
    }

    fn is_replaced_by_force(&self) -> bool {
        matches!(self, LinkPlace::LinkTo(_) | LinkPlace::Older | LinkPlace::Acts)
    }
}

/// Creates what does not exist yet, and names what is in the way of the rest.
pub(crate) fn create_links(args: &Links) -> Result<u8, Failure> {
    let dir = &args.dir;
    let program = std::env::current_exe()
        .map_err(|e| Failure::host_unable(format!("the path of this program cannot be found: {e}")))?;
    fs::create_dir_all(dir).map_err(|e| cannot_be_created(dir, e))?;
    let (mut there, mut left) = (Vec::new(), Vec::new());
    for name in LINKS.into_iter().chain([SCRIPT]) {
        let path = dir.join(name);
        let place = LinkPlace::inspect_link(&path, name, &program);
        if args.force_links && place.is_replaced_by_force() {
            fs::remove_file(&path).map_err(|e| cannot_be_created(&path, e))?;
        } else if !matches!(place, LinkPlace::Free | LinkPlace::Ours) {
            left.push(format!("\n  {} {}", escaped_path(&path), place.in_words()));
            continue;
        }
        if place != LinkPlace::Ours {
            make_link(name, &path, &program).map_err(|e| cannot_be_created(&path, e))?;
        }
        there.push(name);
    }
    if !there.is_empty() {
        show_text(&format!("{} in {} are {}\n", there.join(", "), escaped_path(dir), escaped_path(&program)));
    }
    if left.is_empty() {
        Ok(code::DONE)
    } else {
        Err(Failure::bad_usage(format!("not all names could be linked:{}", left.concat())))
    }
}

fn cannot_be_created(path: &Path, why: io::Error) -> Failure {
    Failure::host_unable(format!("{} cannot be created: {why}", escaped_path(path)))
}

fn make_link(name: &str, path: &Path, program: &Path) -> io::Result<()> {
    if name != SCRIPT {
        return symlink(program, path);
    }
    files::create_with(path, TEXT.as_bytes(), 0o755)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_that_somebody_can_get_again_is_replaced() {
        for (text, place, by_force) in [
            (TEXT, LinkPlace::Ours, false),
            (&TEXT.replace("exit 5", "exit 6"), LinkPlace::Older, true),
            ("", LinkPlace::Other, false),
            ("#!/usr/bin/python3\n\n# ------\n# act_latency.py\n", LinkPlace::Other, false),
            (&TEXT.replacen("#!/bin/sh\n", "#!/bin/sh\n# my own\n", 1), LinkPlace::Other, false),
        ] {
            let found = LinkPlace::of_script(text);
            assert_eq!((found.is_replaced_by_force(), found), (by_force, place), "{text}");
        }
        assert_eq!(TEXT.lines().nth(1), Some(MADE_BY_US));
    }
}
