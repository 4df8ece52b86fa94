//! The modes of iperf3.

use crate::check::Check::{
    Both, Bytes, ClientHas, ClientIsDone, ClientSays, ClientShows, ClientStamps, ClientWrote, Rate,
    ServerSays, ServerShows, Warns, WholeFile,
};
use crate::mode::{Form, Mode, mode};

/// What limits and shapes a test, in both directions.
pub(crate) static TRAFFIC: &[Mode] = &[
    mode("tcp time", "-t 1 -i 0.5 -b 20M")
        .own("-t 1 -i 0.5 -b 20M")
        .checks(&[Rate(20e6)]),
    mode("tcp reverse", "-t 1 -i 0.5 -b 20M -R")
        .own("-t 1 -i 0.5 -b 20M -R")
        .checks(&[Rate(20e6), Both("start.test_start.reverse", 1.0)]),
    mode("tcp bidir", "-t 1 -b 20M --bidir")
        .own("-t 1 -b 20M --full-duplex")
        .checks(&[Rate(20e6)]),
    mode("tcp parallel", "-t 1 -b 5M -P 4")
        .own("-t 1 -b 5M -P 4")
        .checks(&[Rate(5e6)]),
    mode("tcp parallel reverse", "-t 1 -b 5M -P 4 -R")
        .own("-t 1 -b 5M -P 4 -R")
        .checks(&[Rate(5e6)]),
    mode("tcp parallel bidir", "-t 1 -b 5M -P 2 --bidir")
        .own("-t 1 -b 5M -P 2 --full-duplex")
        .checks(&[Rate(5e6)]),
    mode("tcp omit", "-O 1 -t 1 -b 20M -l 16K")
        .own("-O 1 -t 1 -b 20M -l 16K")
        .checks(&[Rate(20e6)]),
    mode("tcp omit reverse", "-O 1 -t 1 -b 20M -l 16K -R")
        .own("-O 1 -t 1 -b 20M -l 16K -R")
        .checks(&[Rate(20e6)]),
    mode("tcp omit bidir", "-O 1 -t 1 -b 20M -l 16K --bidir").checks(&[Rate(20e6)]),
    mode("tcp bytes", "-n 2M")
        .own("-n 2M")
        .checks(&[Bytes(2097152.0)]),
    mode("tcp bytes at a rate", "-n 1M -b 40M").checks(&[Bytes(1048576.0)]),
    mode("tcp bytes reverse", "-n 2M -R")
        .own("-n 2M -R")
        .checks(&[Bytes(2097152.0)]),
    mode("tcp bytes parallel", "-n 4M -P 4").checks(&[Bytes(4194304.0)]),
    mode("tcp blocks", "-k 20 -l 50K").checks(&[Bytes(1024000.0)]),
    mode("tcp blocks reverse", "-k 20 -l 50K -R").checks(&[Bytes(1024000.0)]),
    mode("tcp bursts", "-t 1 -b 20M/5 -l 10K").checks(&[Rate(20e6)]),
    mode("tcp without intervals", "-t 1 -i 0 -b 20M").checks(&[Rate(20e6)]),
    mode("tcp short intervals", "-t 1 -i 0.1 -b 20M -l 8K").checks(&[Rate(20e6)]),
    mode("udp time", "-u -t 1 -i 0.5 -b 2M -l 1400")
        .own("-u -t 1 -i 0.5 -b 2M -l 1400")
        .checks(&[Rate(2e6)]),
    mode("udp default length", "-u -t 1 -b 4M")
        .own("-u -t 1 -b 4M")
        .checks(&[Rate(4e6)]),
    mode("udp reverse", "-u -t 1 -i 0.5 -b 2M -l 1400 -R")
        .own("-u -t 1 -i 0.5 -b 2M -l 1400 -R")
        .checks(&[Rate(2e6)]),
    mode("udp bidir", "-u -t 1 -b 2M -l 1400 --bidir")
        .own("-u -t 1 -b 2M -l 1400 --full-duplex")
        .checks(&[Rate(2e6)]),
    mode("udp parallel", "-u -t 1 -b 1M -l 1000 -P 4")
        .own("-u -t 1 -b 1M -l 1000 -P 4")
        .checks(&[Rate(1e6)]),
    mode("udp parallel reverse", "-u -t 1 -b 1M -l 1000 -P 4 -R").checks(&[Rate(1e6)]),
    mode("udp parallel bidir", "-u -t 1 -b 1M -l 1000 -P 2 --bidir").checks(&[Rate(1e6)]),
    mode("udp omit", "-u -O 1 -t 1 -b 2M -l 1400")
        .own("-u -O 1 -t 1 -b 2M -l 1400")
        .checks(&[Rate(2e6)]),
    mode("udp omit reverse", "-u -O 1 -t 1 -b 2M -l 1400 -R").checks(&[Rate(2e6)]),
    mode("udp omit bidir", "-u -O 1 -t 1 -b 2M -l 1400 --bidir").checks(&[Rate(2e6)]),
    mode("udp bytes", "-u -n 200K -b 2M -l 1400")
        .own("-u -n 200K -b 2M -l 1400")
        .checks(&[Bytes(204800.0)]),
    mode("udp bytes reverse", "-u -n 200K -b 2M -l 1400 -R").checks(&[Bytes(204800.0)]),
    mode("udp blocks", "-u -k 100 -b 1M -l 1000").checks(&[Bytes(100000.0)]),
    mode("udp bursts", "-u -t 1 -b 2M/10 -l 1000").checks(&[Rate(2e6)]),
    mode("udp without a rate", "-u -t 1 -l 1000").checks(&[Rate(1048576.0)]),
    mode("udp without intervals", "-u -t 1 -i 0 -b 2M -l 1400").checks(&[Rate(2e6)]),
];

/// Options of sockets and datagrams.
pub(crate) static SOCKETS: &[Mode] = &[
    mode("tcp length", "-n 500K -l 1000")
        .own("-n 500K -l 1000")
        .checks(&[Bytes(512000.0), Both("start.test_start.blksize", 1000.0)]),
    mode("tcp window", "-n 1M -w 128K")
        .own("-n 1M -w 128K")
        .checks(&[Both("start.sock_bufsize", 131072.0)]),
    mode("tcp segments", "-n 500K -M 1000").checks(&[Both("start.tcp_mss", 1000.0)]),
    mode("tcp no delay", "-n 500K -N").own("-n 500K -N"),
    mode("tcp congestion", "-n 1M -C reno").checks(&[
        ClientSays("end.sender_tcp_congestion", "reno"),
        ClientSays("end.receiver_tcp_congestion", "reno"),
        ServerSays("end.receiver_tcp_congestion", "reno"),
    ]),
    mode("tcp congestion reverse", "-n 1M -C reno -R").checks(&[
        ClientSays("end.sender_tcp_congestion", "reno"),
        ServerSays("end.sender_tcp_congestion", "reno"),
    ]),
    mode("tcp tos", "-n 500K -S 0x20")
        .own("-n 500K -S 0x20")
        .checks(&[Both("start.test_start.tos", 32.0)]),
    mode("tcp dscp", "-n 500K --dscp ef").checks(&[Both("start.test_start.tos", 184.0)]),
    mode("tcp flow label", "-6 -n 500K -L 17"),
    mode("tcp zerocopy", "-n 2M -Z").checks(&[Bytes(2097152.0)]),
    mode("tcp zerocopy reverse", "-t 1 -b 20M -Z -R").checks(&[Rate(20e6)]),
    mode("tcp skipped copies", "-n 2M --skip-rx-copy"),
    mode(
        "tcp skipped copies reverse",
        "-t 1 -b 20M --skip-rx-copy -R",
    ),
    mode("tcp file", "-F FILE -l 1K")
        .served("-F OUT")
        .checks(&[WholeFile]),
    mode("tcp file written", "-t 1 -b 5M -R -F OUT").checks(&[ClientWrote]),
    mode("tcp v4", "-4 -n 500K").own("-4 -n 500K"),
    mode("tcp v6", "-6 -n 500K").own("-V -n 500K"),
    mode("tcp v4 server", "-n 500K").served("-4"),
    mode("tcp v6 server", "-6 -n 500K").served("-6"),
    mode("tcp bound", "-B 127.0.0.1 -n 500K")
        .served("-B 127.0.0.1")
        .own("-B 127.0.0.1 -n 500K"),
    mode(
        "tcp bound to a device by address",
        "-B 127.0.0.1%lo -n 500K",
    ),
    mode("tcp bound to a device", "--bind-dev lo -n 500K").served("--bind-dev lo"),
    mode("tcp client port", "--cport PORT -n 500K -P 2"),
    mode("tcp repeating payload", "-n 500K --repeating-payload"),
    mode("tcp many paths", "-m -n 1M"),
    mode("tcp many paths at both ends", "-m -n 1M").served("-m"),
    mode("tcp fair queueing", "-t 1 -b 20M --fq-rate 40M")
        .checks(&[Rate(20e6), Both("start.test_start.fqrate", 40e6)]),
    mode("tcp pacing timer", "-t 1 -b 20M -l 10K --pacing-timer 500").checks(&[Rate(20e6)]),
    mode("tcp no socket pacing", "-n 500K --no-fq-socket-pacing"),
    // As many a second as a peer's small buffer holds while its processor is away.
    mode("udp length", "-u -t 1 -b 400K -l 100")
        .own("-u -t 1 -b 400K -l 100")
        .checks(&[Rate(4e5), Both("start.test_start.blksize", 100.0)]),
    mode("udp smallest", "-u -t 1 -b 40K -l 16").checks(&[Rate(4e4)]),
    mode("udp largest", "-u -t 1 -b 4M -l 65507").checks(&[Rate(4e6), Warns]),
    mode("udp window", "-u -t 1 -b 2M -l 1000 -w 256K").checks(&[Rate(2e6)]),
    mode("udp tos", "-u -t 1 -b 2M -l 1000 -S 0x20").own("-u -t 1 -b 2M -l 1000 -S 0x20"),
    mode(
        "udp wide counters",
        "-u -t 1 -b 2M -l 1000 --udp-counters-64bit",
    )
    .checks(&[Rate(2e6)]),
    mode(
        "udp wide counters reverse",
        "-u -t 1 -b 2M -l 1000 --udp-counters-64bit -R",
    )
    .checks(&[Rate(2e6)]),
    mode(
        "udp wide counters bidir",
        "-u -t 1 -b 2M -l 1000 --udp-counters-64bit --bidir",
    )
    .checks(&[Rate(2e6)]),
    mode(
        "udp repeating payload",
        "-u -t 1 -b 2M -l 1000 --repeating-payload",
    )
    .checks(&[Rate(2e6)]),
    mode("udp unfragmented", "-u -t 1 -b 2M -l 1000 --dont-fragment").checks(&[Rate(2e6)]),
    mode("udp segments", "-u -t 1 -b 2M -l 1000 --gsro").checks(&[Rate(2e6)]),
    mode("udp segments reverse", "-u -t 1 -b 2M -l 1000 --gsro -R").checks(&[Rate(2e6)]),
    mode("udp zerocopy", "-u -t 1 -b 2M -l 1000 -Z").checks(&[Rate(2e6)]),
    mode("udp v6", "-u -6 -t 1 -b 2M -l 1000").own("-u -V -t 1 -b 2M -l 1000"),
    mode("udp bound", "-u -B 127.0.0.1 -t 1 -b 2M -l 1000").served("-B 127.0.0.1"),
    mode(
        "udp bound to a device",
        "-u --bind-dev lo -t 1 -b 2M -l 1000",
    )
    .served("--bind-dev lo"),
    mode("udp client port", "-u --cport PORT -t 1 -b 1M -l 1000 -P 2"),
    mode("udp fair queueing", "-u -t 1 -b 2M -l 1000 --fq-rate 40M").checks(&[Rate(2e6)]),
];

/// Options of the programs and of what they say.
pub(crate) static PROGRAMS: &[Mode] = &[
    mode("tcp title", "-n 500K -T lab --extra-data site=7").checks(&[
        ClientSays("title", "lab"),
        ServerSays("title", "lab"),
        ClientSays("extra_data", "site=7"),
        ServerSays("extra_data", "site=7"),
    ]),
    mode("tcp server's document", "-n 500K --get-server-output").checks(&[
        ClientHas("server_output_json.start.test_start"),
        ClientHas("server_output_json.end.sum_received.bytes"),
    ]),
    mode("tcp server's text", "-n 500K --get-server-output")
        .server_form(Form::Text)
        .checks(&[ClientHas("server_output_text")]),
    mode(
        "udp server's document",
        "-u -t 1 -b 2M -l 1000 --get-server-output",
    )
    .checks(&[ClientHas("server_output_json.end.sum.packets")]),
    mode("tcp events", "-t 1 -i 0.5 -b 20M")
        .own("-t 1 -i 0.5 -b 20M")
        .client_form(Form::Events)
        .server_form(Form::Events)
        .checks(&[Rate(20e6)]),
    mode("udp events", "-u -t 1 -i 0.5 -b 2M --bidir -l 1000")
        .client_form(Form::Events)
        .server_form(Form::Events)
        .checks(&[Rate(2e6)]),
    mode("tcp text", "-t 1 -b 20M")
        .client_form(Form::Text)
        .checks(&[ClientIsDone]),
    mode("udp text", "-u -t 1 -b 2M -l 1000 -P 2")
        .client_form(Form::Text)
        .checks(&[ClientIsDone]),
    mode("tcp format", "-n 500K -f K")
        .client_form(Form::Text)
        .checks(&[ClientIsDone, ClientShows(" KBytes/sec")]),
    mode("tcp verbose", "-t 1 -b 20M -V")
        .served("-V")
        .client_form(Form::Text)
        .checks(&[
            ClientIsDone,
            ClientShows("Test Complete. Summary Results:"),
            ClientShows("CPU Utilization: local/sender"),
            ClientShows("Starting Test: protocol: TCP, 1 streams, 131072 byte blocks"),
            Warns,
        ]),
    mode("udp verbose reverse", "-u -t 1 -b 2M -l 1000 -R -V")
        .client_form(Form::Text)
        .checks(&[
            ClientIsDone,
            ClientShows("Starting Test: protocol: UDP, 1 streams"),
        ]),
    mode("tcp debug", "-n 500K -d")
        .served("-d")
        .client_form(Form::Text)
        .server_form(Form::Text)
        .checks(&[ClientIsDone, ServerShows("receiver")]),
    mode("tcp timestamps", "-n 500K --timestamps=%s")
        .client_form(Form::Text)
        .checks(&[ClientIsDone, ClientStamps]),
    mode("tcp log", "-n 500K --logfile OUT").checks(&[Bytes(512000.0)]),
    mode("tcp server's log", "-n 500K").served("--logfile OUT"),
    mode("tcp flushed text", "-t 1 -i 0.5 -b 20M --forceflush")
        .served("--forceflush")
        .client_form(Form::Text)
        .checks(&[ClientIsDone]),
    mode("tcp process id", "-n 500K -I OUT"),
    mode("tcp processors", "-n 500K -A 0,0"),
    mode("tcp server's processor", "-n 500K").served("-A 0"),
    mode("tcp time to connect", "-n 500K --connect-timeout 5000"),
    mode("tcp time to send", "-n 500K --snd-timeout 5000").served("--snd-timeout 5000"),
    mode("tcp time to receive", "-t 1 -b 20M -R --rcv-timeout 5000").served("--rcv-timeout 5000"),
    mode("tcp keepalive", "-n 500K --cntl-ka=20/5/3").served("--cntl-ka"),
    mode("tcp limits of the server", "-t 1 -b 10M")
        .served("--server-bitrate-limit 50M --server-max-duration 10 --idle-timeout 20"),
];
