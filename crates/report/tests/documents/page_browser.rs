//! What a browser makes of pages, and questions to that.

use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};
use tapeline_report::document::WholeDocument;

use super::page_documents as documents;
use super::{file, rendered, samples, series};

/// Names under which the browser is known.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Calls of the charts' own functions, and what they return as text.
pub(crate) const CALLS: [(&str, &str); 16] = [
    (
        "[0, 0.0001, 0.0423, 0.9996, 9.414, 9.996, 94.12, 99.96, 5888.8, -4.923].map(charts.digits).join()",
        "0,<0.001,0.042,1.00,9.41,10.0,94.1,100,5889,-4.92",
    ),
    (
        "[0, 64e3, 1.048e6, 999.7e6, 5.8888e9].map(charts.rate).join()",
        "0 bit/s,64.0 kbit/s,1.05 Mbit/s,1.00 Gbit/s,5.89 Gbit/s",
    ),
    (
        "[1470, 588251136, 1176502272].map(charts.size).join()",
        "1.44 KiB,561 MiB,1.10 GiB",
    ),
    ("charts.millis(-0.4)", "0 ms"),
    ("charts.axis([3, 80]).low", "0"),
    (
        "charts.axis([-3, 80]).low < 0 && charts.axis([-80, -3]).high === 0",
        "true",
    ),
    (
        "charts.axis([936, 942]).low > 850 && charts.axis([936, 942]).high < 1050",
        "true",
    ),
    ("charts.axis([840, 942]).low", "0"),
    (
        "charts.axis([0, 1], { whole: true }).ticks.map(([, label]) => label).join()",
        "0,1",
    ),
    (
        "charts.axis([7, 7], { whole: true }).ticks.every(([, label]) => !label.includes('.'))",
        "true",
    ),
    (
        "charts.axis([0, 12]).ticks.map(([, label]) => label).join()",
        "0.0,2.5,5.0,7.5,10.0,12.5",
    ),
    (
        "charts.logarithmic([0.03, 20]).ticks.map(([, label]) => label).join()",
        "0.03,0.1,0.3,1,3,10",
    ),
    (
        "charts.whole([{ seconds: 1 }, { seconds: 0.5 }, { seconds: 0.49 }], 1).length",
        "2",
    ),
    (
        "(() => { const few = charts.thin(Array.from({ length: 9999 }, (_, at) => [at, at % 7 + (at === 5000 ? 50 : 0)]));
          return few.length <= 2400 && few.some(([at]) => at === 5000) && few.every(([at], one) => !one || at > few[one - 1][0]); })()",
        "true",
    ),
    (
        "(() => { const line = (name, role, points) => ({ name, role, shape: 'line', points });
          const made = charts.chart({ title: 'x', kind: 'count', series: [line('a', '1', [[1, 5], [2, 7]]), line('b', '2', [[1, 3], [2, 4]])] });
          return ['ArrowRight', 'ArrowRight', 'ArrowDown', 'Home'].map(key => {
            made.querySelector('svg').dispatchEvent(new KeyboardEvent('keydown', { key }));
            return made.querySelector('.said').textContent; }).join(); })()",
        "a: 5 at 1 seconds,a: 7 at 2 seconds,b: 4 at 2 seconds,b: 3 at 1 seconds",
    ),
    (
        "(() => { const made = points => charts.chart({ title: 'x', kind: 'count', series: [{ name: 'a', role: '1', shape: 'line', points }] });
          const shown = made([[1, 5], [2, 7]]), svg = shown.querySelector('svg');
          return charts.update(shown, made([[1, 5], [2, 7], [3, 9]])) === shown && shown.querySelector('svg') === svg && svg.querySelectorAll('.dot').length; })()",
        "3",
    ),
];

/// A page of a document, from that of a sample.
fn page(document: &Value) -> String {
    let sample = samples::all().remove(0);
    let page = rendered(WholeDocument::html(sample.run_info), &sample.events);
    let (before, rest) = page.split_once("id=\"report\">").expect("a document");
    let (_, after) = rest.split_once("</script>").expect("its end");
    let json = document.to_string().replace('<', "\\u003c");
    format!("{before}id=\"report\">{json}</script>{after}")
}

/// What a browser makes of all pages and calls, by their names; `None` without a browser.
static SEEN: LazyLock<Option<Value>> = LazyLock::new(|| {
    let browser = BROWSERS
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())?;
    let mut pages: Vec<Value> = Vec::new();
    for sample in samples::all() {
        let page = rendered(WholeDocument::html(sample.run_info.clone()), &sample.events);
        pages.push(json!([sample.name, page, false]));
    }
    let (_, several) = series::forms().into_iter().last().expect("a page");
    pages.push(json!(["series", several, false]));
    pages.extend(
        documents::named()
            .into_iter()
            .map(|(name, document)| json!([name, page(&document), false])),
    );
    for base in [documents::tcp(), documents::udp(), documents::series()] {
        let partial = documents::without_one_name(&base);
        let numbers = pages.len()..;
        pages.extend(
            numbers
                .zip(partial)
                .map(|(number, document)| {
                    json!([format!("partial-{number}"), page(&document), true])
                })
                .collect::<Vec<_>>(),
        );
    }
    let calls = CALLS.map(|(call, _)| format!("String({call})"));
    let given = json!({"pages": pages, "expressions": calls})
        .to_string()
        .replace('<', "\\u003c");
    let read = |path: &str| std::fs::read_to_string(file(path)).expect("a script");
    let charts = read("crates/report/src/document/charts.js");
    let probe = read("crates/report/tests/documents/page_probe.js");
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("pages.html");
    let all = format!(
        "<!doctype html><meta charset=utf-8><link rel=icon href=data:,><body>\
        <script type=application/json id=given>{given}</script><script>{charts}</script><script>{probe}</script>"
    );
    std::fs::write(&place, all).expect("a written file");
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--v=0",
            "--lang=en",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .args([
            "--dump-dom".to_owned(),
            format!("file://{}", place.display()),
        ])
        .env("TZ", "Asia/Tokyo")
        .output()
        .expect("a browser");
    let errors = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = errors
        .lines()
        .filter(|line| line.contains(":CONSOLE"))
        .collect();
    let text = String::from_utf8(output.stdout).expect("text");
    let (_, body) = text.split_once("<body>").expect("a body");
    let (body, _) = body.split_once("</body>").expect("its end");
    let body = body
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", "\u{a0}")
        .replace("&amp;", "&");
    // A script that fails leaves the page as it was.
    let shown = serde_json::from_str(&body);
    Some(shown.unwrap_or_else(|_| panic!("{complaints:?}")))
});

/// What the browser made of one page, where there is a browser.
#[allow(clippy::print_stderr)]
pub(crate) fn seen() -> Option<&'static Value> {
    if SEEN.is_none() {
        eprintln!("not run, because chromium is not installed");
    }
    SEEN.as_ref()
}

/// The texts of a list.
pub(crate) fn words(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The entries of a list.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A chart by its title.
pub(crate) fn chart<'a>(page: &'a Value, title: &str) -> &'a Value {
    let found = list(&page["charts"])
        .iter()
        .find(|chart| chart["title"] == title);
    found.unwrap_or_else(|| panic!("no chart {title}: {:?}", titles(page)))
}

/// The titles of all charts.
pub(crate) fn titles(page: &Value) -> Vec<&str> {
    list(&page["charts"])
        .iter()
        .filter_map(|chart| chart["title"].as_str())
        .collect()
}

/// The label, the mood and the lines of each card.
pub(crate) fn cards(page: &Value) -> Vec<String> {
    let card = |card: &Value| {
        format!(
            "{}|{}|{}",
            card["label"].as_str().unwrap_or("?"),
            card["mood"].as_str().unwrap_or("?"),
            words(&card["lines"]).join("|")
        )
    };
    list(&page["cards"]).iter().map(card).collect()
}

/// Ticks, which are bare numbers.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    words(value)
        .into_iter()
        .map(|label| {
            label
                .parse()
                .unwrap_or_else(|_| panic!("{label} is no bare number"))
        })
        .collect()
}

/// Pages that are drawn in full.
pub(crate) fn whole_pages(seen: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let all = seen.as_object().into_iter().flatten();
    all.filter(|(_, page)| page["charts"].is_array())
}
