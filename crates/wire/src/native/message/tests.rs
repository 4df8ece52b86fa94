use proptest::prelude::*;

use super::*;

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
    assert_eq!(Message::parse(&[70, 0, 0, 2, 9, 9]), Ok(None));
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
        program().prop_map(Message::About),
    ]
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
