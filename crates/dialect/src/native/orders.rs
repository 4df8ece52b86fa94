//! Between a control connection and whoever does what a client orders on it: who asks, what is answered, and
//! what is said while an order runs. Also the TCP senders of a server, whose state may be ordered.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, Weak};

use tapeline_base::MutexExt;
use tapeline_engine::Stop;
use tapeline_sys::{TcpConn, Waker};
use tapeline_wire::native::{Done, Message, Methods, Order, Ready};

use super::test_registry::TestName;

/// Senders of a test that are followed, at most.
const MAX_SENDERS: usize = 64;

/// Whose control connection it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Customer {
    /// The client.
    pub(crate) peer: SocketAddr,
    /// The address and port of the server that it has reached.
    pub(crate) local: SocketAddr,
    /// Segment size of the connection, bytes.
    pub(crate) segment_size: Option<u32>,
}

/// Whoever does what clients order.
pub(crate) trait Orders: Send + Sync {
    /// The methods that this client may order, if any.
    fn methods(&self, customer: &Customer) -> Option<Methods>;

    /// Begins what is ordered, and says for what it is ready. What there is to say later goes over the
    /// link.
    ///
    /// # Errors
    /// The sentence that says why not.
    fn take(
        &self,
        order: &Order,
        customer: &Customer,
        link: &Arc<OrderLink>,
    ) -> Result<Ready, String>;
}

/// What connects a running order with the control connection that it came on.
#[derive(Debug)]
pub(crate) struct OrderLink {
    /// Raised when the client ends the order, or its connection is gone.
    pub(crate) stop: Stop,
    /// What is to be written.
    unsaid: Mutex<Vec<Message>>,
    /// Wakes the thread that writes it.
    waker: Arc<Waker>,
}

impl OrderLink {
    /// `stop` is the order's alone.
    pub(crate) fn new(stop: Stop, waker: Arc<Waker>) -> Arc<Self> {
        Arc::new(Self {
            stop,
            unsaid: Mutex::default(),
            waker,
        })
    }

    /// Says something to the client.
    pub(crate) fn say(&self, message: Message) {
        self.unsaid.lock_unpoisoned().push(message);
        self.waker.wake();
    }

    /// The order has ended: nothing follows.
    pub(crate) fn finish(&self, done: Done) {
        self.say(Message::Done(Box::new(done)));
    }

    /// What is to be written next.
    pub(crate) fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.unsaid.lock_unpoisoned())
    }
}

/// A TCP sender of the server, and the token of its answer.
pub(crate) type Sender = (NonZeroU32, Arc<TcpConn>);

/// The same while nobody else keeps it.
type WeakSender = (NonZeroU32, Weak<TcpConn>);

/// The connections on which a server sends, by the tests that its clients have marked.
#[derive(Debug, Default)]
pub(crate) struct Senders(Mutex<HashMap<TestName, Vec<WeakSender>>>);

impl Senders {
    /// A flow begins on which the server sends.
    pub(crate) fn add(&self, test: TestName, token: NonZeroU32, conn: &Arc<TcpConn>) {
        let mut tests = self.0.lock_unpoisoned();
        let senders = tests.entry(test).or_default();
        senders.retain(|(_, conn)| conn.strong_count() > 0);
        if senders.len() < MAX_SENDERS {
            senders.push((token, Arc::downgrade(conn)));
        }
    }

    /// Forgets the tests that nobody knows any more.
    pub(crate) fn retain(&self, knows: impl Fn(TestName) -> bool) {
        self.0.lock_unpoisoned().retain(|test, _| knows(*test));
    }

    /// Those of a test that still run.
    pub(crate) fn of(&self, test: TestName) -> Vec<Sender> {
        let tests = self.0.lock_unpoisoned();
        let senders = tests.get(&test).into_iter().flatten();
        senders
            .filter_map(|(token, conn)| Some((*token, conn.upgrade()?)))
            .collect()
    }
}
