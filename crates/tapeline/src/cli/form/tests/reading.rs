//! Lines that are typed and pasted, and what is said of forms.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn means(line: &str, expected: &Form) {
    assert_eq!(read(line).as_ref(), Ok(expected), "{line}");
}

#[test]
fn lines_are_read_as_the_program_reads_them() {
    let plain = client("client=h udp bandwidth=10m time=5");
    for line in [
        "tapeline -c h -u -b 10m -t 5",
        "  $ tapeline -uc h -b10m --time=5 ",
        "/usr/bin/iperf -c h -u -b 10m -t5",
        "iperf-2.2.1 --client h --udp --band 10m --time 5",
        "./tapeline --as iperf -b=10m -u -c h -t 3 -t 5",
        "'tapeline' -c \"h\" -u -b 10\\m \\\n -t 5 # a test",
        "iperf.exe -c h word -u -b 10m -t 5",
    ] {
        means(line, &plain);
    }
    means(
        "tapeline -s -c 192.0.2.1 -p 7",
        &server("client=192.0.2.1 port=7"),
    );
    means("iperf -s -c 192.0.2.1", &server(""));
    means("iperf -c 192.0.2.1 -s", &client("client=192.0.2.1"));
    means("tapeline -c h -n 1M -t 5", &client("client=h time=5"));
    means("tapeline -c h -t 5 -n 1M", &client("client=h num=1M"));
    means(
        "tapeline -c h -x C -x D",
        &client("client=h reportexclude=CD"),
    );
    means(
        "tapeline -c h -4 --bounceback",
        &client("client=h 4 bounceback"),
    );
    let limits = server("limit=tests=1 limit=rate=1m");
    means("tapeline -s --limit tests=1 --limit rate=1m", &limits);
}

#[test]
fn iperfs_units_keep_their_meaning() {
    for (iperf, own) in [
        ("-b 50M", "bandwidth=52428800"),
        ("-b 50m", "bandwidth=50m"),
        ("-b 10K,1k", "bandwidth=10240,1k"),
        ("-u -b 1Kpps", "udp bandwidth=1024pps"),
        ("--fq-rate 1M", "fq-rate=8000000"),
        ("--isochronous=60:1M,0", "isochronous=60:8000000,0"),
        ("-l 128K -n 1M", "len=128K num=1M"),
        ("-f Mbits", "format=M"),
    ] {
        means(
            &format!("iperf -c h {iperf}"),
            &client(&format!("client=h {own}")),
        );
    }
}

#[test]
fn what_has_no_place_is_said_in_a_sentence() {
    for (line, said) in [
        ("", "there is no command"),
        ("$ ", "there is no command"),
        ("ping h", "begins with tapeline, iperf or iperf3"),
        ("A=1 tapeline -c h", "variable A"),
        ("tapeline", "neither -c HOST nor -s"),
        ("tapeline -u", "neither -c HOST nor -s"),
        ("tapeline rfc6349 h", "tests (-c HOST) and servers (-s)"),
        ("tapeline history", "tests (-c HOST) and servers (-s)"),
        ("tapeline try h", "tests (-c HOST) and servers (-s)"),
        (
            "tapeline --as netperf -c h",
            "none of tapeline, iperf, iperf3",
        ),
        ("tapeline -c h --paralel 3", "did you mean --parallel?"),
        ("tapeline -c h --tcp", "could be"),
        ("tapeline -c", "-c needs a value"),
        ("tapeline -c h --udp=1", "--udp takes no value"),
        (
            "tapeline -c h --json",
            "--json cannot be given here: results go to",
        ),
        (
            "tapeline -c h -F /etc/passwd",
            "-F cannot be given here: it names a file",
        ),
        ("iperf -s -D", "-D cannot be given here"),
        ("iperf -c h --awdl", "--awdl has no place"),
        ("tapeline -c h | cat", "'|' is the shell's"),
        ("tapeline -c h; ls", "';' is the shell's"),
        ("tapeline -c h &", "'&' is the shell's"),
        ("tapeline -c h > f", "'>' is the shell's"),
        ("tapeline -c h < f", "'<' is the shell's"),
        ("(tapeline -c h)", "'(' is the shell's"),
        ("tapeline -c $(hostname)", "'$' asks a shell"),
        ("tapeline -c \"$HOST\"", "'$' asks a shell"),
        ("tapeline -c ${HOST}", "'$' asks a shell"),
        ("tapeline -c $'h'", "'$' asks a shell"),
        ("tapeline -c `hostname`", "'`' asks a shell"),
        ("tapeline -c \"`hostname`\"", "'`' asks a shell"),
        ("tapeline -c 'h", "not closed: '"),
        ("tapeline -c \"h", "not closed: \""),
        ("tapeline -c h\\", "backslash at the end"),
        ("tapeline -c h\ntapeline -s", "more than one line"),
        ("tapeline -c 'h\nx'", "no control characters"),
        ("tapeline -c h\0", "no control characters"),
        ("tapeline -c 'h\u{1b}[0m'", "no control characters"),
    ] {
        let why = read(line).expect_err(line);
        assert!(why.contains(said), "{line}: {why}");
        assert!(!why.contains('\n') && why.len() < 200, "{line}: {why}");
    }
    let long = format!("tapeline -c {}", "h".repeat(100_000));
    assert!(read(&long).expect_err("too long").contains("at most"));
    means(
        "tapeline -c 'a|b$c`d'",
        &form(FormJob::Client, &[("client", Some("a|b$c`d"))]),
    );
    means(
        r#"tapeline -c "a\$b \x" "#,
        &form(FormJob::Client, &[("client", Some(r"a$b \x"))]),
    );
    means(
        "tapeline -c [::1]:5 -Z a$",
        &client("client=[::1]:5 tcp-congestion=a$"),
    );
}

#[track_caller]
fn faults(form: &Form) -> Vec<(Option<String>, String)> {
    let found = findings(form).faults.into_iter();
    found.map(|fault| (fault.option, fault.text)).collect()
}

#[test]
fn faults_stand_at_their_options_in_the_words_of_the_command_line() {
    for (words, option, text) in [
        ("", "client", "a client needs a host"),
        ("client=-oX", "client", "--client: no host: \"-oX\""),
        (
            "client=h time=abc",
            "time",
            "-t needs a number of seconds, not \"abc\"",
        ),
        ("client=h interval=99999", "interval", "-i: '99999' is more"),
        (
            "client=h parallel=0",
            "parallel",
            "-P needs a positive number, not \"0\"",
        ),
        (
            "client=h parallel=x",
            "parallel",
            "--parallel: no whole number: \"x\"",
        ),
        (
            "client=h udp bounceback",
            "bounceback",
            "--bounceback needs TCP",
        ),
        (
            "client=192.0.2.1 6",
            "6",
            "192.0.2.1 is an IPv4 address; leave out -6",
        ),
        (
            "client=h bounceback-hold=1",
            "bounceback-hold",
            "--bounceback-hold needs --bounceback",
        ),
        (
            "client=h allow=any",
            "allow",
            "--allow does not apply to a client",
        ),
        (
            "client=h output=f",
            "output",
            "--output cannot be ordered: it names a file",
        ),
        (
            "client=h flow=-Ff",
            "flow",
            "--flow: --file_input cannot be ordered: it names a file",
        ),
        (
            "client=h peer=iperf3 trip-times",
            "trip-times",
            "--trip-times cannot be used with --peer iperf3",
        ),
        (
            "client=h nothing",
            "nothing",
            "no option is called \"nothing\"",
        ),
        (
            "client=h server",
            "server",
            "--server: the job says who serves",
        ),
    ] {
        let found = faults(&client(words));
        let [(name, said)] = &found[..] else {
            panic!("{words}: {found:?}");
        };
        assert_eq!(name.as_deref(), Some(option), "{words}: {said}");
        assert!(said.starts_with(text), "{words}: {said}");
    }
    assert_eq!(faults(&client("time=x")).len(), 2);
    assert_eq!(faults(&client("client=h client=i")).len(), 1);
    let many: Vec<String> = (0..300).map(|_| "limit=tests=1".to_owned()).collect();
    assert_eq!(
        faults(&server(&many.join(" ")))[0].1,
        "more than 200 options"
    );
}

#[test]
fn a_form_that_can_start_may_have_notes() {
    let found = findings(&client("client=h interval=0.001"));
    assert_eq!(found.faults, []);
    let [note] = &found.notes[..] else {
        panic!("{found:?}");
    };
    assert_eq!(note.option.as_deref(), Some("interval"));
    assert!(
        note.text.starts_with("-i: 0.001 s is too short"),
        "{}",
        note.text
    );
    assert_eq!(findings(&server("")), Findings::default());
    assert_eq!(
        findings(&server("client=name.example")),
        Findings::default()
    );
}

proptest! {
    #[test]
    fn any_value_survives_a_line(values in prop::collection::vec("[^\\p{Cc}]{0,40}", 4)) {
        let names = ["client", "tcp-congestion", "flow", "histograms"];
        let options: Vec<(&str, Option<&str>)> = names
            .into_iter()
            .zip(values.iter().map(|value| Some(value.as_str())))
            .collect();
        let form = form(FormJob::Client, &options);
        let line = line(&form, CommandName::Tapeline).expect("a line");
        prop_assert_eq!(read(&line), Ok(form), "{}", line);
    }

    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,80}", head in "(|iperf3? |tapeline )") {
        if let Ok(form) = read(&format!("{head}{text}")) {
            let _ = findings(&form);
            for name in CommandName::ALL {
                let _ = line(&form, name);
            }
        }
    }

    #[test]
    fn any_options_are_read_without_panic(
        words in prop::collection::vec("(-[a-zA-Z1-9]{1,3}|--[a-z-]{2,8}=?)[0-9a-zA-Z:.%,/-]{0,6}", 0..6),
        head in "(iperf|iperf3|tapeline) -(s|c h) ",
    ) {
        if let Ok(form) = read(&format!("{head}{}", words.join(" "))) {
            let _ = findings(&form);
            for name in CommandName::ALL {
                let _ = line(&form, name);
            }
        }
    }
}
