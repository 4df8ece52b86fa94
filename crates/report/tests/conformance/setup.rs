//! Banners and connections read back from recorded lines.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tapeline_base::{BitRate, FormatLetter, Tos, Transport, WallTime};
use tapeline_report::{
    BufferSize, Build, ClientBanner, CongestionControl, Connected, ConnectionFlavour, Event,
    FairQueue, InitialTcp, PermitKeyLife, RequestPlan, SegmentSize, ServerBanner, TargetGap,
    TosNote, TrafficShape,
};
use tapeline_stats::HistogramShape;
use tapeline_testkit::iperf2_text::{self, LineKind, Remark, Setting};

use crate::solve::solutions;
use crate::values::{bits, float, integer, key, tag};

/// The event behind the lines of a banner.
pub(crate) fn banner(lines: &[&str], build: Build) -> Event {
    let client = lines[0].starts_with("Client");
    let mut server_banner = empty_server();
    let mut client_banner = empty_client();
    for line in lines {
        let Some((LineKind::Setting(setting), fields)) = iperf2_text::parse(line, build) else {
            panic!("'{line}' is no setting");
        };
        if client {
            client_line(setting, line, &fields, &mut client_banner);
        } else {
            server_line(setting, line, &fields, &mut server_banner);
        }
    }
    if client {
        Event::Connecting(client_banner)
    } else {
        Event::Listening(server_banner)
    }
}

fn server_line(setting: Setting, line: &str, fields: &[&str], banner: &mut ServerBanner) {
    match setting {
        Setting::Listening | Setting::ListeningWithPid | Setting::ListeningRange => {
            banner.transport = transport(fields[0]);
            banner.ipv6 = fields[0].contains("v6");
            let port = |text: &str| integer(text) as u16;
            let last = if setting == Setting::ListeningRange {
                fields[2]
            } else {
                fields[1]
            };
            banner.ports = (port(fields[1]), port(last));
            banner.pid = fields.last().map_or(0, |pid| integer(pid) as u32);
        }
        Setting::Binding => {
            banner.bound = Some(address(fields[0]));
            banner.device = fields.get(1).map(|device| (*device).to_owned());
        }
        Setting::Joining => {
            banner.group = Some(address(fields[0]));
            banner.device = fields.get(1).map(|device| (*device).to_owned());
        }
        Setting::ReadBuffer | Setting::ReadBufferUdp => {
            banner.read_length = size(fields[0]);
            banner.skip_receive_copy = line.contains("skip-rx-copy");
        }
        Setting::Congestion => banner.congestion = Some(congestion(fields[0], None)),
        Setting::CongestionRequested => {
            banner.congestion = Some(congestion(fields[1], Some(fields[0])));
        }
        Setting::ReflectedTos => banner.reflected_tos = Some(tos(fields[0])),
        Setting::ServerTos => banner.tos = Some(tos(fields[0])),
        Setting::SegmentSize | Setting::SegmentSizeRequested => {
            banner.segment_size = Some(segment_size(setting, fields));
        }
        Setting::SingleClient => banner.single_client = true,
        Setting::SingleUdp => banner.single_udp = true,
        Setting::SingleMulticast => {}
        Setting::WorkingLoad => banner.working_load = Some(integer(fields[0]) as u16),
        Setting::JoiningSource => {
            banner.group_source = Some(address(fields[0]));
            banner.group = Some(address(fields[1]));
            banner.device = fields.get(2).map(|device| (*device).to_owned());
        }
        Setting::ReceiveHistograms => banner.histograms = Some(shape(fields)),
        Setting::JitterHistograms => {
            banner.jitter_histograms = Some(Duration::from_micros(integer(fields[0])));
        }
        Setting::FrameIntervals => banner.by_frame = true,
        Setting::PermitKey => {
            banner.permit_key = Some(PermitKeyLife {
                key: fields[0].to_owned(),
                generated: true,
                lifetime: Some(Duration::from_secs_f64(float(fields[1]))),
            });
        }
        Setting::Buffer | Setting::BufferDiffers => banner.buffer = buffer(line, fields),
        _ => panic!("'{line}' is no line of a server"),
    }
}

fn client_line(setting: Setting, line: &str, fields: &[&str], banner: &mut ClientBanner) {
    match setting {
        Setting::Connecting | Setting::ConnectingWithPid | Setting::ConnectingVia => {
            banner.host = fields[0].to_owned();
            banner.transport = transport(fields[1]);
            banner.port = integer(fields[2]) as u16;
            banner.pid = fields.get(3).map_or(0, |pid| integer(pid) as u32);
            let via = setting == Setting::ConnectingVia;
            banner.device = via.then(|| fields[4].to_owned());
            if let Some([flows, load]) = fields.get(3..).and_then(|more| more.last_chunk()) {
                banner.flows = integer(flows) as usize;
                banner.load_flows = integer(load) as usize;
            }
        }
        Setting::WriteBuffer => {
            banner.write_length = size(fields[0]);
            banner.write_times = line.contains("write timer");
            if let Some(burst) = fields.get(1) {
                banner.shape = TrafficShape::Bursts {
                    size: size(burst),
                    period: Duration::ZERO,
                };
            }
        }
        Setting::SendBursts => {
            let size = match banner.shape {
                TrafficShape::Bursts { size, .. } => size,
                _ => size(fields[0]),
            };
            banner.shape = TrafficShape::Bursts {
                size,
                period: Duration::from_secs_f64(float(fields[1])),
            };
        }
        Setting::Isochronous => {
            banner.shape = TrafficShape::Isochronous {
                frames_per_second: float(fields[0]),
                mean: bits(fields[1]),
                deviation: bits(fields[2]),
                gap: Duration::from_secs_f64(float(fields[4]) / 1e3),
            };
        }
        Setting::FairQueue => {
            let rate = |text: &str| BitRate(bits(text) as u64);
            banner.fair_queue = Some(FairQueue {
                rate: rate(fields[0]),
                step: fields.get(1).map(|step| rate(step)),
            });
        }
        Setting::NearCongestion => banner.shape = TrafficShape::NearCongestion(float(fields[0])),
        Setting::ConnectOnly => banner.connect_only = true,
        Setting::Prefetch => banner.write_prefetch = Some(integer(fields[0]) as u32),
        Setting::SendSideBloat => banner.trip_times = true,
        Setting::WriteHistograms | Setting::RoundTripHistograms => {
            banner.histograms = Some(shape(fields));
        }
        Setting::RequestResponse => {
            banner.request_response = Some(RequestPlan {
                request: size(fields[0]) as u32,
                response: size(fields[1]) as u32,
                hold_micros: integer(fields[2]) as u32,
                quickack: line.contains("quickack"),
                burst: None,
            });
        }
        Setting::Bursts => {
            let period = Duration::from_secs_f64(float(fields[1]));
            let plan = banner.request_response.as_mut().expect("sizes come first");
            plan.burst = Some((integer(fields[0]) as u32, period));
        }
        Setting::Congestion => banner.congestion = Some(congestion(fields[0], None)),
        Setting::CongestionRequested => {
            banner.congestion = Some(congestion(fields[1], Some(fields[0])));
        }
        Setting::ClientTos => {
            banner.tos_by_user = fields[0] == "set";
            banner.tos = tos(fields[1]);
            banner.nodelay = line.contains("nodelay");
        }
        Setting::SegmentSize | Setting::SegmentSizeRequested => {
            banner.segment_size = Some(segment_size(setting, fields));
        }
        Setting::Datagrams => {
            banner.write_length = integer(fields[0]);
            banner.gap = TargetGap::Every(Duration::from_secs_f64(float(fields[1]) / 1e6));
        }
        Setting::Buffer | Setting::BufferDiffers => banner.buffer = buffer(line, fields),
        _ => panic!("'{line}' is no line of a client"),
    }
}

/// What a connection line says.
pub(crate) fn connected(fields: &[&str], remarks: &[Remark]) -> Connected {
    let (local, peer) = (socket(fields[1], fields[3]), socket(fields[4], fields[5]));
    let mut connected = Connected {
        device: (!fields[2].is_empty()).then(|| fields[2].to_owned()),
        permit_key: key(fields[0]).map(str::to_owned),
        ..Connected::new(tag(fields[0]), Transport::Tcp, local, peer)
    };
    let remarks = remarks.iter().filter(|remark| **remark != Remark::Device);
    for (remark, text) in remarks.zip(&fields[6..]) {
        let inside = text.trim_matches(['(', ')']);
        apply(*remark, inside, &mut connected);
    }
    // Nothing but the date of basic output tells that no data follow.
    if connected.connect_time.is_some() && connected.device.is_none() {
        connected.flavour = ConnectionFlavour::ConnectOnly;
    }
    connected
}

fn apply(remark: Remark, inside: &str, connected: &mut Connected) {
    let numbers = || {
        let (_, values) = inside.split_once('=').expect("values");
        values
            .split('/')
            .map(integer)
            .map(|value| value as u32)
            .collect::<Vec<_>>()
    };
    match remark {
        Remark::Device => {}
        Remark::Reverse => connected.flavour = ConnectionFlavour::Reverse,
        Remark::FullDuplex => connected.flavour = ConnectionFlavour::FullDuplex,
        Remark::RequestResponse => {
            let numbers = numbers();
            connected.flavour = ConnectionFlavour::RequestResponse {
                request: numbers[0],
                response: numbers[1],
                hold_micros: numbers[2],
                quickack: inside.contains("quickack"),
            };
        }
        Remark::NoUdpFin => connected.no_udp_fin = true,
        Remark::TripTimes => connected.trip_times = true,
        Remark::TosTransmit => connected.tos = Some(TosNote::Transmit(hex(inside, 0))),
        Remark::TosReceive => connected.tos = Some(TosNote::Receive(hex(inside, 0))),
        Remark::TosBoth => {
            connected.tos = Some(TosNote::Both {
                receive: hex(inside, 0),
                transmit: hex(inside, 1),
            });
        }
        Remark::Peer => connected.peer_version = Some(inside["peer ".len()..].to_owned()),
        Remark::Initial => {
            let numbers = numbers();
            connected.initial = Some(InitialTcp {
                cwnd_kib: numbers[0],
                mss: numbers[1],
                rtt_micros: numbers[2],
            });
        }
        Remark::ConnectTime => {
            let millis = inside.trim_start_matches("ct=").trim_end_matches(" ms");
            connected.connect_time = Some(Duration::from_secs_f64(float(millis) / 1e3));
        }
        Remark::Congestion => {
            connected.congestion = Some(inside.to_owned());
            connected.congestion_by_user = true;
        }
        Remark::Date => connected.at = Some(date(inside)),
        Remark::Clamp => connected.window_clamp = Some(numbers()[0]),
        Remark::Prefetch => connected.write_prefetch = Some(numbers()[0]),
        Remark::Isochronous => connected.isochronous = true,
        Remark::Burst => {
            let seconds = inside
                .trim_start_matches("burst-period=")
                .trim_end_matches('s');
            connected.burst_period = Some(Duration::from_secs_f64(float(seconds)));
        }
        Remark::FairQueue => connected.fair_queue = true,
        Remark::EpochStart => connected.epoch_start = true,
        Remark::LinkLayer => connected.link_checks = true,
        Remark::L4s => connected.l4s = true,
        Remark::Quickack => connected.quickack = true,
    }
}

/// `on 2026-11-20 23:05:56.108 (UTC`.
pub(crate) fn date(text: &str) -> WallTime {
    let text = text.trim_start_matches("on ");
    let (date, _) = text.split_once(" (").expect("a zone");
    let civil: jiff::civil::DateTime = date.parse().expect("a date");
    let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).expect("a time");
    WallTime::from_nanos(i64::try_from(zoned.timestamp().as_nanosecond()).expect("in range"))
}

/// Bins as a banner names them; the shares are the default.
fn shape(fields: &[&str]) -> HistogramShape {
    HistogramShape {
        width_ns: (float(fields[0]) * 1e6).round() as u64,
        bins: integer(fields[1]) as u32,
        ..HistogramShape::DELAY
    }
}

fn hex(text: &str, index: usize) -> Tos {
    let digits = text
        .split("0x")
        .nth(index + 1)
        .expect("a hexadecimal number");
    tos(digits.split(',').next().unwrap_or_default())
}

fn tos(digits: &str) -> Tos {
    Tos(u8::from_str_radix(digits, 16).expect("a type of service"))
}

fn transport(name: &str) -> Transport {
    if name.starts_with("TCP") {
        Transport::Tcp
    } else {
        Transport::Udp
    }
}

fn congestion(name: &str, requested: Option<&str>) -> CongestionControl {
    CongestionControl {
        name: name.to_owned(),
        requested: requested.map(str::to_owned),
    }
}

fn segment_size(setting: Setting, fields: &[&str]) -> SegmentSize {
    let bytes = integer(fields[0]) as u32;
    if setting == Setting::SegmentSize {
        SegmentSize::Measured(bytes)
    } else {
        SegmentSize::Requested(bytes)
    }
}

fn buffer(line: &str, fields: &[&str]) -> BufferSize {
    let actual = size(fields[0]);
    BufferSize {
        actual,
        requested: match fields.get(1) {
            Some(requested) => Some(size(requested)),
            None if line.ends_with("(default)") => None,
            None => Some(actual),
        },
    }
}

/// A size that prints like this.
fn size(text: &str) -> u64 {
    let transfer = text.to_owned() + "s";
    let format = if text.ends_with(" Byte") && !text.contains('.') {
        FormatLetter::PLAIN_BYTES
    } else {
        FormatLetter::BITS
    };
    let rate = if format == FormatLetter::BITS {
        "0.000 bits/sec"
    } else {
        "0.000 Bytes/sec"
    };
    solutions(
        (0.0, 0.0),
        (&transfer, rate),
        (format, Build::Plain),
        (0.0, 0.0),
    )
    .first()
    .unwrap_or_else(|| panic!("no size prints as '{text}'"))
    .bytes
}

/// Hidden addresses keep a byte that can be anything in the hidden places.
fn address(text: &str) -> IpAddr {
    text.replace('*', "10").parse().expect("an address")
}

fn socket(text: &str, port: &str) -> SocketAddr {
    SocketAddr::new(address(text), integer(port) as u16)
}

pub(crate) fn empty_server() -> ServerBanner {
    ServerBanner::new(Transport::Tcp, 5001)
}

pub(crate) fn empty_client() -> ClientBanner {
    ClientBanner::new("", 5001, Transport::Tcp)
}
