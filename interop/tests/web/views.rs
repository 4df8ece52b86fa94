//! How the page looks and is used: in all sizes, dark and light, without a mouse, on paper.

use interop::{Browser, Family, Page, Program, ServerSpec, Transport};
use serde_json::{Value, json};

use super::page;
use super::window::browser;

/// The views, each with the address and what shows that it is there.
const VIEWS: [&str; 5] = ["test", "server", "mesh", "history", "compare"];

/// Checks of a page; each returns what is wrong, in words.
const CHECKS: [(&str, &str); 12] = [
    (
        "it has a language and a title",
        "return [document.documentElement.lang || 'no language', document.title || 'no title'].filter(one => one.startsWith('no '))",
    ),
    (
        "it has one main heading",
        "return document.querySelectorAll('h1').length === 1 ? [] : ['h1: ' + document.querySelectorAll('h1').length]",
    ),
    (
        "nothing is wider than the window",
        "return document.documentElement.scrollWidth > innerWidth ? [`${document.documentElement.scrollWidth} of ${innerWidth}`] : []",
    ),
    (
        "fields have names",
        "return visible('input, select, textarea').filter(one => !(one.labels?.length || one.getAttribute('aria-label') || one.getAttribute('aria-labelledby'))).map(one => one.outerHTML.slice(0, 100))",
    ),
    (
        "buttons and links say what they do",
        "return visible('button, a').filter(one => !(one.textContent.trim() || one.getAttribute('aria-label'))).map(one => one.outerHTML.slice(0, 100))",
    ),
    (
        "identifiers are unique",
        "const ids = [...document.querySelectorAll('[id]')].map(one => one.id); return ids.filter((one, index) => ids.indexOf(one) !== index)",
    ),
    (
        "the order of keys is that of the page",
        "return [...document.querySelectorAll('[tabindex]')].filter(one => one.tabIndex > 0).map(one => one.outerHTML.slice(0, 100))",
    ),
    (
        "charts are described, and are tables, too",
        "return visible('figure.chart').filter(one => !one.querySelector('svg[aria-label]') || !one.querySelector('table, details')).map(one => one.outerHTML.slice(0, 100))",
    ),
    (
        "changes are announced",
        "return document.querySelector('[aria-live], [role=status]') ? [] : ['nothing does']",
    ),
    (
        "tables have heads",
        "return visible('table').filter(one => !one.querySelector('th')).map(one => one.outerHTML.slice(0, 100))",
    ),
    (
        "what has the focus is seen",
        "return visible('a, button, input, select, textarea, summary').filter(one => { one.focus({ focusVisible: true }); if (document.activeElement !== one) return false; const style = getComputedStyle(one); return style.outlineStyle === 'none' && style.boxShadow === 'none'; }).map(one => one.outerHTML.slice(0, 100))",
    ),
    ("text stands out from its ground", "return faint()"),
];

/// What the checks share.
const SHARED: &str = "
const visible = selector => [...document.querySelectorAll(selector)].filter(one => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length);
const parts = color => color.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => { const part = value => { value /= 255; return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; }; return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
const ground = one => { for (; one; one = one.parentElement) { const found = parts(getComputedStyle(one).backgroundColor); if (found.length < 4 || found[3] > 0.5) return found; } return parts(getComputedStyle(document.documentElement).getPropertyValue('background-color')); };
const faint = () => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = new Set();
  while (walker.nextNode()) {
    const node = walker.currentNode, one = node.parentElement;
    if (!node.textContent.trim() || !one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || one.closest('.unseen, .skip, [disabled], [aria-disabled=true]')) continue;
    const style = getComputedStyle(one), color = one.namespaceURI.endsWith('svg') ? style.fill : style.color;
    const [a, b] = [light(parts(color)), light(ground(one))].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.add(`${node.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return [...found];
};
";

/// What is wrong with what the window shows.
pub(crate) fn findings(browser: &Browser) -> Vec<String> {
    let of = |(what, check): (&str, &str)| {
        let found = browser.run(&format!("{SHARED}{check}"));
        let found = found.as_array().cloned().unwrap_or_default();
        found
            .into_iter()
            .map(move |one| format!("{what}: {one}"))
            .collect::<Vec<_>>()
    };
    CHECKS.into_iter().flat_map(of).collect()
}

/// A page with two results.
fn with_results(folder: &std::path::Path) -> Page {
    let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
    let (page, server) = (page(folder, ""), spec.start().expect("a server"));
    for _ in 0..2 {
        let options = json!([
            ["client", format!("127.0.0.1:{}", server.port())],
            ["time", "0.5"],
            ["interval", "0.1"]
        ]);
        let test = page.order("client", &options);
        page.await_test(test, |test| test["state"] == "ended");
    }
    page
}

/// Opens a view once it is drawn.
fn show(browser: &Browser, view: &str) {
    browser.run(&format!(
        "document.querySelector('a[href=\"/{view}\"]').click()"
    ));
    browser.await_that(&format!(
        "return location.pathname === '/{view}' && document.querySelector('h1')"
    ));
    browser.await_that(match view {
        "test" => "return document.querySelector('.result .headline')",
        "history" => "return document.querySelector('tbody tr')",
        _ => "return document.querySelector('main')",
    });
}

#[test]
fn every_view_in_every_size_and_light_is_fit_for_use() {
    let Some(browser) = browser("every_view_in_every_size_and_light_is_fit_for_use") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = with_results(folder.path());
    browser.open(&page.address());
    browser.find("h1");
    let mut found = Vec::new();
    for (width, height) in [(320, 700), (390, 844), (1440, 900), (3840, 2160)] {
        for dark in [false, true] {
            browser.look(width, height, dark);
            for view in VIEWS {
                show(&browser, view);
                let place = format!("{view} {width}x{height}{}", if dark { " dark" } else { "" });
                found.extend(
                    findings(&browser)
                        .into_iter()
                        .map(|one| format!("{place}: {one}")),
                );
                if let Some(pictures) = std::env::var_os("TAPELINE_PICTURES") {
                    let file = std::path::Path::new(&pictures).join(format!("{place}.png"));
                    browser.picture(&file);
                }
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn paper_has_the_result_and_not_the_form() {
    let Some(browser) = browser("paper_has_the_result_and_not_the_form") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = with_results(folder.path());
    browser.open(&page.address());
    browser.await_that("return document.querySelector('.result .headline')");
    browser.developer_tools("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    let seen =
        |selector: &str| browser.run(&format!("{SHARED} return visible('{selector}').length"));
    assert_ne!(seen(".result .headline"), 0);
    assert_ne!(seen(".result figure.chart"), 0);
    assert_eq!(seen(".form"), 0);
    assert_eq!(seen("nav"), 0);
    let paper = browser.developer_tools("Page.printToPDF", &json!({}));
    assert!(
        paper["data"]
            .as_str()
            .is_some_and(|data| data.len() > 10_000)
    );
}

#[test]
fn a_test_without_a_mouse() {
    let Some(browser) = browser("a_test_without_a_mouse") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
    let (page, server) = (page(folder.path(), ""), spec.start().expect("a server"));
    browser.open(&page.address());
    browser.find("input[name=client]");
    browser.await_that("return document.activeElement?.name === 'client'");
    // Tab goes on to the next field, Enter starts.
    browser.press(&format!("127.0.0.1\u{e004}{}", server.port()));
    browser.await_that(&format!(
        "return document.activeElement?.name === 'port' && document.activeElement.value === '{}'",
        server.port()
    ));
    for _ in 0..12 {
        if browser.run("return document.activeElement?.name") == "time" {
            break;
        }
        browser.press("\u{e004}");
    }
    browser.press("30\u{e006}");
    browser.await_that("return document.querySelector('.shown .chart')");
    // Away from the fields letters are keys.
    browser.run("document.activeElement.blur()");
    browser.press("s");
    browser.await_that("return document.querySelector('.result .headline')");
    browser.press("/");
    browser.await_that("return document.activeElement?.type === 'search'");
    // The points of a chart are walked through and said.
    browser.run("document.querySelector('.result figure.chart svg').focus()");
    browser.press("\u{e014}");
    let said = browser.await_that(
        "return [...document.querySelectorAll('[aria-live], [role=status]')].map(one => one.textContent).find(text => /\\d/.test(text))",
    );
    assert!(
        said.as_str().is_some_and(|text| text.contains("bit/s")),
        "{said}"
    );
}

#[test]
fn two_runs_are_compared_from_the_list() {
    let Some(browser) = browser("two_runs_are_compared_from_the_list") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = with_results(folder.path());
    browser.open(&page.address());
    browser.find("h1");
    browser.open(&format!("http://{}/compare?a=r1&b=r2", page.at()));
    browser.await_that("return document.querySelectorAll('.strip').length > 1");
    // The courses come later: they need each run's intervals.
    browser.await_that("return document.querySelector('.compare section figure.chart')");
    let comparison = page
        .post("/api/compare", &json!({ "a": "r1", "b": "r2" }))
        .json();
    assert_eq!(comparison["comparison"]["schema"], "tapeline-comparison/1");
    assert!(
        comparison["text"]
            .as_str()
            .is_some_and(|text| text.contains("rate"))
    );
    let shown = browser.run("return document.querySelectorAll('.compare figure').length");
    let file = folder.path().join("comparison.html");
    let kept = page.get("/api/compare/page?a=r1&b=r2");
    std::fs::write(&file, kept.text()).expect("a file");
    browser.open(&format!("file://{}", file.display()));
    let kept = browser.await_that("return document.querySelectorAll('.compare figure').length");
    assert_eq!(kept, shown, "the page that is kept has the same charts");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let wrong = page.post("/api/compare", &json!({ "a": "r1", "b": "r99" }));
    assert_eq!(
        (wrong.status, wrong.json()["error"] != Value::Null),
        (422, true)
    );
    let files = page.post("/api/compare", &json!({ "a": "/etc/passwd", "b": "r1" }));
    assert_eq!(files.status, 422, "{}", files.text());
}
