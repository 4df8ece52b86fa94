//! Requests of strangers: all are refused, and no process starts for them.

use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use interop::{Request, Vitals, descendants};
use serde_json::json;

use super::page;

/// A request that is right, to be made wrong.
fn good(method: &str, target: &str) -> Request {
    Request::new(method, target)
        .header("Content-Type", "application/json")
        .header("X-Tapeline", "1")
}

#[test]
fn hostile_requests_are_refused_and_start_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "--targets 127.0.0.0/8");
    let pid = page.process().id();
    let (host, cookie) = (page.at().to_string(), page.cookie().to_owned());
    let origin = format!("http://{host}");
    let order =
        |options: serde_json::Value| json!({ "job": "client", "options": options }).to_string();
    let harmless = order(json!([["client", "127.0.0.1"], ["time", "1"]]));
    let with = |request: Request| {
        request
            .header("Host", &host)
            .header("Origin", &origin)
            .header("Cookie", &cookie)
    };

    let mut refused = 0;
    let mut check = |what: &str, request: Request, statuses: &[u16]| {
        let answer = request.send(page.at()).expect("an answer");
        assert!(
            statuses.contains(&answer.status),
            "{what}: {} {}",
            answer.status,
            answer.text()
        );
        refused += 1;
    };
    for foreign in [
        "evil.example",
        "evil.example:8470",
        "127.0.0.1",
        "127.0.0.1:1",
        "192.0.2.1",
        "localhost.evil.example",
        "",
    ] {
        let get = good("GET", "/api/tests")
            .header("Host", foreign)
            .header("Cookie", &cookie);
        check(&format!("host {foreign}"), get, &[400, 421]);
        let post = good("POST", "/api/tests")
            .header("Host", foreign)
            .header("Origin", &format!("http://{foreign}"))
            .header("Cookie", &cookie)
            .body(harmless.clone());
        check(&format!("post to {foreign}"), post, &[400, 421]);
    }
    for foreign in [
        "http://evil.example",
        "null",
        "http://localhost",
        "https://127.0.0.1:1",
        "file://",
    ] {
        let post = good("POST", "/api/tests")
            .header("Host", &host)
            .header("Origin", foreign)
            .header("Cookie", &cookie)
            .body(harmless.clone());
        check(&format!("origin {foreign}"), post, &[403]);
    }
    let no_origin = good("POST", "/api/tests")
        .header("Host", &host)
        .header("Cookie", &cookie);
    check("no origin", no_origin.body(harmless.clone()), &[403]);
    let form = with(Request::new("POST", "/api/tests").header("Content-Type", "text/plain"));
    check("a form", form.body(harmless.clone()), &[403]);
    for target in [
        "/api/tests",
        "/api/session",
        "/api/events",
        "/api/history",
        "/api/history/r1/json",
        "/api/form",
    ] {
        check(
            &format!("no key {target}"),
            good("GET", target).header("Host", &host),
            &[401],
        );
    }
    let guessed = good("GET", "/api/tests").header("Host", &host);
    check(
        "a guessed cookie",
        guessed.header("Cookie", &format!("{}x", &cookie[..cookie.len() - 1])),
        &[401],
    );
    let keyless = good("POST", "/api/tests")
        .header("Host", &host)
        .header("Origin", &origin);
    check("no key to start", keyless.body(harmless.clone()), &[401]);
    for path in [
        "/../Cargo.toml",
        "/..%2f..%2fetc%2fpasswd",
        "/api/tests/../../etc/passwd",
        "/assets/x",
        "//etc/passwd",
        "/api/history/..%2f..%2fetc%2fpasswd/json",
    ] {
        check(path, with(good("GET", path)), &[404, 422, 500]);
    }
    for options in [
        json!([["client", "127.0.0.1"], ["config", "/etc/passwd"]]),
        json!([["client", "127.0.0.1"], ["output", "/tmp/x"]]),
        json!([["client", "127.0.0.1"], ["file_input", "/etc/passwd"]]),
        json!([["client", "127.0.0.1"], ["user", "root"]]),
        json!([["client", "127.0.0.1"], ["metrics", "0.0.0.0:1"]]),
        json!([["client", "127.0.0.1\n--output=x"]]),
        json!([["client", "-oProxyCommand=x"]]),
        json!([["client", "127.0.0.1"], ["time", "1; touch /tmp/x"]]),
        json!([["client", "$(id)"]]),
        json!([]),
        json!([["client", "192.0.2.1"]]),
        json!([["client", "example.org"]]),
        json!([["client", "127.0.0.1"], ["incr-dstip"]]),
    ] {
        let post = with(good("POST", "/api/tests")).body(order(options.clone()));
        check(&options.to_string(), post, &[403, 422]);
    }
    let host = |name: &str, lines: &str| format!("[hosts.{name}]\n{lines}\n");
    let (local, other) = (
        "ssh = \"127.0.0.1\"\naddress = \"127.0.0.1\"",
        "address = \"127.0.0.2\"",
    );
    for hosts in [
        host("a", local)
            + &host(
                "b",
                &format!("ssh = \"127.0.0.2\"\n{other}\nvia = \"touch /tmp/x\""),
            ),
        host("a", local) + &host("b", other),
        host("a", local) + &host("b", "ssh = \"127.0.0.2\""),
        host("a", local)
            + &host(
                "b",
                "ssh = \"127.0.0.1@192.0.2.1\"\naddress = \"127.0.0.2\"",
            ),
        host("a", local) + &host("b", "ssh = \"127.0.0.2\"\naddress = \"192.0.2.1\""),
        host("a", local) + &host("b", "ssh = \"-oProxyCommand=x\""),
        host("a", local),
        "x".repeat(1000),
    ] {
        for path in ["/api/mesh", "/api/mesh/plan"] {
            let body = json!({ "hosts": hosts }).to_string();
            check(&hosts, with(good("POST", path)).body(body), &[403, 422]);
        }
    }
    let mesh = json!({ "hosts": host("a", local) }).to_string();
    let keyless_mesh = good("POST", "/api/mesh").header("Host", &page.at().to_string());
    let keyless_mesh = keyless_mesh.header("Origin", &origin).body(mesh);
    check("no key for a mesh", keyless_mesh, &[401]);
    check(
        "a mesh as a test",
        with(good("POST", "/api/tests")).body(json!({ "job": "mesh" }).to_string()),
        &[422],
    );
    let long = with(good("POST", "/api/plan")).body(vec![b'x'; 2 << 20]);
    check("a long body", long, &[413, 0]);
    let head = with(good("GET", "/api/tests")).header("X-Long", &"x".repeat(20_000));
    check("a long head", head, &[431, 400, 0]);
    let broken = with(good("POST", "/api/tests")).body("{");
    check("no JSON", broken, &[400]);
    let wrong: Vec<u16> = (0..20)
        .map(|_| page.post("/api/login", &json!({ "key": "wrong" })).status)
        .collect();
    assert!(wrong.contains(&403) && wrong.contains(&429), "{wrong:?}");
    assert!(refused >= 40, "{refused}");

    assert_eq!(page.get("/api/tests").json(), json!({ "tests": [] }));
    assert_eq!(
        descendants(pid),
        Vec::<u32>::new(),
        "{}",
        page.process().stderr()
    );

    // A thousand that say nothing: those without a place are closed, the others in time.
    let before = Vitals::read(pid).expect("it runs").memory;
    let silent: Vec<TcpStream> = (0..1000)
        .filter_map(|_| TcpStream::connect(page.at()).ok())
        .collect();
    for mut connection in silent {
        let _ = connection.set_read_timeout(Some(Duration::from_secs(20)));
        let mut nothing = Vec::new();
        let _ = connection.read_to_end(&mut nothing);
    }
    let after = Vitals::read(pid).expect("it runs").memory;
    assert!(after < before + (8 << 20), "{before} bytes, then {after}");
    assert_eq!(page.get("/api/session").status, 200);
}

#[test]
fn a_page_that_only_shows_starts_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "--read-only");
    assert_eq!(page.get("/api/session").json()["read_only"], true);
    let options = json!([["client", "127.0.0.1"]]);
    for (target, body) in [
        ("/api/tests", json!({ "job": "client", "options": options })),
        ("/api/tests/1/stop", json!({})),
        ("/api/mesh", json!({ "hosts": "[hosts.a]\n[hosts.b]\n" })),
        ("/api/history/note", json!({ "runs": "r1", "text": "x" })),
        (
            "/api/history/tag",
            json!({ "runs": "r1", "key": "k", "value": "v" }),
        ),
        ("/api/history/delete", json!({ "runs": "r1" })),
        ("/api/history/import", json!({})),
    ] {
        let answer = page.post(target, &body);
        assert_eq!(answer.status, 403, "{target}: {}", answer.text());
        assert!(answer.text().contains("--read-only"), "{target}");
    }
    assert_eq!(page.get("/api/history").json()["total"], 0);
    assert!(!folder.path().join("history.db").exists());
}
