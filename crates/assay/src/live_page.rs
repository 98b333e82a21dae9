//! A page beside a run: the process that listens for it, and the process that serves it.
//!
//! The command that runs something listens before it opens anything, so that an address that is taken ends it at once. It gives what it
//! listens with to a child process, `assay live`, as the child's standard input. The child reads the log and nothing else: whatever
//! becomes of it, the run goes on.

use crate::args::{BesideRun, ListenAddress, Serving};
use crate::screen::print_to_stderr;
use assay_base::Measure;
use assay_live::Rules;
use assay_run::failure::{Failure, escaped_path};
use assay_run::files;
use assay_run::host::threads;
use std::io::Read;
use std::net::{IpAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The variable in which a child finds the token: others can read the arguments of a process.
pub(crate) const TOKEN: &str = "ASSAY_LIVE_TOKEN";
/// The shortest and the longest token.
const TOKEN_LENGTH: std::ops::RangeInclusive<usize> = 16..=256;
/// Bytes of a token that is made here.
const RANDOM_BYTES: usize = 16;

/// An address that this process listens on, and the rules for those who ask there.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) listener: TcpListener,
    pub(crate) rules: Rules,
    /// What a person opens.
    pub(crate) url: String,
}

impl Listening {
    /// Listens on `address`.
    pub(crate) fn listen_on(address: ListenAddress, serving: &Serving) -> Result<Listening, Failure> {
        let ListenAddress(address) = address;
        if !address.ip().is_loopback() && !serving.insecure_listen {
            return Err(Failure::bad_usage(format!(
                "other hosts can reach {}, and what is served there is not encrypted\n  = keep 127.0.0.1 and forward its port with ssh -L, or add --insecure-listen, and a token will be asked for",
                address.ip()
            )));
        }
        let token = match &serving.token_file {
            Some(path) => Some(read_token(path)?),
            None if address.ip().is_loopback() => None,
            None => Some(make_token()?),
        };
        let refused = |e: std::io::Error| Failure::host_unable(format!("nobody can listen on {address}: {e}"));
        let listener = TcpListener::bind(address).map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        let rules = Rules { host_name: serving.host_name.clone(), token, port };
        let url = url_for(address.ip(), &rules);
        Ok(Listening { listener, rules, url })
    }

    /// What a process was given as its standard input by the one that started it.
    pub(crate) fn from_inherited(
        listener: OwnedFd,
        host_name: Option<String>,
        token: Option<String>,
    ) -> Result<Listening, Failure> {
        let listener = TcpListener::from(listener);
        let address = listener
            .local_addr()
            .map_err(|e| Failure::bad_usage(format!("standard input is nothing to listen with: {e}")))?;
        let rules = Rules { host_name, token, port: address.port() };
        let url = url_for(address.ip(), &rules);
        Ok(Listening { listener, rules, url })
    }
}

/// What a person opens in a browser.
fn url_for(ip: IpAddr, rules: &Rules) -> String {
    let host = match (&rules.host_name, ip) {
        (Some(name), _) => name.clone(),
        (None, ip) if ip.is_unspecified() => "ADDRESS-OF-THIS-HOST".to_owned(),
        (None, IpAddr::V6(ip)) => format!("[{ip}]"),
        (None, IpAddr::V4(ip)) => ip.to_string(),
    };
    let token = rules.token.as_ref().map_or_else(String::new, |token| format!("?t={token}"));
    format!("http://{host}:{}/{token}", rules.port)
}

/// A token that nobody can guess.
fn make_token() -> Result<String, Failure> {
    let mut bytes = [0u8; RANDOM_BYTES];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(|e| Failure::host_unable(format!("/dev/urandom cannot be read, and no token can be made: {e}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The token in a file, which nobody else may read.
fn read_token(path: &Path) -> Result<String, Failure> {
    let unusable = |why: &dyn std::fmt::Display| {
        Failure::bad_usage(format!("the token in {} cannot be used: {why}", escaped_path(path)))
    };
    // Read first: this refuses what is no regular file, in words.
    let text = files::read_text(path, 4096).map_err(|e| unusable(&e))?;
    let mode = path.metadata().map_err(|e| unusable(&e))?.mode();
    if mode & 0o077 != 0 {
        return Err(unusable(&"others may read the file; chmod 0600 it"));
    }
    let token = text.trim();
    let is_plain = token.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~".contains(c));
    if !is_plain || !TOKEN_LENGTH.contains(&token.len()) {
        return Err(unusable(&"write 16 to 256 letters, digits and - _ . ~ in one line"));
    }
    Ok(token.to_owned())
}

/// A page beside a run that has not begun yet.
#[derive(Debug)]
pub(crate) struct PageBesideRun {
    listening: Listening,
    serving: Serving,
    judge_on: Option<Measure>,
}

/// The process that serves a page, as the one knows that started it.
#[derive(Debug)]
pub(crate) struct ServingProcess {
    /// Whether the run is over: from then on nobody minds how the process ends.
    run_is_over: Arc<AtomicBool>,
}

impl PageBesideRun {
    /// Listens, if the options ask for a page.
    pub(crate) fn listen_if_asked(
        options: &BesideRun,
        judge_on: Option<Measure>,
    ) -> Result<Option<PageBesideRun>, Failure> {
        let BesideRun { live, serving } = options;
        let Some(address) = live else {
            let idle = Serving::default();
            let unused = serving.insecure_listen
                || serving.token_file != idle.token_file
                || serving.host_name != idle.host_name
                || serving.linger != idle.linger
                || serving.otlp != idle.otlp;
            if unused {
                return Err(Failure::bad_usage(
                    "--insecure-listen, --token-file, --host-name, --linger and --otlp are about the page of --live: add it",
                ));
            }
            return Ok(None);
        };
        let listening = Listening::listen_on(*address, serving)?;
        Ok(Some(PageBesideRun { listening, serving: serving.clone(), judge_on }))
    }

    /// Starts the process that serves the page of the run in `dir`. A run goes on without its page.
    pub(crate) fn serve_directory(self, dir: &Path) -> Option<ServingProcess> {
        match self.start_process(dir) {
            Ok(process) => Some(process),
            Err(why) => {
                print_to_stderr(&format!("warning: the live page cannot be served: {why}"));
                None
            }
        }
    }

    fn start_process(self, dir: &Path) -> std::io::Result<ServingProcess> {
        let PageBesideRun { listening, serving, judge_on } = self;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("live").arg(dir).arg("--inherited").arg("--linger").arg(serving.linger_time().to_string());
        if let Some(name) = &serving.host_name {
            command.arg("--host-name").arg(name);
        }
        if let Some(url) = &serving.otlp {
            command.arg("--otlp").arg(url.to_string());
        }
        if let Some(measure) = judge_on {
            command.arg("--judge").arg(measure.to_string());
        }
        if let Some(token) = &listening.rules.token {
            command.env(TOKEN, token);
        }
        // It outlives this process, and must keep neither a terminal nor a pipe of its caller open. In a group of its own, Ctrl-C is
        // not for it.
        command.stdin(OwnedFd::from(listening.listener)).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn()?;
        print_to_stderr(&format!("live page: {}", listening.url));
        let run_is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&run_is_over);
        let by_hand = format!("assay live {}", assay_judge::for_a_shell(&dir.to_string_lossy()));
        threads::thread_builder("live page").spawn(move || {
            let ended = child.wait();
            if !over.load(Ordering::Relaxed) {
                let how = ended.map_or_else(|e| e.to_string(), |status| status.to_string());
                print_to_stderr(&format!(
                    "warning: the live page is not served any more ({how}); the run goes on, and {by_hand} serves it again"
                ));
            }
        })?;
        Ok(ServingProcess { run_is_over })
    }
}

impl Drop for ServingProcess {
    fn drop(&mut self) {
        self.run_is_over.store(true, Ordering::Relaxed);
    }
}
