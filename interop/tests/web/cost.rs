//! What the page costs while a test runs: processor time of its server and of the browser, memory, and
//! the rate of the test beside it. A level of its own: `cargo xtask test page`.

use std::io::Write;
use std::time::{Duration, Instant};

use interop::{Browser, Page, Transport, Vitals};
use serde_json::{Value, json};

use super::page;
use super::window::{has_browser, server};

/// Between two looks at a test that runs for minutes.
const LOOK: Duration = Duration::from_secs(5);
/// Time after a test of which the page is still drawing.
const DEADLINE: Duration = Duration::from_secs(60);

/// A browser that keeps no record of what it receives: its memory is the page's.
fn browser(test: &str) -> Option<Browser> {
    has_browser(test).then(|| Browser::start_without_records().expect("a browser"))
}

/// Waits for the end of a test; calls `look` now and then.
fn await_end(page: &Page, number: u64, seconds: u64, mut look: impl FnMut()) -> Value {
    let end = Instant::now() + Duration::from_secs(seconds) + DEADLINE;
    loop {
        let test = page.test(number);
        if test["state"] == "ended" {
            return test;
        }
        assert!(Instant::now() < end, "{test}");
        look();
        std::thread::sleep(LOOK.min(Duration::from_secs(seconds) / 10));
    }
}

fn rate(page: &Page, number: u64) -> f64 {
    let document = page.get(&format!("/api/tests/{number}/json")).json();
    let rate = document["sum"]["receiver"]["bits_per_second"].as_f64();
    rate.unwrap_or_else(|| panic!("{document}"))
}

/// For whoever ran the level: a passing test shows nothing on its own.
fn show(figures: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{figures}");
}

#[test]
#[ignore = "measures processor time: cargo xtask test page"]
fn a_test_beside_its_page_is_as_fast_as_alone() {
    let Some(browser) = browser("a_test_beside_its_page_is_as_fast_as_alone") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server(Transport::Tcp));
    let options = json!([
        ["client", "127.0.0.1"],
        ["port", server.port().to_string()],
        ["time", "10"],
        ["bandwidth", "1G"],
        ["interval", "0.25"],
    ]);
    let alone = page.order("client", &options);
    await_end(&page, alone, 10, || ());
    browser.open(&page.address());
    browser.find("input[name=client]");
    let (web, renderer) = (page.process().id(), browser.renderer());
    let before = [web, renderer].map(|pid| Vitals::read(pid).expect("a process").cpu);
    let began = Instant::now();
    let shown = page.order("client", &options);
    await_end(&page, shown, 10, || ());
    browser.await_that("return document.querySelector('.result .headline')");
    let seconds = began.elapsed().as_secs_f64();
    let after = [web, renderer].map(|pid| Vitals::read(pid).expect("a process").cpu);
    let [web, renderer] = [0, 1].map(|one| (after[one] - before[one]).as_secs_f64() / seconds);
    let ratio = rate(&page, shown) / rate(&page, alone);
    let figures = format!(
        "server {:.2} %, browser {:.2} % of a processor; rate {ratio:.4} of that without the page",
        web * 100.0,
        renderer * 100.0
    );
    show(&figures);
    assert!(web <= 0.02, "{figures}");
    assert!(renderer <= 0.05, "{figures}");
    assert!((ratio - 1.0).abs() <= 0.01, "{figures}");
}

#[test]
#[ignore = "ten minutes: cargo xtask test page"]
fn ten_minutes_of_rows_have_a_bound_in_memory() {
    let Some(browser) = browser("ten_minutes_of_rows_have_a_bound_in_memory") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server(Transport::Tcp));
    browser.open(&page.address());
    browser.find("input[name=client]");
    browser.look(1440, 900, false);
    browser.collect_garbage();
    let (web, renderer) = (page.process().id(), browser.renderer());
    let memory = |pid| Vitals::read(pid).expect("a process").memory as f64 / 1024.0 / 1024.0;
    let before = [web, renderer].map(memory);
    let options = json!([
        ["client", "127.0.0.1"],
        ["port", server.port().to_string()],
        ["time", "600"],
        ["bandwidth", "100M"],
        ["interval", "0.05"],
    ]);
    let number = page.order("client", &options);
    let mut most = before;
    await_end(&page, number, 600, || {
        for (most, pid) in most.iter_mut().zip([web, renderer]) {
            *most = most.max(memory(pid));
        }
    });
    browser.await_that("return document.querySelector('.result .headline')");
    let ended = [web, renderer].map(memory);
    browser.collect_garbage();
    let held = [web, renderer].map(memory);
    let more = |now: [f64; 2]| [now[0] - before[0], now[1] - before[1]];
    let (most, ended, held) = (more(most), more(ended), more(held));
    let figures = format!(
        "MiB more than before, server and browser: at most {:.0} and {:.0} while it ran, \
         {:.0} and {:.0} with the result, {:.0} and {:.0} of them in use",
        most[0], most[1], ended[0], ended[1], held[0], held[1]
    );
    show(&figures);
    // What a browser has not collected yet is its own affair.
    assert!(held.iter().all(|more| *more <= 100.0), "{figures}");
}
