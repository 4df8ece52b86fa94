//! What a client asks a server for, byte by byte as 3.22 does.

use std::io::{Read, Write};
use std::net::TcpListener;

use interop::{Invocation, Program, skip};
use libtest_mimic::{Failed, Trial};

/// Options of clients; each names a length, since the system chooses the other ones.
const LINES: [&str; 10] = [
    "-u -l 100",
    "-u -l 65507 -b 0",
    "-u -l 1460 -R -t 3",
    "-u -l 1000 --bidir -P 2 -O 1",
    "-u -l 500 --gsro",
    "-u -l 511 --gsro --udp-counters-64bit",
    "-u -l 16 --gsro -R",
    "-u -l 40000 --gsro -w 100K -S 8",
    "-l 1K -n 1M --gsro",
    "-l 128K -b 200K -R -P 3",
];
const COOKIE: usize = 37;
const PARAM_EXCHANGE: u8 = 9;
const ACCESS_DENIED: u8 = 0xff;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |line: &'static str| {
        let name = format!("parameters, {line}");
        Trial::test(name.clone(), move || compare(&name, line))
    };
    LINES.into_iter().map(trial).collect()
}

fn compare(test: &str, line: &str) -> Result<(), Failed> {
    let programs = [Program::Iperf3V22, Program::TapelineAsIperf3];
    if let Some(reason) = programs.into_iter().find_map(Program::missing) {
        skip(test, &reason);
        return Ok(());
    }
    let [theirs, ours] = programs.map(|program| asked(program, line));
    let (theirs, ours) = (theirs?, ours?);
    if theirs == ours {
        return Ok(());
    }
    Err(format!("{ours}\ninstead of\n{theirs}").into())
}

/// The parameters of a client, which is then rejected.
fn asked(program: Program, line: &str) -> Result<String, String> {
    let received = || -> std::io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port().to_string();
        let client = Invocation::new(program)
            .args(["-c", "127.0.0.1", "-p", &port])
            .line(line)
            .spawn()?;
        let (mut conn, _) = listener.accept()?;
        conn.read_exact(&mut [0; COOKIE])?;
        conn.write_all(&[PARAM_EXCHANGE])?;
        let mut length = [0; 4];
        conn.read_exact(&mut length)?;
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        conn.read_exact(&mut text)?;
        conn.write_all(&[ACCESS_DENIED])?;
        drop(conn);
        client.wait()?;
        String::from_utf8(text).map_err(std::io::Error::other)
    };
    received().map_err(|error| format!("{program}: {error}"))
}
