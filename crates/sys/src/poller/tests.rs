use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::loopback::{connect, listener, tcp_pair};
use crate::waker::Waker;

fn tokens(events: &Events) -> Vec<u64> {
    let mut tokens: Vec<u64> = events.iter().map(|event| event.token).collect();
    tokens.sort_unstable();
    tokens
}

#[test]
fn readiness_lasts_until_it_is_used_up() {
    let (client, server) = tcp_pair();
    let mut poller = Poller::new().unwrap();
    let mut events = Events::with_capacity(8);
    poller.register(&server, 7, Interest::READ).unwrap();
    assert_eq!(poller.wait(&mut events, Wait::Never).unwrap(), 0);

    client.send(b"x").unwrap();
    for _ in 0..2 {
        assert_eq!(poller.wait(&mut events, Wait::Forever).unwrap(), 1);
        let event = events.iter().next().unwrap();
        assert!(
            event.readable && !event.writable && !event.error,
            "{event:?}"
        );
        assert_eq!(event.token, 7);
    }
    server.recv(&mut [0; 4]).unwrap();
    assert_eq!(poller.wait(&mut events, Wait::Never).unwrap(), 0);

    poller.modify(&server, 8, Interest::BOTH).unwrap();
    poller.wait(&mut events, Wait::Forever).unwrap();
    let event = events.iter().next().unwrap();
    assert!(
        (event.token, event.readable, event.writable) == (8, false, true),
        "{event:?}"
    );

    poller.modify(&server, 9, Interest::READ).unwrap();
    drop(client);
    poller.wait(&mut events, Wait::Forever).unwrap();
    assert!(
        events.iter().next().unwrap().readable,
        "the end of the stream is readable"
    );
    poller.deregister(&server).unwrap();
    assert_eq!(poller.wait(&mut events, Wait::Never).unwrap(), 0);
    assert!(events.is_empty());
}

#[test]
fn registrations_are_checked() {
    let (client, _server) = tcp_pair();
    let mut poller = Poller::new().unwrap();
    poller.register(&client, 1, Interest::READ).unwrap();
    let twice = poller.register(&client, 2, Interest::READ).unwrap_err();
    assert_eq!(twice.kind(), io::ErrorKind::AlreadyExists);
    poller.deregister(&client).unwrap();
    let gone = poller.deregister(&client).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    let gone = poller.modify(&client, 1, Interest::READ).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
}

#[test]
fn listeners_and_wakers_are_sources_like_any_other() {
    let (listener, address) = listener();
    let waker = Arc::new(Waker::new().unwrap());
    let mut poller = Poller::new().unwrap();
    let mut events = Events::with_capacity(8);
    poller.register(&listener, 1, Interest::READ).unwrap();
    poller.register(&waker, 2, Interest::READ).unwrap();

    let remote = Arc::clone(&waker);
    let other = thread::spawn(move || {
        remote.wake();
        remote.wake();
    });
    poller.wait(&mut events, Wait::Forever).unwrap();
    assert_eq!(tokens(&events), [2]);
    other.join().unwrap();
    waker.drain();
    assert_eq!(poller.wait(&mut events, Wait::Never).unwrap(), 0);
    assert!(!waker.wait(Wait::Never).unwrap());

    let _client = connect(address);
    waker.wake();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        poller.wait(&mut events, Wait::Forever).unwrap();
        seen = tokens(&events);
    }
    assert_eq!(seen, [1, 2]);
    assert!(listener.accept().unwrap().is_some());
}

#[test]
fn a_short_event_list_serves_every_source() {
    let wakers: Vec<Waker> = (0..5).map(|_| Waker::new().unwrap()).collect();
    let mut poller = Poller::new().unwrap();
    for (token, waker) in (0..).zip(&wakers) {
        poller.register(waker, token, Interest::READ).unwrap();
        waker.wake();
    }
    let mut events = Events::with_capacity(2);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..10 {
        assert!(poller.wait(&mut events, Wait::Forever).unwrap() <= 2);
        seen.extend(tokens(&events));
    }
    assert_eq!(seen.len(), 5);
}

#[test]
fn a_wait_lasts_its_time_also_below_a_millisecond() {
    let mut poller = Poller::new().unwrap();
    let mut events = Events::with_capacity(1);
    for span in [Duration::from_micros(300), Duration::from_millis(3)] {
        let started = Instant::now();
        assert_eq!(poller.wait(&mut events, Wait::AtMost(span)).unwrap(), 0);
        assert!(started.elapsed() >= span);
    }
    let endless = Duration::MAX;
    let waker = Waker::new().unwrap();
    poller.register(&waker, 1, Interest::READ).unwrap();
    waker.wake();
    assert_eq!(poller.wait(&mut events, Wait::AtMost(endless)).unwrap(), 1);
}

#[test]
fn a_failed_source_reports_an_error() {
    let (client, server) = tcp_pair();
    let mut poller = Poller::new().unwrap();
    let mut events = Events::with_capacity(1);
    poller.register(&server, 1, Interest::NONE).unwrap();
    client.set_linger_zero().unwrap();
    drop(client);
    poller.wait(&mut events, Wait::Forever).unwrap();
    let event = events.iter().next().unwrap();
    assert!(event.error && event.readable && event.writable, "{event:?}");
}
