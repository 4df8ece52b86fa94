//! The packet loops allocate nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, WallTime};
use tapeline_engine::{
    ArrivedDatagram, Call, DatagramCell, DatagramReceiver, DatagramStamp, Intervals, Precision,
    ReceiveCell, Schedule, SendCell, SendEnd, Step, Stop, TcpReceivePlan, TcpReceiver, TcpSendPlan,
    TcpSender, TcpWork, UdpSendPlan, run_udp_sender,
};
use tapeline_sys::{SocketOptions, SystemClock, TcpConn, TcpListener, UdpSocket};

/// Counts the allocations of the thread that asks.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// The allocator's interface is unsafe to implement; this one only counts and passes on.
#[allow(unsafe_code)]
mod allocator {
    use super::*;

    // SAFETY: every call goes to the system's allocator unchanged.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            ALLOCATIONS.with(|count| count.set(count.get() + 1));
            // SAFETY: the caller's promise, passed on.
            unsafe { System.alloc(layout) }
        }
        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            // SAFETY: the caller's promise, passed on.
            unsafe { System.dealloc(pointer, layout) }
        }
        unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            ALLOCATIONS.with(|count| count.set(count.get() + 1));
            // SAFETY: the caller's promise, passed on.
            unsafe { System.realloc(pointer, layout, size) }
        }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
