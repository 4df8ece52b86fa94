//! A receiver's window that stays as small as it was ordered.
#![cfg(target_os = "linux")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tapeline_base::Clock;
use tapeline_engine::{
    ByteIntake, Intervals, ReceiveCell, SendCell, SendEnd, Stop, StreamContent, TcpReceivePlan,
    TcpReceiver, TcpSendPlan, TcpSender, run_blocking,
};
use tapeline_sys::{SocketOptions, SystemClock, TcpConn, TcpListener};

/// Only a failing test waits so long.
const LIMIT: Duration = Duration::from_secs(30);
/// Bytes; with segments of an Ethernet several of them.
const WINDOW: u32 = 31_250;
const SEGMENT: u32 = 1448;
/// Time after which nothing of a connection's start is on the way.
const SETTLED: Duration = Duration::from_millis(300);
const TIME: Duration = Duration::from_millis(1500);

/// The sender's end, and the one of a receiver with a clamp.
fn connection() -> (TcpConn, TcpConn) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = SocketOptions {
        mss: Some(SEGMENT),
        ..SocketOptions::default()
    };
    let listener = TcpListener::bind(any, &options, 8).expect("listener");
    let clamped = SocketOptions {
        window_clamp: Some(WINDOW),
        ..options
    };
    let to = listener.socket.local_addr().expect("address");
    let receiver = TcpConn::connect(to, None, &clamped, Some(LIMIT)).expect("connection");
    assert!(receiver.refused.is_empty(), "{:?}", receiver.refused);
    loop {
        if let Some((sender, _)) = listener.socket.accept().expect("accept") {
            return (sender, receiver.conn);
        }
        std::thread::yield_now();
    }
}

/// The largest window that the sender was offered, and the most bytes that were on the way.
fn largest() -> (u32, u64) {
    let (there, here) = connection();
    let (there, stop, now) = (Arc::new(there), Stop::new(), SystemClock.now());
    let cell = Arc::new(SendCell::new(Intervals::new(now, None)));
    let content = StreamContent::Repeated(vec![1; 4096].into());
    let send = TcpSendPlan {
        end: SendEnd::Leave,
        ..TcpSendPlan::new(Arc::clone(&there), content, 65_536, cell, stop.clone())
    };
    let receive = TcpReceivePlan {
        window_clamp: Some(WINDOW),
        ..TcpReceivePlan::new(Arc::new(here), 65_536, stop.clone())
    };
    let cell = Arc::new(ReceiveCell::new(Intervals::new(now, None)));
    let intake = ByteIntake::new(cell, 65_536, 0, now);
    std::thread::scope(|scope| {
        scope.spawn(|| run_blocking(&mut TcpSender::new(send, now), &stop));
        scope.spawn(|| run_blocking(&mut TcpReceiver::new(receive, intake), &stop));
        let (began, mut most) = (Instant::now(), (0, 0));
        while began.elapsed() < TIME {
            std::thread::sleep(Duration::from_millis(1));
            let info = there.tcp_info().expect("its state");
            if began.elapsed() > SETTLED {
                let flying = info.unacked.unwrap_or(0) * info.snd_mss.unwrap_or(0);
                most.0 = most.0.max(info.snd_wnd.unwrap_or(0));
                most.1 = most.1.max(u64::from(flying));
            }
        }
        stop.raise();
        most
    })
}

#[test]
fn a_clamped_window_stays_small() {
    let (window, flying) = largest();
    assert!(window <= WINDOW, "a window of {window} bytes was offered");
    // Segments are counted, of which the last may be short.
    let most = u64::from(WINDOW + SEGMENT);
    assert!(flying <= most, "{flying} bytes were on the way");
}
