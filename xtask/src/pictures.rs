//! The pictures of the documentation, taken of real runs by a browser without a window.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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

fn all(program: &Path, browser: &str, work: &Path) -> Result<()> {
    let server = Command::new(program)
        .args(["-s", "-p", PORT])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _server = Server(server.map_err(|error| format!("{}: {error}", program.display()))?);
    // Refused connections are tried again while the server begins.
    let client = |arguments: &[&str]| {
        // Called by its name alone: the page shows the command.
        let mut command = Command::new("tapeline");
        command.env("PATH", program.parent().unwrap_or(program));
        command
            .args(["-c", "127.0.0.1", "-p", PORT])
            .args(arguments);
        shell::read(command.current_dir(work))
    };
    std::thread::sleep(Duration::from_millis(500));
    client(&[
        "-t",
        "5",
        "-i",
        "0.25",
        "-P",
        "2",
        "-b",
        "400m",
        "--html",
        "stream.html",
    ])?;
    let text = client(&["-u", "-b", "100m", "-t", "3", "-i", "1"])?;
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let page = format!(
        "<!doctype html><meta charset=utf-8><link rel=icon href=data:,>\
         <body style='margin:0;background:#14171a;color:#e6e9ec'>\
         <pre style='margin:0;padding:18px;font:14px/1.45 \"DejaVu Sans Mono\",monospace'>\
         $ tapeline -c HOST -u -b 100m -t 3 -i 1\n{escaped}</pre>"
    );
    let place = work.join("text.html");
    fs::write(&place, page).map_err(|error| format!("{}: {error}", place.display()))?;
    let lines = text.lines().count() as u32;
    picture(
        browser,
        work,
        "text.html",
        "text",
        (1180, 60 + 21 * lines),
        false,
    )?;
    live_view(program, browser, work)?;
    picture(browser, work, "stream.html", "page", (1200, 1480), false)?;
    picture(
        browser,
        work,
        "stream.html",
        "page-dark",
        (1200, 1480),
        true,
    )
}

/// The last frame of a live view, on a terminal of its own.
fn live_view(program: &Path, browser: &str, work: &Path) -> Result<()> {
    let (columns, rows) = (104, 27);
    let line = format!(
        "stty columns {columns} rows {rows}; exec tapeline -c 127.0.0.1 -p {PORT} -t 20 -P 2 -b 300m,60m --tui"
    );
    // Called by its name alone: the view shows the command.
    let folder = program.parent().unwrap_or(program).display();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("script");
    command.args(["-q", "-e", "-f", "-c", &line, "/dev/null"]);
    command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
    command.env("PATH", format!("{folder}:{path}"));
    let shown = shell::read(&mut command)?;
    let (view, _) = shown.split_once("\x1b[?1049l").ok_or("no live view")?;
    let mut terminal = Terminal::new(columns, rows);
    terminal.write(view);
    let page = format!(
        "<!doctype html><meta charset=utf-8><link rel=icon href=data:,>\
         <body style='margin:0;background:#14171a;color:#e6e9ec'>\
         <pre style='margin:0;padding:18px;font:14px/16px \"DejaVu Sans Mono\",monospace'>{}</pre>",
        terminal.html()
    );
    let place = work.join("live-view.html");
    fs::write(&place, page).map_err(|error| format!("{}: {error}", place.display()))?;
    let size = (u32::from(columns) * 17 / 2 + 36, u32::from(rows) * 16 + 36);
    picture(browser, work, "live-view.html", "live-view", size, false)
}

/// A picture of a page; one that complains is an error.
fn picture(
    browser: &str,
    work: &Path,
    page: &str,
    name: &str,
    (width, height): (u32, u32),
    dark: bool,
) -> Result<()> {
    let picture = work.join(format!("{name}.png"));
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args(["--enable-logging=stderr", "--v=0"])
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--screenshot={}", picture.display()));
    if dark {
        command.arg("--blink-settings=preferredColorScheme=0");
    }
    let output = command
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
