//! Meshes with known truth: their text, and what stands out in them.

use tapeline_stats::Random;

use super::*;

fn host(name: &str) -> MeshHost {
    MeshHost {
        name: name.to_owned(),
        address: None,
        groups: Vec::new(),
        version: None,
        system: None,
        state: HostState::Reached,
    }
}

fn measured(from: &str, to: &str, rate: f64, rtt: Option<f64>) -> Cell {
    let outcome = Outcome::Measured(Measured {
        rate: Some(rate),
        rtt,
        ..Measured::default()
    });
    Cell {
        from: from.to_owned(),
        to: to.to_owned(),
        attempts: 1,
        outcome,
        report: None,
    }
}

/// Tests between all pairs, at rates by the places of sender and receiver.
fn mesh(names: &[&str], rate: impl Fn(usize, usize) -> f64) -> MeshRun {
    let mut cells = Vec::new();
    for (from, sender) in names.iter().enumerate() {
        for (to, receiver) in names.iter().enumerate() {
            if from != to {
                cells.push(measured(sender, receiver, rate(from, to), None));
            }
        }
    }
    MeshRun {
        hosts: names.iter().map(|name| host(name)).collect(),
        cells,
        ..MeshRun::default()
    }
}

fn cell<'a>(run: &'a mut MeshRun, from: &str, to: &str) -> &'a mut Cell {
    let mut cells = run.cells.iter_mut();
    let cell = cells.find(|cell| cell.from == from && cell.to == to);
    cell.expect("a cell")
}

const SIX: [&str; 6] = ["fra1", "fra2", "ams1", "lon1", "mad1", "osl1"];

#[test]
fn a_slow_receiver_and_a_refused_test() {
    let base = [9412.0, 9411.0, 9398.0, 9405.0, 9410.0, 9377.0];
    let mut run = mesh(&SIX, |from, to| {
        let rate = if to == 4 { 4120.0 } else { base[to] };
        (rate - 2.0 * from as f64) * 1e6
    });
    let text = "refused the test: it runs at most 1 test of an address at a time".to_owned();
    cell(&mut run, "ams1", "lon1").outcome = Outcome::Refused { text };
    run.journal = Some("mesh-20261122-1410.ndjson".to_owned());
    assert_eq!(
        text::render(&MeshDocument::new(run)),
        "\
Mbit/s, row to column
        fra1   fra2   ams1     lon1   mad1   osl1
  fra1     ·   9411   9398     9405   4120!  9377
  fra2  9410      ·   9396     9403   4118!  9375
  ams1  9408   9407      ·   refused  4116!  9373
  lon1  9406   9405   9392        ·   4114!  9371
  mad1  9404   9403   9390     9397      ·   9369
  osl1  9402   9401   9388     9395   4110!     ·

mad1 receives 56 % less than the others from everybody: look at mad1, not at the paths (sends as others do)
ams1 → lon1: refused the test: it runs at most 1 test of an address at a time
29 of 30 tests measured; `tapeline mesh --resume mesh-20261122-1410.ndjson` tries the rest
"
    );
}

#[test]
fn equal_hosts() {
    let run = mesh(&["a", "b", "c", "d"], |_, _| 94.1e6);
    assert_eq!(
        text::render(&MeshDocument::new(run)),
        "\
Mbit/s, row to column
        a      b      c      d
  a     ·   94.1   94.1   94.1
  b  94.1      ·   94.1   94.1
  c  94.1   94.1      ·   94.1
  d  94.1   94.1   94.1      ·

No host and no path stands out.
12 of 12 tests measured
"
    );
}

#[test]
fn a_host_that_is_not_reached() {
    let mut run = mesh(&SIX, |_, to| (9000.0 + to as f64) * 1e6);
    for cell in &mut run.cells {
        if [&cell.from, &cell.to].contains(&&"lon1".to_owned()) {
            let text = "lon1 is not reached".to_owned();
            (cell.attempts, cell.outcome) = (0, Outcome::Unreachable { text });
        }
    }
    let text = "ssh: connect to host lon1.example port 22: Connection timed out".to_owned();
    run.hosts[3].state = HostState::Unreachable { text };
    run.journal = Some("mesh.ndjson".to_owned());
    assert_eq!(
        text::render(&MeshDocument::new(run)),
        "\
Mbit/s, row to column
              fra1         fra2         ams1         lon1         mad1         osl1
  fra1           ·         9001         9002   unreachable        9004         9005
  fra2        9000            ·         9002   unreachable        9004         9005
  ams1        9000         9001            ·   unreachable        9004         9005
  lon1  unreachable  unreachable  unreachable           ·   unreachable  unreachable
  mad1        9000         9001         9002   unreachable           ·         9005
  osl1        9000         9001         9002   unreachable        9004            ·

No host and no path stands out.
lon1: unreachable: ssh: connect to host lon1.example port 22: Connection timed out
20 of 30 tests measured; `tapeline mesh --resume mesh.ndjson` tries the rest
"
    );
}

#[test]
fn two_hosts() {
    let mut run = mesh(
        &["left", "right"],
        |from, _| if from == 0 { 9.4e9 } else { 1e6 },
    );
    for (cell, rtt) in run.cells.iter_mut().zip([0.000_21, 0.000_23]) {
        if let Outcome::Measured(measured) = &mut cell.outcome {
            measured.rtt = Some(rtt);
        }
    }
    assert_eq!(
        text::render(&MeshDocument::new(run)),
        "\
Mbit/s, row to column
         left   right
  left      ·    9400
  right  1.00       ·

Round trip ms, row to column
          left   right
  left       ·   0.210
  right  0.230       ·

Slow hosts and paths: unknown, this takes tests between at least 4 hosts
2 of 2 tests measured
"
    );
}

fn numbered(count: usize) -> Vec<String> {
    (1..=count)
        .map(|number| format!("host{number:02}"))
        .collect()
}

#[test]
fn many_hosts_have_a_line_each() {
    let names = numbered(64);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut run = mesh(&names, |from, to| {
        let slow = if from == 9 { 0.5 } else { 1.0 };
        (940.0 - (from * 7 + to * 3) as f64 % 5.0) * 1e6 * slow
    });
    cell(&mut run, "host03", "host04").outcome = Outcome::Stopped;
    let text = text::render(&MeshDocument::new(run));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2 + 64 + 1 + 3);
    assert!(lines[..66].iter().all(|line| line.chars().count() <= 100));
    let parts = [&lines[..3], &lines[11..12], &lines[66..]].concat();
    assert_eq!(
        parts,
        [
            "Mbit/s, medians of each host's tests",
            "          sends   receives   worst to    worst from  no result",
            "  host01    938        938   host04 936  host10 468",
            "  host10    469!       938   host03 468  host02 936",
            "",
            "host10 sends 50 % less than the others to everybody: look at host10, not at the paths \
             (receives as others do)",
            "host03 → host04: stopped before its end",
            "4031 of 4032 tests measured",
        ]
    );
}

#[test]
fn twelve_hosts_and_long_names_fit_a_terminal() {
    let names: Vec<String> = (1..=12).map(|number| format!("ams{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = text::render(&MeshDocument::new(mesh(&names, |_, _| 9.4e9)));
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[1].starts_with("        ams01  ams02  ams03"),
        "{text}"
    );
    assert!(lines[1].chars().count() <= 100, "{text}");
    let names: Vec<String> = (1..=8)
        .map(|number| format!("measurement-{number}.example.net"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut run = mesh(&names, |_, _| 9.4e9);
    cell(&mut run, names[0], names[1]).outcome = Outcome::Failed {
        text: "broke\u{1b}[2J".to_owned(),
    };
    let text = text::render(&MeshDocument::new(run));
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    assert_eq!(
        text.lines().take(4).collect::<Vec<_>>().join("\n") + "\n",
        "\
Mbit/s, row to column
                                 1      2     3     4     5     6     7     8
  1 measurement-1.example.net    ·  failed 9400  9400  9400  9400  9400  9400
  2 measurement-2.example.net 9400      ·  9400  9400  9400  9400  9400  9400
"
    );
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn tests_that_fail_alike_are_said_together() {
    let names = numbered(10);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut run = mesh(&names, |_, _| 1e9);
    for cell in &mut run.cells {
        let text = "cannot connect".to_owned();
        match (cell.from.as_str(), cell.to.as_str()) {
            ("host02", _) => cell.outcome = Outcome::Unreachable { text },
            ("host01", "host03") | (_, "host04") => cell.outcome = Outcome::Stopped,
            _ => {}
        }
    }
    let text = text::render(&MeshDocument::new(run));
    let wanted = [
        "\n  host02      U       ·       U ",
        "\n  U unreachable, X stopped\n\n",
        "\nhost01 → host03: stopped before its end\n",
        "\n8 hosts → host04: stopped before its end\n",
        "\nhost02 → 9 hosts: cannot connect\n72 of 90 tests measured\n",
    ];
    for wanted in wanted {
        assert!(text.contains(wanted), "{wanted}{text}");
    }
}

/// What is planted in a random mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Planted {
    Nothing,
    Sender,
    Receiver,
    Host,
    Path,
}

/// A mesh with 2 % noise in which one thing is slower, and what is to be found.
fn planted(seed: u64, planted: Planted, quantity: MatrixQuantity) -> (MeshRun, Vec<Subject>) {
    let mut random = Random::seeded(seed);
    let mut below = |count: usize| (random.fraction() * count as f64) as usize;
    let names = numbered(5 + below(6));
    let one = below(names.len());
    let other = (one + 1 + below(names.len() - 1)) % names.len();
    let share = 0.2 + 0.6 * random.fraction();
    let mut run = mesh(
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
        |_, _| 0.0,
    );
    for cell in &mut run.cells {
        let (sends, receives) = (cell.from == names[one], cell.to == names[one]);
        let is_slow = match planted {
            Planted::Nothing => false,
            Planted::Sender => sends,
            Planted::Receiver => receives,
            Planted::Host => sends || receives,
            Planted::Path => sends && cell.to == names[other],
        };
        let speed = (1.0 + 0.02 * random.normal()) * if is_slow { share } else { 1.0 };
        let (rate, rtt) = match quantity {
            MatrixQuantity::Rate => (Some(9.4e9 * speed), None),
            MatrixQuantity::RoundTrip => (None, Some(0.02 / speed)),
        };
        cell.outcome = Outcome::Measured(Measured {
            rate,
            rtt,
            ..Measured::default()
        });
    }
    let host = names[one].clone();
    let wanted = match planted {
        Planted::Nothing => None,
        Planted::Sender => Some(Subject::Sender { host }),
        Planted::Receiver => Some(Subject::Receiver { host }),
        Planted::Host => Some(Subject::Host { host }),
        Planted::Path => Some(Subject::Path {
            from: host,
            to: names[other].clone(),
        }),
    };
    (run, wanted.into_iter().collect())
}

#[test]
fn what_is_planted_is_named_and_nothing_else() {
    for (quantity, seeds) in [
        (MatrixQuantity::Rate, 1000),
        (MatrixQuantity::RoundTrip, 100),
    ] {
        for kind in [
            Planted::Nothing,
            Planted::Sender,
            Planted::Receiver,
            Planted::Host,
            Planted::Path,
        ] {
            let is_right = |seed: &u64| {
                let (run, wanted) = planted(*seed, kind, quantity);
                let found = MeshDocument::new(run).findings;
                let found: Vec<Subject> = found.into_iter().map(|one| one.subject).collect();
                found == wanted
            };
            let right = (0..seeds).filter(is_right).count();
            assert!(
                100 * right as u64 >= 99 * seeds,
                "{quantity:?} {kind:?}: {right} of {seeds}"
            );
        }
    }
}

/// On short paths twice as long is what a processor takes to wake a process.
#[test]
fn round_trips_that_are_longer_by_less_than_a_millisecond_are_as_those_of_others() {
    for (kind, base, is_named) in [
        (Planted::Path, 0.000_1, false),
        (Planted::Host, 0.000_1, false),
        (Planted::Path, 0.1, true),
        (Planted::Host, 0.1, true),
    ] {
        for seed in 0..20 {
            let (mut run, _) = planted(seed, kind, MatrixQuantity::RoundTrip);
            for cell in &mut run.cells {
                if let Outcome::Measured(measured) = &mut cell.outcome {
                    measured.rtt = measured.rtt.map(|rtt| rtt / 0.02 * base);
                }
            }
            let found = MeshDocument::new(run).findings;
            assert_eq!(
                !found.is_empty(),
                is_named,
                "{kind:?} {base} {seed}: {found:?}"
            );
        }
    }
}

#[test]
fn missing_tests_do_not_change_what_is_named() {
    for kind in [
        Planted::Nothing,
        Planted::Sender,
        Planted::Receiver,
        Planted::Host,
        Planted::Path,
    ] {
        let of_seed = |seed| (seed, planted(seed, kind, MatrixQuantity::Rate));
        // Of a host with less than three tests, only its paths are judged.
        let large = (0..)
            .map(of_seed)
            .filter(|(_, (run, _))| run.hosts.len() >= 8);
        let is_right = |(seed, (mut run, wanted)): (u64, (MeshRun, Vec<Subject>))| {
            let mut random = Random::seeded(seed);
            for cell in &mut run.cells {
                let (from, to) = (cell.from.clone(), cell.to.clone());
                let is_wanted = wanted.contains(&Subject::Path { from, to });
                if random.fraction() < 0.1 && !is_wanted {
                    cell.outcome = Outcome::Stopped;
                }
            }
            let found = MeshDocument::new(run).findings;
            let found: Vec<Subject> = found.into_iter().map(|one| one.subject).collect();
            found == wanted
        };
        let right = large.take(200).map(is_right).filter(|right| *right).count();
        assert!(right >= 198, "{kind:?}: {right} of 200");
    }
}

#[test]
fn sentences_say_where_to_look() {
    let names = ["a", "b", "c", "d", "e"];
    let said = |slow: &dyn Fn(usize, usize) -> bool| {
        let run = mesh(&names, |from, to| if slow(from, to) { 5e8 } else { 1e9 });
        let found = MeshDocument::new(run).findings;
        found
            .into_iter()
            .map(|one| one.text)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(
        said(&|from, _| from == 1),
        "b sends 50 % less than the others to everybody: look at b, not at the paths (receives as others do)"
    );
    assert_eq!(
        said(&|from, to| from == 1 || to == 1),
        "b sends 50 % less and receives 50 % less than the others: look at b, not at the paths"
    );
    assert_eq!(
        said(&|from, to| (from, to) == (0, 3)),
        "a → d: 50 % less than both hosts' other tests suggest: look at the path"
    );
    assert_eq!(
        said(&|from, to| from + to == 3 && from * to == 0),
        "a ↔ d: 50 % less than both hosts' other tests suggest: look at the path"
    );
    // A ring does not say whether a host or a path is slow.
    let mut ring = mesh(&SIX, |from, _| if from == 2 { 1e8 } else { 1e9 });
    ring.cells.retain(|cell| {
        let place = |name: &str| SIX.iter().position(|one| *one == name).expect("a host");
        (place(&cell.from) + 1) % 6 == place(&cell.to)
    });
    let found = MeshDocument::new(ring).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].text,
        "ams1 → lon1: 90 % less than the other tests suggest: look at the path and both hosts"
    );
}

#[test]
fn a_row_of_values_for_each_cell() {
    let mut run = mesh(&SIX, |_, to| if to == 4 { 4e9 } else { 9e9 });
    let text = "no, \"never\"".to_owned();
    cell(&mut run, "fra1", "fra2").outcome = Outcome::Refused { text };
    let rows = csv::render(&MeshDocument::new(run));
    let lines: Vec<&str> = rows.lines().collect();
    assert_eq!(lines.len(), 31);
    assert_eq!(
        lines[1],
        "fra1,fra2,1,refused,,,,,,,,,\"no, \"\"never\"\"\""
    );
    assert_eq!(lines[2], "fra1,ams1,1,measured,9000000000,,,,,,false,,");
    assert_eq!(lines[4], "fra1,mad1,1,measured,4000000000,,,,,,true,,");
}

#[test]
fn the_page_holds_the_document() {
    let mut run = mesh(&["<a>", "b"], |_, _| 1e9);
    run.command = "tapeline mesh </script>".to_owned();
    let page = html::render(&MeshDocument::new(run));
    let (_, rest) = page.split_once("id=\"report\">").expect("the document");
    let (kept, _) = rest.split_once("</script>").expect("its end");
    let kept: serde_json::Value = serde_json::from_str(kept).expect("a document");
    assert_eq!(kept["schema"], MESH_SCHEMA);
    assert_eq!(kept["cells"][0]["from"], "<a>");
    assert_eq!(kept["hosts"][1]["state"], "reached");
    assert!(page.contains("const matrix =") && !page.contains("@OWN_"));
    let ways = [
        "http:", "https:", "src=", "@import", "url(", "fetch(", "import(",
    ];
    let page = page.replace("http://www.w3.org/2000/svg", "");
    assert!(ways.iter().all(|way| !page.contains(way)));
}
