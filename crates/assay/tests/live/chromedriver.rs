//! Debian's chromium through its driver, which is asked by plain HTTP. A page that keeps a stream open is never finished for the options
//! of chromium that print a document.

use super::bed::Running;
use super::http::{ask_with_body, get};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

/// A browser with one window.
pub struct Browser {
    port: u16,
    session: String,
    group: Group,
    _said: BufReader<ChildStdout>,
}

/// The processes that this test started, which are one group.
struct Group {
    leader: Running,
}

impl Group {
    fn signal(&self, signal: i32) {
        // SAFETY: the group of processes that this test started, whose leader was not waited for.
        assert_eq!(unsafe { libc::kill(-self.leader.pid(), signal) }, 0);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
    }
}

impl Browser {
    /// Starts it; `None` where it is not installed.
    pub fn start() -> Option<Browser> {
        let mut command = Command::new("chromedriver");
        // A group of its own, so that all its processes can be stopped together.
        command.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let Ok(mut child) = command.spawn() else {
            eprintln!("skipped: no chromedriver here (apt-get install chromium-driver)");
            return None;
        };
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let group = Group { leader: Running::of(child) };
        let port = loop {
            let mut line = String::new();
            assert!(said.read_line(&mut line).unwrap() > 0, "chromedriver ended at once");
            if let Some((_, port)) = line.split_once("started successfully on port ") {
                break port.trim().trim_end_matches('.').parse().unwrap();
            }
        };
        let flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--hide-scrollbars",
            "--window-size=1280,1600",
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": flags },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let answer =
            ask_with_body(port, "POST", "/session", &[("Content-Type", "application/json")], &wanted.to_string())
                .json();
        let session =
            answer["value"]["sessionId"].as_str().unwrap_or_else(|| panic!("no session: {answer}")).to_owned();
        Some(Browser { port, session, group, _said: said })
    }

    fn send(&self, what: &str, data: &Value) -> Value {
        let path = format!("/session/{}/{what}", self.session);
        let answer =
            ask_with_body(self.port, "POST", &path, &[("Content-Type", "application/json")], &data.to_string());
        assert_eq!(answer.status, 200, "{what} {data}: {}", answer.body);
        answer.json()["value"].clone()
    }

    pub fn open(&self, url: &str) {
        self.send("url", &json!({ "url": url }));
    }

    pub fn reload(&self) {
        self.send("refresh", &json!({}));
    }

    /// What the body of a function returns on the page.
    pub fn run(&self, script: &str) -> Value {
        self.send("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// The text of the elements that a selector names.
    pub fn texts(&self, selector: &str) -> Vec<String> {
        let script =
            format!("return [...document.querySelectorAll({})].map((element) => element.textContent)", json!(selector));
        self.run(&script).as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    }

    /// What the browser and the page said on the console since this was asked last.
    pub fn console(&self) -> Vec<String> {
        let said = self.send("se/log", &json!({ "type": "browser" }));
        said.as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap().to_owned()).collect()
    }

    /// Leaves a picture of the whole page beside the other results of the build, for people to look at.
    pub fn keep_picture(&self, name: &str) {
        let tall = self.run("return document.documentElement.scrollHeight").as_u64().unwrap();
        self.send("window/rect", &json!({ "width": 1280, "height": tall.clamp(800, 4000) }));
        std::thread::sleep(std::time::Duration::from_millis(500));
        let answer = get(self.port, &format!("/session/{}/screenshot", self.session)).json();
        let picture =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, answer["value"].as_str().unwrap());
        std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("live-{name}.png")), picture.unwrap())
            .unwrap();
    }

    /// Sends a signal to all its processes.
    pub fn signal(&self, signal: i32) {
        self.group.signal(signal);
    }
}
