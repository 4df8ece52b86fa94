//! The page in a real browser: a test from the form to the history, every option, and what is asked of
//! the network.

use interop::{Browser, Family, NamespacePair, Program, Server, ServerSpec, Transport, skip};
use serde_json::{Value, json};

use super::page;

/// The charts that are drawn: how many steps the curve of the rate has.
const STEPS: &str = "const path = document.querySelector('.shown .chart .series.stairs path');
    return path ? path.getAttribute('d').split('L').length - 1 : 0";
/// The command that the page shows.
const COMMAND: &str = "return document.querySelector('.command textarea').value";

/// A browser, or a skip.
pub(crate) fn browser(test: &str) -> Option<Browser> {
    has_browser(test).then(|| Browser::start().expect("a browser"))
}

/// Whether there is a browser; else the test is skipped.
pub(crate) fn has_browser(test: &str) -> bool {
    let unavailable = Browser::unavailable();
    if let Some(reason) = &unavailable {
        skip(test, reason);
    }
    unavailable.is_none()
}

pub(crate) fn server(transport: Transport) -> Server {
    let spec = ServerSpec::new(Program::Tapeline, transport, Family::V4);
    spec.start().expect("a server")
}

#[test]
fn a_test_from_the_form_to_the_history() {
    let Some(browser) = browser("a_test_from_the_form_to_the_history") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server(Transport::Udp));
    browser.open(&page.address());
    browser.find("input[name=client]");
    assert_eq!(
        browser.run("return location.hash"),
        "",
        "the key stays in the address"
    );
    browser.fill("input[name=client]", "127.0.0.1");
    browser.fill("input[name=port]", &server.port().to_string());
    browser.run("document.querySelectorAll('input[name=transport]')[1].click()");
    browser.fill("input[name=bandwidth]", "50M");
    browser.fill("input[name=parallel]", "2");
    browser.fill("input[name=time]", "5");
    let golden = format!(
        "tapeline -c 127.0.0.1 -u -p {} -t 5 -b 50M -P 2 -i 0.25",
        server.port()
    );
    browser.await_that(&format!(
        "return document.querySelector('.command textarea').value === '{golden}'"
    ));
    browser.click("button.primary");
    browser.await_that(&format!("{STEPS} >= 15"));
    let running = page.get("/api/tests").json()["tests"][0].clone();
    assert_eq!(running["state"], "running", "{running}");
    assert_eq!(running["line"], golden.as_str());
    browser.await_that("return document.querySelector('.result .headline')");
    let document = page.get("/api/tests/1/json").json();
    let rate = &document["sum"]["receiver"]["bits_per_second"];
    let shown = browser.run("return document.querySelector('.result .headline').textContent");
    let wanted = browser.run(&format!("return charts.rate({rate})"));
    let (shown, wanted) = (
        shown.as_str().expect("text"),
        wanted.as_str().expect("text"),
    );
    assert!(shown.starts_with(wanted), "{shown}: {wanted}");
    let kept = page.get("/api/history").json()["runs"][0]["quantities"]["rate"].clone();
    let (kept, rate) = (
        kept.as_f64().expect("a rate"),
        rate.as_f64().expect("a rate"),
    );
    assert!((kept / rate - 1.0).abs() < 0.001, "{kept} {rate}");
    assert!(browser.text().contains("r1"), "{}", browser.text());
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_test_goes_on_when_its_page_is_closed() {
    let Some(browser) = browser("a_test_goes_on_when_its_page_is_closed") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server(Transport::Tcp));
    browser.open(&page.address());
    browser.fill("input[name=client]", "127.0.0.1");
    browser.fill("input[name=port]", &server.port().to_string());
    browser.fill("input[name=time]", "2");
    browser.await_that("return document.querySelector('.command textarea').value.includes('-t 2')");
    browser.click("button.primary");
    browser.await_that(&format!("{STEPS} >= 1"));
    browser.open("about:blank");
    let ended = page.await_test(1, |test| test["state"] == "ended");
    assert_eq!(
        (&ended["code"], &ended["run"]),
        (&json!(0), &json!("r1")),
        "{ended}"
    );
    // Whoever comes back sees it.
    browser.open(&page.address());
    browser.await_that("return document.querySelector('.result .headline')");
}

#[test]
fn a_test_that_is_stopped_shows_its_totals() {
    let Some(browser) = browser("a_test_that_is_stopped_shows_its_totals") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server(Transport::Tcp));
    browser.open(&page.address());
    browser.fill("input[name=client]", "127.0.0.1");
    browser.fill("input[name=port]", &server.port().to_string());
    browser.fill("input[name=time]", "60");
    browser
        .await_that("return document.querySelector('.command textarea').value.includes('-t 60')");
    browser.click("button.primary");
    browser.await_that(&format!("{STEPS} >= 3"));
    browser.click("button.primary");
    browser.await_that("return document.querySelector('.result .headline')");
    let document = page.get("/api/tests/1/json").json();
    assert_eq!(document["test"]["interrupted"], true);
}

/// A value that an option of the form takes.
fn value(option: &Value) -> Option<&'static str> {
    Some(match option["kind"].as_str()? {
        "host" => "192.0.2.1",
        "networks" => "192.0.2.0/24",
        "rate" | "bytes" => "64K",
        "port" => "5002",
        "text" => "x",
        _ => "3",
    })
}

/// Sets each field of the form by script. The command that is shown means what the form holds.
#[test]
fn every_field_is_in_the_command() {
    let Some(browser) = browser("every_field_is_in_the_command") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "");
    browser.open(&page.address());
    browser.fill("input[name=client]", "192.0.2.9");
    browser.await_that(
        "return document.querySelector('.command textarea').value.includes('192.0.2.9')",
    );
    let form = page.get("/api/form").json();
    let options = form["options"].as_array().expect("options");
    let mut seen = 0;
    for option in options {
        let id = option["id"].as_str().expect("an id");
        let plain = ![
            "client",
            "interval",
            "udp",
            "reverse",
            "full-duplex",
            "dualtest",
            "tradeoff",
        ]
        .contains(&id);
        if option["client"] != true || !option["refused"].is_null() || !plain {
            continue;
        }
        let text = value(option).unwrap_or("3");
        let is_set = browser.run(&format!(
            "const field = document.querySelector('.form [name=\"{id}\"]');
             if (!field) return 'none';
             if (field.type === 'checkbox') field.checked = true;
             else if (field.tagName === 'SELECT') field.selectedIndex = 1;
             else field.value = '{text}';
             field.dispatchEvent(new Event('input', {{ bubbles: true }}));
             field.dispatchEvent(new Event('change', {{ bubbles: true }}));
             return field.type === 'checkbox' ? 'switch' : field.value"
        ));
        assert_ne!(is_set, "none", "{id} has no field");
        let name = match option["letter"].as_str() {
            Some(letter) => format!(" -{letter}"),
            None => format!(" --{id}"),
        };
        let is_secret = id == "permit-key";
        let wanted = if is_secret {
            "TAPELINE_PERMIT_KEY="
        } else {
            &name
        };
        browser.await_that(&format!(
            "return document.querySelector('.command textarea').value.includes('{wanted}')"
        ));
        let line = browser.run(COMMAND);
        if !is_secret {
            let read = page.post("/api/plan", &json!({ "line": line })).json();
            let mut given = vec![json!(["client", "192.0.2.9"]), json!(["interval", "0.25"])];
            given.push(match is_set.as_str() {
                // An option without its value is chosen by a blank.
                Some("switch" | " ") => json!([id]),
                _ => json!([id, is_set]),
            });
            let written = page
                .post("/api/plan", &json!({ "job": "client", "options": given }))
                .json();
            assert_eq!(read["options"], written["options"], "{id}: {line}");
        }
        browser.run(&format!(
            "const field = document.querySelector('.form [name=\"{id}\"]');
             if (field.type === 'checkbox') field.checked = false;
             else if (field.tagName === 'SELECT') field.selectedIndex = 0;
             else field.value = '';
             const given = document.querySelector('.form [name=\"{id}-given\"]');
             if (given) given.checked = false;
             field.dispatchEvent(new Event('input', {{ bubbles: true }}));
             field.dispatchEvent(new Event('change', {{ bubbles: true }}))"
        ));
        browser.await_that(&format!(
            "return !document.querySelector('.command textarea').value.includes('{wanted}')"
        ));
        seen += 1;
    }
    assert!(seen > 80, "{seen}");
}

#[test]
fn a_pasted_command_of_iperf_fills_the_form() {
    let Some(browser) = browser("a_pasted_command_of_iperf_fills_the_form") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "");
    browser.open(&page.address());
    browser.fill(".command textarea", "iperf3 -c 192.0.2.7 -R -t 7");
    browser.await_that("return document.querySelector('input[name=client]').value === '192.0.2.7'");
    browser.await_that("return document.querySelector('input[name=time]').value === '7'");
    assert_eq!(
        browser.run("return document.querySelector('select[name=direction]').selectedIndex"),
        1
    );
    browser.fill(".command textarea", "ping 192.0.2.7");
    browser.await_that("return document.querySelector('.command .fault')");
    assert_eq!(
        browser.run("return document.querySelector('input[name=client]').value"),
        "192.0.2.7"
    );
}

/// In a network from which no other leads away.
#[test]
fn nothing_is_loaded_from_elsewhere() {
    let name = "nothing_is_loaded_from_elsewhere";
    if let Some(reason) = NamespacePair::unavailable() {
        return skip(name, &reason);
    }
    if let Some(reason) = Browser::unavailable() {
        return skip(name, &reason);
    }
    let pair = NamespacePair::new().expect("namespaces");
    pair.client.within(loads_nothing).expect("a network");
}

fn loads_nothing() {
    let browser = Browser::start().expect("a browser");
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server(Transport::Tcp));
    let test = page.order(
        "client",
        &json!([
            ["client", format!("127.0.0.1:{}", server.port())],
            ["time", "0.5"]
        ]),
    );
    page.await_test(test, |test| test["state"] == "ended");
    browser.requests();
    browser.open(&page.address());
    browser.await_that("return document.querySelector('.result .headline')");
    for view in ["server", "mesh", "history", "compare"] {
        browser.run(&format!(
            "document.querySelector('a[href=\"/{view}\"]').click()"
        ));
        browser.await_that(&format!("return location.pathname === '/{view}'"));
        browser.find("h1");
    }
    let origin = format!("http://{}/", page.at());
    let requests = browser.requests();
    assert!(requests.len() > 10, "{requests:?}");
    for address in requests {
        let is_own = address.starts_with(&origin) || address.starts_with("data:");
        assert!(is_own, "{address}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_stranger_is_asked_for_the_key() {
    let Some(browser) = browser("a_stranger_is_asked_for_the_key") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "");
    browser.open(&format!("http://{}/test", page.at()));
    browser.await_that("return document.body.innerText.includes('key')");
    assert_eq!(
        browser.run("return document.querySelector('input[name=client]')"),
        Value::Null
    );
    browser.fill("input", page.key());
    browser.click("button");
    browser.find("input[name=client]");
}
