//! Tests among many hosts from the page: from the text to the heat map, with faults, and cut short.

use std::path::Path;
use std::time::Duration;

use interop::{Browser, Page, PageOptions, SshHosts, skip};
use serde_json::{Value, json};

use super::page;
use super::views::findings;
use super::window::{browser, has_browser};

/// How the words begin of what carries out a host's part.
const REMOTE: &str = "tapeline remote";
/// Processes have ended after this time.
const GONE: Duration = Duration::from_secs(10);
/// Cells of the heat map of rates that have a number.
const MEASURED: &str = "return [...document.querySelector('.heat')?.querySelectorAll('button:not(.void)') ?? []].length";

/// Three hosts, or a skip.
fn hosts(test: &str) -> Option<SshHosts> {
    if let Some(reason) = SshHosts::unavailable() {
        skip(test, &reason);
        return None;
    }
    Some(SshHosts::new(3).expect("hosts"))
}

/// Their file, with tests of some seconds.
fn file(seconds: u32) -> String {
    format!("[defaults]\ntest = \"-t {seconds}\"\n[hosts.h1]\n[hosts.h2]\n[hosts.h3]\n")
}

/// A page on the host that orders; the caller is in its network.
fn page_of(hosts: &SshHosts, folder: &Path) -> Page {
    let history = folder.join("history.db");
    let program = hosts
        .tapeline()
        .env("TMPDIR", &folder.display().to_string());
    let options = PageOptions {
        history: &history,
        line: "",
    };
    Page::start_as(program, &options).expect("a page")
}

fn order(page: &Page, hosts: &str) -> u64 {
    let answer = page.post("/api/mesh", &json!({ "hosts": hosts }));
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["test"].as_u64().expect("a number")
}

/// Folders of meshes that are there.
fn folders(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("a file").file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with("tapeline-mesh-"))
        .count()
}

#[test]
fn from_the_text_to_the_heat_map() {
    let name = "from_the_text_to_the_heat_map";
    if !has_browser(name) {
        return;
    }
    let Some(hosts) = hosts(name) else { return };
    let run = || {
        let browser = Browser::start().expect("a browser");
        let folder = tempfile::tempdir().expect("a folder");
        fills(&browser, &page_of(&hosts, folder.path()), folder.path());
    };
    hosts.orderer().within(run).expect("a network");
    assert_eq!(hosts.left_after(GONE), []);
}

fn fills(browser: &Browser, page: &Page, folder: &Path) {
    browser.open(&page.address());
    browser.find("h1");
    browser.run("document.querySelector('a[href=\"/mesh\"]').click()");
    browser.find("textarea[name=hosts]");
    let example = browser.run("return document.querySelector('textarea[name=hosts]').value");
    assert!(
        example
            .as_str()
            .is_some_and(|text| text.contains("[hosts.fra1]")),
        "{example}"
    );
    browser.fill("textarea[name=hosts]", &file(1));
    browser.run("[...document.querySelectorAll('.mesh button')].find(one => one.textContent === 'Check').click()");
    browser.await_that("return document.querySelector('.mesh [role=status]').textContent.startsWith('3 hosts, 6 directed tests of 1 s in 6 slots: about')");
    browser.click(".mesh button.primary");
    // It fills while it runs; who is at a cell stays there.
    browser.await_that(&format!("{MEASURED} >= 1"));
    let running = page.test(1);
    assert_eq!(
        (&running["state"], &running["job"]),
        (&json!("running"), &json!("mesh"))
    );
    assert_eq!(running["line"], "tapeline mesh hosts.toml --pattern full");
    browser.run("document.querySelector('.heat button').focus(); window.at = document.activeElement.title.split(':')[0]");
    browser.await_that(&format!("{MEASURED} >= 4"));
    assert_eq!(
        browser.run("return document.activeElement.title.split(':')[0] === window.at"),
        true
    );
    browser.await_that("return document.querySelector('.mesh .headline')");
    let said = browser.run("return document.querySelector('.mesh .headline').textContent");
    assert_eq!(said, "6 of 6 tests between 3 hosts measured");
    assert_eq!(browser.run(MEASURED), 6);
    browser.click(".heat button[aria-label^=\"h1 to h3\"]");
    browser.await_that("return document.querySelector('#test h2').textContent === 'h1 → h3'");
    browser.await_that("return document.querySelector('#test figure.chart, #test .card')");
    for (width, height) in [(320, 700), (1440, 900), (3840, 2160)] {
        for dark in [false, true] {
            browser.look(width, height, dark);
            assert_eq!(findings(browser), Vec::<String>::new(), "{width} {dark}");
        }
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());

    let document = page.get("/api/tests/1/json").json();
    assert_eq!(document["schema"], "tapeline-mesh/1");
    assert_eq!(document["journal"], Value::Null);
    assert_eq!(document["cells"].as_array().map(Vec::len), Some(6));
    assert_eq!(page.get("/api/tests/1/csv").text().lines().count(), 7);
    assert!(
        page.get("/api/tests/1/text")
            .text()
            .contains("6 of 6 tests measured")
    );
    assert!(
        page.get("/api/tests/1/page")
            .text()
            .starts_with("<!doctype html>")
    );
    let row = page.test(1);
    assert_eq!(
        (&row["run"], &row["code"]),
        (&json!("s1"), &json!(0)),
        "{row}"
    );
    assert_eq!(
        page.get("/api/history?runs=s1").json()["runs"]
            .as_array()
            .map(Vec::len),
        Some(6)
    );
    // The next visitor finds the hosts.
    let kept = page.get("/api/session").json()["mesh"].clone();
    assert_eq!(
        kept,
        json!({ "hosts": file(1), "pattern": "full", "test": "" })
    );
    assert_eq!(folders(folder), 0);
}

#[test]
fn a_mesh_that_is_stopped_shows_what_is_there_and_a_killed_page_leaves_nothing() {
    let name = "a_mesh_that_is_stopped_shows_what_is_there_and_a_killed_page_leaves_nothing";
    let Some(hosts) = hosts(name) else { return };
    let run = || {
        let folder = tempfile::tempdir().expect("a folder");
        let page = page_of(&hosts, folder.path());
        let test = order(&page, &file(60));
        assert!(
            hosts.hosts()[0].has_within(GONE, REMOTE),
            "{}",
            page.test(test)
        );
        page.await_that("a test", || {
            let events = page.get(&format!("/api/tests/{test}/events")).text();
            events.contains("eta").then_some(())
        });
        assert_eq!(folders(folder.path()), 1);
        let stopped = page.post(&format!("/api/tests/{test}/stop"), &json!({}));
        assert_eq!(stopped.status, 204);
        let ended = page.await_test(test, |test| test["state"] == "ended");
        assert_eq!(
            (&ended["code"], &ended["error"]),
            (&json!(6), &Value::Null),
            "{ended}"
        );
        let document = page.get(&format!("/api/tests/{test}/json")).json();
        let cells = document["cells"].as_array().expect("cells");
        let has = |word: &str| cells.iter().any(|cell| cell["outcome"] == word);
        assert!(
            cells.len() == 6 && has("stopped") && has("skipped"),
            "{document}"
        );
        assert_eq!(hosts.left_after(GONE), []);
        assert_eq!(folders(folder.path()), 0);

        order(&page, &file(60));
        assert!(hosts.hosts()[0].has_within(GONE, REMOTE));
        drop(page.into_process().kill());
    };
    hosts.orderer().within(run).expect("a network");
    assert_eq!(hosts.left_after(GONE), []);
}

#[test]
fn a_fault_is_shown_in_its_line() {
    let Some(browser) = browser("a_fault_is_shown_in_its_line") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "");
    browser.open(&page.address());
    browser.find("h1");
    browser.run("document.querySelector('a[href=\"/mesh\"]').click()");
    browser.find("textarea[name=hosts]");
    let said = |part: &str| {
        browser.click(".mesh button.primary");
        browser.await_that(&format!(
            "const said = document.querySelector('.mesh .fault'); return said && said.textContent.includes('{part}')"
        ));
    };
    browser.fill("textarea[name=hosts]", "[hosts.a]\n[hosts.b]\nspeed = 1\n");
    said("hosts.toml:3: a host has no key");
    assert_eq!(
        browser.run("const { value, selectionStart: from, selectionEnd: to } = document.activeElement; return value.slice(from, to)"),
        "speed = 1"
    );
    browser.fill(
        "textarea[name=hosts]",
        "[hosts.a]\n[hosts.b]\nvia = \"sh -c id\"\n",
    );
    said("ssh alone");
    browser.fill("textarea[name=hosts]", "[hosts.a]\n[hosts.b]\n");
    browser.fill("input[name=pattern]", "rings");
    said("no pattern");
    assert_eq!(page.get("/api/tests").json(), json!({ "tests": [] }));
    // A refusal is no fault of the page.
    let others = |one: &String| !one.contains("422") && !one.contains("403");
    assert!(!browser.complaints().iter().any(others));
}

#[test]
fn a_mesh_waits_for_tests_and_is_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "");
    let server = super::window::server(interop::Transport::Tcp);
    let options = json!([
        ["client", format!("127.0.0.1:{}", server.port())],
        ["time", "60"]
    ]);
    let first = page.order("client", &options);
    page.await_test(first, |test| test["state"] == "running");
    let mesh = order(&page, "[hosts.a]\n[hosts.b]\n");
    let last = page.order("client", &options);
    assert_eq!(page.test(mesh)["state"], "queued");
    let second = page.post("/api/mesh", &json!({ "hosts": "[hosts.a]\n[hosts.b]\n" }));
    assert_eq!(second.status, 429, "{}", second.text());
    for test in [mesh, last, first] {
        page.post(&format!("/api/tests/{test}/stop"), &json!({}));
    }
    let off = page.await_test(mesh, |test| test["state"] == "ended");
    assert_eq!(off["error"], "stopped before it began");
    // What is not reached is said, and makes room.
    let mesh = order(
        &page,
        "[hosts.a]\nssh = \"tapeline.invalid\"\n[hosts.b]\nssh = \"tapeline.invalid\"\n",
    );
    let ended = page.await_test(mesh, |test| test["state"] == "ended");
    assert_eq!(ended["code"], 6, "{ended}");
    let document = page.get(&format!("/api/tests/{mesh}/json")).json();
    assert_eq!(document["cells"][0]["outcome"], "unreachable");
}
