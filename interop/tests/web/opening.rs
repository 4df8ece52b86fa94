//! `tapeline web --open`: a browser gets a file that leads to the page.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use interop::{Invocation, Program, Request};

/// A program in the place of `xdg-open` that stays, as a browser does that it starts itself.
fn staying_browser(folder: &Path) {
    let script = format!(
        "#!/bin/sh\necho \"$1\" >'{0}/way.new'\nmv '{0}/way.new' '{0}/way'\n\
         while [ -e '{0}/way' ]; do sleep 0.1; done\n",
        folder.display()
    );
    let program = folder.join("xdg-open");
    std::fs::write(&program, script).expect("a script");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a program");
}

#[test]
fn the_page_is_served_while_its_browser_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    staying_browser(folder.path());
    let path = std::env::var("PATH").unwrap_or_default();
    let page = Invocation::new(Program::Tapeline)
        .line("web --open --no-save")
        .env("PATH", &format!("{}:{path}", folder.path().display()))
        .env("HOME", &folder.path().display().to_string())
        .env("XDG_RUNTIME_DIR", &folder.path().display().to_string())
        .spawn()
        .expect("a page");
    let time = Duration::from_secs(20);
    assert!(page.wait_for(time, |text| text.contains("\nhistory ")));
    let said = page.stdout();
    let address = said.split_whitespace().nth(2).expect("an address");
    let at = address["http://".len()..]
        .split('/')
        .next()
        .expect("a port");
    let at = at.parse().expect("an address");
    let answer = Request::new("GET", "/")
        .header("Host", &format!("{at}"))
        .send(at);
    assert_eq!(answer.expect("an answer").status, 200);

    let end = Instant::now() + time;
    let way = loop {
        if let Ok(way) = std::fs::read_to_string(folder.path().join("way")) {
            break way;
        }
        assert!(Instant::now() < end, "no browser: {}", page.stderr());
        std::thread::sleep(Duration::from_millis(10));
    };
    let way = Path::new(way.trim());
    let leads = std::fs::read_to_string(way).expect("a way");
    assert!(leads.contains(address), "{leads}");
    let mode = std::fs::metadata(way).expect("a way").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    page.interrupt();
    assert_eq!(page.wait().expect("an end").code(), Some(0));
    assert!(!way.exists());
}
