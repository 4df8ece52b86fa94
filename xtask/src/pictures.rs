//! The pictures of the documentation, taken of real runs by a browser without a window.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use interop::{
    Bottleneck, Browser, Family, Namespace, NamespacePair, Page, PageOptions, Program, use_tapeline,
};
use serde_json::json;

use crate::shell::{self, Result, cargo};
use crate::terminal::Terminal;

/// Where they are kept.
const FOLDER: &str = "docs/pictures";
/// Port of the server that is run for them.
const PORT: &str = "23990";
/// Names under which the browser is known.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A server that ends with its owner.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended by itself, or ends now.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Takes all of them.
///
/// # Errors
/// The program or the browser cannot be run, or a page complains in the browser's console.
pub(crate) fn take() -> Result<()> {
    let browser = BROWSERS.into_iter().find(|name| shell::on_path(name));
    let browser = browser.ok_or("no browser: install chromium")?;
    shell::run(cargo().args(["build", "--quiet", "--package", "tapeline"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let program = fs::canonicalize(target.join("debug/tapeline"));
    let program = program.map_err(|error| format!("tapeline: {error}"))?;
    let work = std::env::temp_dir().join(format!("tapeline-pictures-{}", std::process::id()));
    fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    fs::create_dir_all(FOLDER).map_err(|error| format!("{FOLDER}: {error}"))?;
    let taken = all(&program, browser, &work);
    // The folder is of no use to anybody.
    let _ = fs::remove_dir_all(&work);
    taken
}

/// Where the programs run.
struct Scene<'a> {
    program: &'a Path,
    browser: &'a str,
    work: &'a Path,
    /// A client's and a server's host; nothing where there are none, and then both are this one.
    hosts: Option<NamespacePair>,
}

impl Scene<'_> {
    /// A command on the client's or the server's host, which finds the program by its name alone: pages show
    /// their command.
    fn command(&self, host: fn(&NamespacePair) -> &Namespace, name: &str) -> Command {
        let mut command = match &self.hosts {
            Some(pair) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", host(pair).name(), name]);
                command
            }
            None => Command::new(name),
        };
        let folder = self.program.parent().unwrap_or(self.program).display();
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{folder}:{path}"));
        command.current_dir(self.work);
        command
    }

    fn server_address(&self) -> String {
        let pair = self.hosts.as_ref();
        pair.map_or("127.0.0.1".to_owned(), |pair| {
            pair.server_address(Family::V4).to_string()
        })
    }

    /// What a client prints.
    fn client(&self, arguments: &str) -> Result<String> {
        let mut command = self.command(|pair| &pair.client, "tapeline");
        command.args(["-c", &self.server_address(), "-p", PORT]);
        shell::read(command.args(arguments.split_whitespace()))
    }

    /// A picture of a terminal.
    fn terminal(&self, name: &str, shown: &str, size: (u32, u32)) -> Result<()> {
        let page = format!(
            "<!doctype html><meta charset=utf-8><link rel=icon href=data:,>\
             <body style='margin:0;background:#14171a;color:#e6e9ec'>\
             <pre style='margin:0;padding:18px;font:14px/16px \"DejaVu Sans Mono\",monospace'>{shown}</pre>"
        );
        let file = format!("{name}.html");
        let place = self.work.join(&file);
        fs::write(&place, page).map_err(|error| format!("{}: {error}", place.display()))?;
        picture(self.browser, self.work, name, &file, size)
    }

    /// The last frame of a live view, on a terminal of its own.
    fn live_view(&self, arguments: &str) -> Result<()> {
        let (columns, rows) = (104, 27);
        let line = format!(
            "stty columns {columns} rows {rows}; exec tapeline -c {} -p {PORT} {arguments} --tui",
            self.server_address()
        );
        let mut command = self.command(|pair| &pair.client, "script");
        command.args(["-q", "-e", "-f", "-c", &line, "/dev/null"]);
        command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
        let shown = shell::read(&mut command)?;
        let (view, _) = shown.split_once("\x1b[?1049l").ok_or("no live view")?;
        let mut terminal = Terminal::new(columns, rows);
        terminal.write(view);
        let size = (u32::from(columns) * 17 / 2 + 36, u32::from(rows) * 16 + 36);
        self.terminal("live-view", &terminal.html(), size)
    }
}

fn all(program: &Path, browser: &str, work: &Path) -> Result<()> {
    let hosts = NamespacePair::new();
    if let Err(error) = &hosts {
        println!("pictures of loopback, since there are no other hosts: {error}");
    }
    let scene = Scene {
        program,
        browser,
        work,
        hosts: hosts.ok(),
    };
    let mut server = scene.command(|pair| &pair.server, "tapeline");
    let server = server.args(["-s", "-p", PORT]);
    let server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _server = Server(server.map_err(|error| format!("{}: {error}", program.display()))?);
    std::thread::sleep(Duration::from_millis(500));
    // A link of 50 Mbit/s with a long queue.
    let shaped = scene.hosts.as_ref();
    let shaped = shaped.map(|pair| Bottleneck::new(&pair.client, 50_000_000, 250));
    let _shaped = shaped.transpose().map_err(|error| error.to_string())?;
    scene.client("-t 10 -i 0.25 -P 2 -Z cubic --html stream.html")?;
    scene.live_view("-t 20 -P 2 -Z cubic")?;
    picture(browser, work, "page", "stream.html", (1200, 1800))?;
    use_tapeline(program.to_owned());
    let address = scene.server_address();
    match &scene.hosts {
        Some(pair) => pair
            .client
            .within(|| views(work, &address))
            .map_err(|error| error.to_string())?,
        None => views(work, &address),
    }
}

/// Pictures of the views of `tapeline web`.
fn views(work: &Path, server: &str) -> Result<()> {
    let failed = |error: std::io::Error| error.to_string();
    let history = work.join("history.db");
    let options = PageOptions {
        history: &history,
        line: "",
    };
    let page = Page::start(&options).map_err(failed)?;
    let browser = Browser::start().map_err(failed)?;
    let take = |name: &str| {
        let place = Path::new(FOLDER).join(format!("{name}.png"));
        browser.picture(&place);
        println!("{}", place.display());
    };
    let test = |seconds: &str, streams: &str| {
        let options = json!([
            ["client", server],
            ["port", PORT],
            ["time", seconds],
            ["interval", "0.25"],
            ["parallel", streams],
            ["tcp-congestion", "cubic"],
        ]);
        let test = page.order("client", &options);
        page.await_test(test, |test| test["state"] == "ended");
    };
    for streams in ["1", "1", "1", "4", "4", "4"] {
        test("2", streams);
    }
    browser.look(1200, 860, false);
    browser.open(&page.address());
    browser.click("a[href=\"/history\"]");
    browser.await_that("return document.querySelectorAll('tbody tr').length >= 6");
    take("web-history");
    browser.open(&format!("http://{}/compare?a=r1..r3&b=r4..r6", page.at()));
    browser.await_that("return document.querySelector('main figure')");
    take("web-compare");
    browser.open(&format!("http://{}/test", page.at()));
    browser.fill("input[name=client]", server);
    browser.fill("input[name=port]", PORT);
    browser.fill("input[name=parallel]", "2");
    browser.fill("input[name=time]", "10");
    browser
        .await_that("return document.querySelector('.command textarea').value.includes('-t 10')");
    browser.click("button.primary");
    browser.await_that("return document.querySelector('progress')?.value > 6");
    take("web-test");
    let file = work.join("compare.html");
    let compared = Command::new(Program::Tapeline.path())
        .args([
            "compare",
            "r1..r3",
            "r4..r6",
            "--quantities",
            "rate,rtt,latency_increase",
        ])
        .arg(format!("--html={}", file.display()))
        .arg(format!("--history={}", history.display()))
        .output();
    compared.map_err(failed)?;
    browser.look(1000, 640, false);
    browser.open(&format!("file://{}", file.display()));
    browser.await_that("return document.querySelector('svg')");
    take("compare");
    match browser.complaints() {
        complaints if complaints.is_empty() => Ok(()),
        complaints => Err(complaints.join("\n")),
    }
}

/// A picture of a page; one that complains is an error.
fn picture(
    browser: &str,
    work: &Path,
    name: &str,
    page: &str,
    (width, height): (u32, u32),
) -> Result<()> {
    let picture = work.join(format!("{name}.png"));
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args(["--enable-logging=stderr", "--v=0"])
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", work.join(page).display()))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{browser}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if let Some(complaint) = said.lines().find(|line| line.contains(":CONSOLE")) {
        return Err(format!("{page}: {complaint}"));
    }
    let place = Path::new(FOLDER).join(format!("{name}.png"));
    fs::copy(&picture, &place).map_err(|error| format!("{}: {error}", place.display()))?;
    println!("{}", place.display());
    Ok(())
}
