//! What starts from the page in a browser, and what is shown of it.

use interop::{Family, Program, Server, ServerSpec, Transport};
use serde_json::json;

use super::page;
use super::window::browser;

fn server() -> Server {
    let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
    spec.start().expect("a server")
}

/// Types a line over the command, and starts at once.
fn typed(line: &str) -> String {
    format!(
        "const field = document.querySelector('.command textarea');
         field.focus();
         field.value = '{line}';
         field.dispatchEvent(new Event('input', {{ bubbles: true }}));
         field.blur();
         document.querySelector('button.primary').click()"
    )
}

#[test]
fn the_command_that_was_just_typed_is_what_starts() {
    let Some(browser) = browser("the_command_that_was_just_typed_is_what_starts") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server());
    browser.open(&page.address());
    browser.find("input[name=client]");
    browser.run(&typed("ping 127.0.0.1"));
    browser.await_that("return document.querySelector('.command .fault')");
    browser.await_that("return !document.querySelector('button.primary').disabled");
    assert_eq!(
        browser.run("return document.querySelector('.command textarea').value"),
        "ping 127.0.0.1"
    );
    assert_eq!(page.get("/api/tests").json(), json!({ "tests": [] }));
    let line = format!("tapeline -c 127.0.0.1 -p {} -t 0.5", server.port());
    browser.run(&typed(&line));
    browser.await_that("return document.querySelector('.result .headline')");
    assert_eq!(page.test(1)["line"], line.as_str());
}

#[test]
fn each_run_of_a_series_is_shown() {
    let Some(browser) = browser("each_run_of_a_series_is_shown") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server());
    let port = server.port();
    let other = json!([
        ["client", "127.0.0.1"],
        ["port", port.to_string()],
        ["time", "0.2"]
    ]);
    let number = page.order("client", &other);
    page.await_test(number, |test| test["run"] == "r1");
    browser.open(&page.address());
    browser.find("input[name=client]");
    browser.run(&typed(&format!(
        "tapeline -c 127.0.0.1 -p {port} -t 0.5 --repeat 2"
    )));
    browser
        .await_that("return document.querySelector('.shown .headline')?.textContent === '2 runs'");
    browser.find(".shown .kept");
    let summaries = browser.run(
        "return [...document.querySelectorAll('.shown .rows summary')].map(one => one.textContent)",
    );
    let summaries = summaries.as_array().expect("runs");
    assert_eq!(summaries.len(), 2, "{summaries:?}");
    let has_rate =
        |one: &serde_json::Value| one.as_str().is_some_and(|text| text.contains("bit/s"));
    assert!(summaries.iter().all(has_rate), "{summaries:?}");
    browser.run("document.querySelector('.shown .rows summary').click()");
    browser.await_that("return document.querySelector('.shown .rows .result figure.chart')");
    // Where they are kept, they are alone, with their median.
    browser.click(".shown .kept a");
    browser.await_that("return document.querySelectorAll('.runs tbody tr').length === 2");
    let median = browser.run("return document.querySelector('.trend > p').textContent");
    let median = median.as_str().expect("a text");
    assert!(
        median.starts_with("Median of 2 runs: ") && median.contains("bit/s"),
        "{median}"
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A page of a process that has gone takes the key of the next one, and forgets the tests of the first.
#[test]
fn a_new_process_has_its_own_tests() {
    let Some(browser) = browser("a_new_process_has_its_own_tests") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server());
    browser.open(&page.address());
    browser.find("input[name=client]");
    let port = server.port();
    browser.run(&typed(&format!("tapeline -c 127.0.0.1 -p {port} -t 60")));
    browser.await_that("return document.querySelector('.shown .chart')");
    let at = page.at();
    page.into_process().kill().expect("an end");
    browser.await_that("return !document.querySelector('.banner').hidden");
    let line = format!("--listen {at}");
    let page = super::page(folder.path(), &line);
    browser.fill("input[name=key]", page.key());
    browser.click("button.primary");
    browser.find(".welcome");
    assert_eq!(
        browser.run("return document.querySelector('button.primary').textContent"),
        "Start test"
    );
}

#[test]
fn a_page_that_only_shows_begins_at_the_results() {
    let Some(browser) = browser("a_page_that_only_shows_begins_at_the_results") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "--read-only");
    browser.open(&page.address());
    browser.await_that("return location.pathname === '/history'");
    let views = browser
        .run("return [...document.querySelectorAll('header nav a')].map(one => one.getAttribute('href'))");
    assert_eq!(views, json!(["/history", "/compare"]));
}

/// Rows at a high rate over a long time: what the page keeps of them does not grow.
#[test]
fn a_long_test_has_a_bound_in_the_page() {
    let Some(browser) = browser("a_long_test_has_a_bound_in_the_page") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "");
    browser.open(&page.address());
    browser.find("input[name=client]");
    browser.run(
        "import('/live.js').then(({ Course }) => {
             const course = new Course();
             course.take({ event: 'start', data: { test: { transport: 'udp', requested_seconds: 600 } } });
             let most = 0;
             for (let row = 0; row < 12000; row += 1) {
                 course.take({ event: 'interval', data: { direction: 'forward', stream: 1, start_seconds: row / 20, end_seconds: (row + 1) / 20,
                     bits_per_second: row === 7000 ? 9e7 : 5e7, packets: 100, lost: 0, rtt_ms: 1, counted_by: 'sender' } });
                 most = Math.max(most, course.rates[0].length);
             }
             const [points] = course.rates;
             window.kept = { most, last: points.at(-1)[1], peak: Math.max(...points.map(point => point[2])), rows: course.rows.length, isLong: course.isLong };
         })",
    );
    let kept = browser.await_that("return window.kept");
    assert!(kept["most"].as_u64().expect("points") <= 2400, "{kept}");
    assert!(kept["rows"].as_u64().expect("rows") <= 400, "{kept}");
    assert_eq!(kept["isLong"], true, "{kept}");
    assert_eq!(
        (&kept["last"], &kept["peak"]),
        (&json!(600), &json!(90_000_000))
    );
}
