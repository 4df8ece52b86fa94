//! What lines look like.

use super::*;

#[track_caller]
fn names(form: &Form) -> [Result<String, String>; 3] {
    CommandName::ALL.map(|name| line(form, name))
}

#[test]
fn jperfs_row_has_a_line_under_each_name() {
    let form = client("parallel=2 bandwidth=50M interval=0.25 client=192.0.2.1 time=5 udp");
    let [tapeline, iperf, iperf3] = names(&form);
    assert_eq!(
        tapeline.as_deref(),
        Ok("tapeline -c 192.0.2.1 -u -t 5 -b 50M -P 2 -i 0.25")
    );
    // 50M is 50 Mi there.
    assert_eq!(
        iperf.as_deref(),
        Ok("iperf -c 192.0.2.1 -u -t 5 -b 50m -P 2 -i 0.25")
    );
    assert_eq!(
        iperf3.as_deref(),
        Ok("iperf3 -c 192.0.2.1 -u -p 5001 -t 5 -b 50M -P 2 -i 0.25")
    );
}

#[test]
fn names_say_what_they_lack() {
    let why = |words: &str| names(&client(&format!("client=h {words}"))).map(Result::err);
    let none = None;
    let says = |text: &str| Some(text.to_owned());
    assert_eq!(
        why("trip-times"),
        [
            none.clone(),
            none.clone(),
            says("iperf3 has no --trip-times")
        ]
    );
    assert_eq!(
        why("brief"),
        [
            none.clone(),
            says("iperf has no --brief"),
            says("iperf3 has no --brief")
        ]
    );
    assert_eq!(
        why("no-latency-probes"),
        [
            none.clone(),
            says("iperf has no --no-latency-probes"),
            says("iperf3 has no --no-latency-probes")
        ]
    );
    assert_eq!(
        why("peer=iperf3"),
        [none.clone(), says("iperf has no --peer"), none.clone()]
    );
    assert_eq!(
        why("peer=iperf2"),
        [none.clone(), none.clone(), none.clone()]
    );
    assert_eq!(
        why("time=0.5"),
        [
            none.clone(),
            none.clone(),
            says("iperf3 has no --time of fractions: it counts whole seconds")
        ]
    );
    assert_eq!(
        why("parallel=200"),
        [
            none.clone(),
            none.clone(),
            says("iperf3 refuses it: invalid number of parallel streams (min = 1, max = 128)")
        ]
    );
    for words in [
        "bandwidth=10m,2m",
        "udp bandwidth=100pps",
        "len=<256|1",
        "port=1-2",
        "format=b",
    ] {
        let [own, iperf, iperf3] = names(&client(&format!("client=h {words}")));
        assert!(own.is_ok() && iperf.is_ok(), "{words}: {own:?} {iperf:?}");
        assert!(
            iperf3.expect_err(words).starts_with("iperf3 has no --"),
            "{words}"
        );
    }
    for (words, what) in [
        ("output=f", "names a file"),
        ("json", "go to who ordered"),
        ("nothing", "no option"),
        ("time", "needs a value"),
        ("udp=1", "no value"),
        ("server", "who serves"),
    ] {
        for name in names(&client(&format!("client=h {words}"))) {
            assert!(name.expect_err(words).contains(what), "{words}");
        }
    }
}

#[test]
fn the_same_test_is_written_with_each_names_units_and_defaults() {
    let [own, iperf, iperf3] = names(&client(
        "client=h:7 bandwidth=1.5G,0 fq-rate=2M dscp=ef interval=0 peer=iperf2",
    ));
    assert_eq!(
        own.as_deref(),
        Ok("tapeline -c h:7 -b 1.5G,0 -i 0 --dscp ef --fq-rate 2M --peer iperf2")
    );
    assert_eq!(
        iperf.as_deref(),
        Ok("iperf -c h -p 7 -b 1.5g,0 --dscp 46 --fq-rate 2m")
    );
    assert!(iperf3.is_err());
    let iperf3 = |words: &str| line(&client(words), CommandName::Iperf3);
    assert_eq!(
        iperf3("client=[2001:db8::1]:7 udp num=1m parallel=3 tos=cs1 connect-timeout=2.5")
            .as_deref(),
        Ok("iperf3 -c 2001:db8::1 -u -p 7 -n 3000000 -b 1M -P 3 --connect-timeout 2500 -S 32")
    );
    assert_eq!(
        iperf3("client=h peer=iperf3 bind=192.0.2.9:7 len=64K window=1m reverse zero-copy omit=2")
            .as_deref(),
        Ok("iperf3 -c h -B 192.0.2.9 --cport 7 -l 64K -R -w 1000000 -Z -O 2")
    );
    let server = names(&server("interval=2"));
    assert_eq!(
        server.map(Result::unwrap),
        ["tapeline -s -i 2", "iperf -s -i 2", "iperf3 -s -i 2"]
    );
}

#[test]
fn a_value_is_quoted_and_never_taken_for_an_option() {
    let own =
        |words: &[(&str, Option<&str>)]| line(&form(FormJob::Client, words), CommandName::Tapeline);
    assert_eq!(
        own(&[
            ("client", Some("-oProxy")),
            ("flow", Some("-u -b 1m")),
            ("tcp-congestion", Some("it's; rm"))
        ])
        .as_deref(),
        Ok(r"tapeline -c-oProxy '--flow=-u -b 1m' -Z 'it'\''s; rm'")
    );
    assert!(own(&[("tcp-congestion", Some("a\nb"))]).is_err());
    assert_eq!(own(&[("time", Some(""))]).as_deref(), Ok("tapeline -t ''"));
}
