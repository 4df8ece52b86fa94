use proptest::prelude::*;

use super::*;
use crate::native::{LoadDone, PathMtuDone};
use crate::native::{LoadParameters, OrderDirection, OrderEnd, RowChange};
use std::time::Duration;

fn number_of(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).expect("a number above 0")
}

fn bytes_of(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

#[test]
fn hello_has_the_bytes_of_the_specification() {
    let hello = Message::Hello(Hello {
        test: number_of(0x0102_0304),
        token: number_of(0x0a0b_0c0d),
        lowest: 1,
        highest: 1,
    });
    let expected = [1, 0, 0, 12, 1, 2, 3, 4, 0xa, 0xb, 0xc, 0xd, 1, 1, 0, 0];
    assert_eq!(bytes_of(&hello), expected);
}

#[test]
fn a_clock_reply_has_the_bytes_of_the_specification() {
    let reply = Message::ClockReply(ClockReply {
        number: 7,
        request_sent: 1,
        request_received: 2,
        reply_sent: 0x0102_0304_0506_0708,
    });
    let mut expected = vec![5, 0, 0, 28, 0, 0, 0, 7];
    expected.extend([0, 0, 0, 0, 0, 0, 0, 1]);
    expected.extend([0, 0, 0, 0, 0, 0, 0, 2]);
    expected.extend([1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(bytes_of(&reply), expected);
}

#[test]
fn progress_has_the_bytes_of_the_specification() {
    let progress = Message::Progress(Progress {
        elapsed: 1,
        bytes: 2,
        datagrams: 3,
        flows: 4,
        processor: 5,
    });
    let mut expected = vec![6, 0, 0, 36];
    expected.extend([0, 0, 0, 0, 0, 0, 0, 1]);
    expected.extend([0, 0, 0, 0, 0, 0, 0, 2]);
    expected.extend([0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4]);
    expected.extend([0, 0, 0, 0, 0, 0, 0, 5]);
    assert_eq!(bytes_of(&progress), expected);
}

#[test]
fn kinds_from_64_up_are_skipped_and_others_are_errors() {
    assert_eq!(Message::parse(&[72, 0, 0, 2, 9, 9]), Ok(None));
    assert_eq!(Message::parse(&[12, 0, 0, 0]), Err(DecodeError::Kind(12)));
    assert_eq!(Message::parse(&[0, 0, 0, 0]), Err(DecodeError::Kind(0)));
}

#[test]
fn lengths_are_refused_before_the_body_is_there() {
    let too_long = DecodeError::Length {
        kind: 8,
        length: 0x00ff_ffff,
    };
    assert_eq!(
        Message::announced_length(&[8, 0xff, 0xff, 0xff]),
        Err(too_long)
    );
    assert!(Message::announced_length(&[1, 0, 0, 11]).is_err());
    assert_eq!(Message::announced_length(&[8, 0, 0]), Ok(None));
    assert_eq!(
        Message::announced_length(&[8, 0x10, 0, 0]),
        Ok(Some(MAX_BODY + 4))
    );
}

#[test]
fn a_peer_cannot_move_the_cursor() {
    let bytes = bytes_of(&Message::Error("a\x1b[2Jb\nc".to_owned()));
    let shown = Message::Error("a [2Jb c".to_owned());
    assert_eq!(Message::parse(&bytes), Ok(Some(shown)));
}

#[test]
fn long_sentences_are_cut_between_letters() {
    let bytes = bytes_of(&Message::Stop("ä".repeat(600)));
    let shown = Message::Stop("ä".repeat(MAX_SENTENCE / 2));
    assert_eq!(Message::parse(&bytes), Ok(Some(shown)));
}

fn any_message() -> impl Strategy<Value = Message> {
    let program = || {
        ("[a-z]{0,9}", "[0-9.]{0,9}", "[a-zA-Z0-9 ]{0,20}").prop_map(
            |(program, version, system)| Program {
                program,
                version,
                system,
            },
        )
    };
    let hello = (1..=u32::MAX, 1..=u32::MAX, any::<u8>(), any::<u8>()).prop_map(
        |(test, token, lowest, highest)| Hello {
            test: number_of(test),
            token: number_of(token),
            lowest,
            highest,
        },
    );
    let reply = (any::<u32>(), any::<[u64; 3]>()).prop_map(|(number, times)| ClockReply {
        number,
        request_sent: times[0],
        request_received: times[1],
        reply_sent: times[2],
    });
    let progress = (any::<[u64; 4]>(), any::<u32>()).prop_map(|(counts, flows)| Progress {
        elapsed: counts[0],
        bytes: counts[1],
        datagrams: counts[2],
        flows,
        processor: counts[3],
    });
    prop_oneof![
        hello.prop_map(Message::Hello),
        (any::<u8>(), program(), any::<u64>()).prop_map(|(version, server, key)| {
            Message::Welcome {
                version,
                server,
                probe_key: NonZeroU64::new(key),
                methods: (key % 2 == 0).then(|| Methods([("mtu".to_owned(), 1)].into())),
            }
        }),
        any::<[u64; 3]>().prop_map(|limits| Message::Granted(Granted::read(limits))),
        "[a-z ]{0,40}".prop_map(Message::Refused),
        (any::<u32>(), any::<u64>())
            .prop_map(|(number, sent)| Message::ClockRequest { number, sent }),
        reply.prop_map(Message::ClockReply),
        progress.prop_map(Message::Progress),
        Just(Message::Finished),
        "\\{\"[a-z]{0,9}\":[0-9]\\}".prop_map(Message::Results),
        "[a-z ]{0,40}".prop_map(Message::Stop),
        "[a-z ]{0,40}".prop_map(Message::Error),
        Just(Message::Goodbye),
        (program(), any::<Option<u32>>())
            .prop_map(|(client, cpu)| Message::About(About { client, cpu })),
        any_method_message(),
    ]
}

fn any_method_message() -> impl Strategy<Value = Message> {
    let time = || (0..86_400_u64, 0..1_000_000_000_u32).prop_map(|(s, ns)| Duration::new(s, ns));
    let order = ("[a-z-]{0,20}", any::<bool>(), time(), any::<[u32; 8]>()).prop_map(
        |(method, down, seconds, numbers)| Order {
            method,
            direction: if down {
                OrderDirection::Down
            } else {
                OrderDirection::Up
            },
            seconds,
            parameters: LoadParameters {
                bits_per_second: NonZeroU64::new(numbers[0].into()),
                length: (numbers[1] % 2 == 0).then_some(numbers[1]),
                largest: (numbers[2] % 2 == 0).then_some(numbers[2]),
                test: NonZeroU32::new(numbers[3]),
                feedback_ms: Some(numbers[4]),
                one_way: (numbers[5] % 2 == 0).then_some(true),
                unsent_ms: (numbers[6] % 2 == 0).then_some(numbers[6]),
                ..LoadParameters::default()
            },
        },
    );
    let ready =
        (any::<u16>(), any::<[u64; 3]>(), time()).prop_map(|(port, numbers, seconds)| Ready {
            udp_port: port.try_into().ok(),
            key: NonZeroU64::new(numbers[0]),
            seconds,
            bytes: NonZeroU64::new(numbers[1]),
            bits_per_second: NonZeroU64::new(numbers[2]),
            interface_mtu_bytes: Some(port.into()),
            mss_bytes: None,
            tcp_receive_buffer_bytes: Some(numbers[1]),
            tcp_send_buffer_bytes: None,
            unsent_ms: (numbers[2] % 2 == 0).then_some(numbers[2] as u32),
        });
    let done =
        (any::<[u64; 4]>(), vec_of_rows(), "[a-z ]{0,40}").prop_map(|(numbers, rows, words)| {
            Done {
                end: OrderEnd::NoFeedback,
                why: Some(words.clone()),
                elapsed_ns: numbers[0],
                datagrams_sent: numbers[1],
                bytes_sent: numbers[2],
                socket_drops: Some(numbers[3]),
                path_mtu: Some(PathMtuDone {
                    icmp: words,
                    ..PathMtuDone::default()
                }),
                load: Some(LoadDone {
                    rows,
                    ..LoadDone::default()
                }),
                ..Done::default()
            }
        });
    let status = any::<[u64; 10]>().prop_map(|words| {
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_be_bytes).collect();
        Message::Status(Status::parse(&bytes).expect("ten words"))
    });
    let sample = (any::<u64>(), any::<u32>(), any::<[Option<u64>; 5]>()).prop_map(
        |(elapsed, token, values)| {
            Message::Sample(Sample {
                elapsed,
                token: NonZeroU32::new(token),
                round_trip_us: values[0],
                cwnd_bytes: values[1],
                bytes_sent: values[2],
                bytes_retransmitted: values[3],
                bytes_acked: values[4],
            })
        },
    );
    prop_oneof![
        order.prop_map(|order| Message::Order(Box::new(order))),
        ready.prop_map(Message::Ready),
        "[a-z ]{0,40}".prop_map(Message::Declined),
        status,
        sample,
        done.prop_map(|done| Message::Done(Box::new(done))),
    ]
}

fn vec_of_rows() -> impl Strategy<Value = Vec<RowChange>> {
    let row = any::<(u32, u32)>().prop_map(|(at, row)| RowChange(at, row));
    prop::collection::vec(row, 0..9)
}

#[test]
fn messages_of_methods_have_the_bytes_of_the_specification() {
    let order = Message::Order(Box::new(Order {
        method: "mtu".to_owned(),
        direction: OrderDirection::Down,
        seconds: Duration::from_millis(7500),
        parameters: LoadParameters {
            largest: Some(1500),
            ..LoadParameters::default()
        },
    }));
    let body =
        br#"{"method":"mtu","direction":"down","seconds":7.5,"parameters":{"largest":1500}}"#;
    assert_eq!(
        bytes_of(&order),
        [&[66, 0, 0, body.len() as u8], &body[..]].concat()
    );
    let test = NonZeroU32::new(7).expect("a number");
    let samples = Order::samples(test, Duration::from_secs(1));
    let samples = Message::Order(Box::new(samples.with_unsent(Duration::from_millis(5))));
    let body = br#"{"method":"samples","direction":"down","seconds":1.0,"parameters":{"test":7,"unsent_ms":5}}"#;
    assert_eq!(
        bytes_of(&samples),
        [&[66, 0, 0, body.len() as u8], &body[..]].concat()
    );
    let ready = Message::Ready(Ready {
        udp_port: 5001.try_into().ok(),
        key: NonZeroU64::new(7),
        seconds: Duration::from_secs(20),
        bits_per_second: NonZeroU64::new(100_000_000),
        ..Ready::default()
    });
    let body = br#"{"udp_port":5001,"key":7,"seconds":20.0,"bits_per_second":100000000}"#;
    assert_eq!(
        bytes_of(&ready),
        [&[67, 0, 0, body.len() as u8], &body[..]].concat()
    );
    let declined = Message::Declined("no".to_owned());
    assert_eq!(bytes_of(&declined), [68, 0, 0, 2, b'n', b'o']);
    let status = bytes_of(&Message::Status(Status::default()));
    assert_eq!((&status[..4], status.len()), (&[69, 0, 0, 80][..], 84));
    let sample = bytes_of(&Message::Sample(Sample::default()));
    assert_eq!((&sample[..4], sample.len()), (&[70, 0, 0, 56][..], 60));
    let done = bytes_of(&Message::Done(Box::default()));
    let body = br#"{"end":"complete","elapsed_ns":0,"datagrams_sent":0,"bytes_sent":0,"datagrams_received":0}"#;
    assert_eq!(done, [&[71, 0, 0, body.len() as u8], &body[..]].concat());
}

#[test]
fn a_greeting_of_a_newer_peer_is_read_as_far_as_it_is_known() {
    let body = br#"....{"program":"x","methods":{"mtu":1,"later":9,"B\u0007":1},"more":[1]}"#;
    let mut bytes = vec![2, 0, 0, body.len() as u8];
    bytes.extend_from_slice(body);
    bytes[4..8].copy_from_slice(&[1, 0, 0, 0]);
    let read = Message::parse(&bytes);
    let Ok(Some(Message::Welcome { methods, .. })) = read else {
        panic!("{read:?}");
    };
    let methods = methods.expect("methods");
    assert_eq!(
        (methods.version("mtu"), methods.version("later")),
        (Some(1), Some(9))
    );
    assert_eq!(methods.0.len(), 2, "what is no name is left out");
    let end = br#"{"end":"struck-by-lightning"}"#;
    let mut bytes = vec![71, 0, 0, end.len() as u8];
    bytes.extend_from_slice(end);
    let Ok(Some(Message::Done(done))) = Message::parse(&bytes) else {
        panic!("a Done");
    };
    assert_eq!(done.end, OrderEnd::Other);
    for body in [
        r#"{"seconds":1e99}"#,
        r#"{"seconds":-1}"#,
        r#"{"seconds":86401}"#,
    ] {
        let mut bytes = vec![66, 0, 0, body.len() as u8];
        bytes.extend_from_slice(body.as_bytes());
        assert!(Message::parse(&bytes).is_err(), "{body}");
    }
}

proptest! {
    #[test]
    fn messages_come_back_as_they_were(message in any_message()) {
        let bytes = bytes_of(&message);
        prop_assert_eq!(Message::announced_length(&bytes), Ok(Some(bytes.len())));
        prop_assert_eq!(Message::parse(&bytes), Ok(Some(message)));
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(Some(message)) = Message::parse(&bytes) {
            let again = bytes_of(&message);
            prop_assert_eq!(Message::parse(&again), Ok(Some(message)));
        }
    }
}
