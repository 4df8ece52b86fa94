//! The modes of UDP.

use crate::check::Check::{
    Agrees, ClientDelays, ClientFails, ClientFrames, ClientShows, Datagrams, Flows, Rate,
    ReportDelays, SameNumbers, ServerDelays, ServerFrames, ServerFramesArrive, ServerHistogram,
    ServerShows, ServerShowsNoData, Takes,
};
use crate::mode::{Mode, udp};

pub(crate) static MODES: &[Mode] = &[
    udp(
        "trip-times",
        "-e -i 0.3",
        "-e --trip-times -t 0.6 -b 5m",
        &[
            Agrees,
            ServerDelays,
            ReportDelays,
            ClientShows("(trip-times)"),
            ServerShows("(trip-times)"),
        ],
    ),
    udp(
        "trip-times reverse",
        "-e",
        "-e -R --trip-times -t 0.6 -b 5m -i 0.3",
        &[Agrees, ClientDelays],
    ),
    udp(
        "trip-times full duplex",
        "-e",
        "-e --full-duplex --trip-times -t 0.6 -b 5m",
        &[Agrees, ClientDelays, ServerDelays],
    ),
    udp(
        "isochronous",
        "-e -i 0.5",
        "-e --isochronous=60:5m,1m -t 0.9 -i 0.3",
        &[
            Agrees,
            ClientFrames(45),
            ServerShows("(isoch)"),
            Rate(5e6, 40.0),
        ],
    ),
    udp(
        "isochronous trip-times",
        "-e",
        "-e --isochronous=60:5m,0 --trip-times -t 0.9",
        &[Agrees, ClientFrames(45), ServerFramesArrive, ServerDelays],
    ),
    udp(
        "isochronous reverse",
        "-e",
        "-e -R --isochronous=60:5m,0 -t 0.9",
        &[Agrees, ServerFrames(45)],
    ),
    udp(
        "isochronous histograms",
        "-e --histograms=100u,2000",
        "-e --isochronous=60:5m,0 --trip-times -t 0.9",
        &[Agrees, ServerHistogram("T8"), ServerHistogram("F8")],
    ),
    udp(
        "isochronous by packets",
        "-e",
        "-e --isochronous=5:20p -t 0.9",
        &[Agrees, Datagrams(100, 25)],
    ),
    udp(
        "bursts",
        "-e",
        "-e --burst-period 0.25 --burst-size 14700 -t 0.9 -l 1470",
        &[Agrees, Datagrams(40, 15)],
    ),
    udp(
        "gap",
        "-e",
        "-e --ipg 0.01 -t 0.6",
        &[Agrees, Datagrams(60, 15)],
    ),
    udp(
        "layer 2 checks",
        "-e",
        "-e --l2checks -t 0.4 -b 2m",
        &[Agrees, ServerShows("(l2mode)")],
    ),
    udp(
        "no end",
        "-e",
        "-e --no-udp-fin -t 0.4 -b 2m",
        &[Datagrams(70, 12)],
    ),
    udp(
        "small datagrams",
        "-e",
        "-e -l 64 -t 0.4 -b 1000pps",
        &[Agrees, Datagrams(400, 60)],
    ),
    udp(
        "histograms",
        "-e --histograms",
        "-e --trip-times -t 0.5 -b 5m",
        &[Agrees, ServerHistogram("T8")],
    ),
    udp(
        "histograms of other bins",
        "--histograms=10u,2000,10,90",
        "-t 0.5 -b 5m --trip-times",
        &[
            Agrees,
            ServerHistogram("T8"),
            ServerShows("(10.00/90.00/99.7%="),
        ],
    ),
    udp(
        "jitter histograms",
        "-e --jitter-histograms",
        "-e -t 0.5 -b 5m",
        &[Agrees, ServerHistogram("J8")],
    ),
    udp(
        "permit key refused",
        "",
        "--permit-key=sesame7 -t 0.3",
        &[ClientFails, ServerShowsNoData],
    ),
    udp(
        "same numbers",
        "-e",
        "-e --sync-transfer-id -t 0.4",
        &[Agrees, SameNumbers],
    ),
    udp(
        "start time",
        "-e",
        "-e --txstart-time SOON -t 0.4 -b 2m",
        &[Agrees, Takes(0.7), ClientShows("(epoch-start)")],
    ),
    udp(
        "delayed start",
        "",
        "--txdelay-time 0.4 -t 0.4 -b 2m",
        &[Agrees, Takes(0.75)],
    ),
    udp(
        "varying rate",
        "",
        "-b 10m,1m -t 0.9",
        &[Agrees, Rate(10e6, 30.0)],
    ),
    udp(
        "packets per second",
        "-e",
        "-e -b 500pps -t 0.6",
        &[Agrees, Datagrams(300, 40)],
    ),
    udp(
        "lengths by chance",
        "-e",
        "-e -b 1kpps -l <256|0.1,0.7,0.2<1024|0.2,0.5,0.3<1470|0.4,0.4,0.2 -t 0.5",
        &[Datagrams(500, 80)],
    ),
    udp("compatibility", "", "-C -t 0.4 -b 2m", &[Agrees]),
    udp(
        "type of service",
        "-e",
        "-e -S 0x20 -t 0.4 -b 2m",
        &[Agrees],
    ),
    udp(
        "source port",
        "",
        "-B 127.0.0.1:PORT -t 0.3 -b 2m",
        &[Agrees],
    ),
    udp(
        "source addresses",
        "",
        "-B 127.0.0.5 --incr-srcip -P 2 -t 0.3 -b 2m",
        &[
            Agrees,
            Flows(2),
            ServerShows("127.0.0.5 port"),
            ServerShows("127.0.0.6 port"),
        ],
    ),
    udp(
        "destination addresses",
        "",
        "--incr-dstip -P 2 -t 0.3 -b 2m",
        &[Agrees, Flows(2), ClientShows("with 127.0.0.2 port")],
    ),
    udp("one at a time", "-U", "-t 0.3 -b 2m", &[Agrees]),
    udp("local only", "", "--local-only -t 0.3 -b 2m", &[Agrees]),
];
