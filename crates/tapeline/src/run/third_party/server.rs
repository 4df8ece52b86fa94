//! The server of a test, on another host.

use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use tapeline_remote::{BEGINNING, Body, Class, Order, Orders, ServedTests, Session, Transport};

/// Time for its test to come, and to end, seconds: it ends with the session anyway.
const SERVING: f64 = 1e6;

/// A server that runs until this is ended.
pub(crate) struct Server {
    /// TCP and UDP.
    pub(crate) port: u16,
    orders: Orders,
    order: u64,
    thread: JoinHandle<Option<String>>,
}

impl Server {
    /// Starts it for one test from these networks.
    ///
    /// # Errors
    /// Why there is none, in one sentence.
    pub(crate) fn start(transport: &Transport, allow: Vec<String>) -> Result<Self, String> {
        let session = Session::open(transport, BEGINNING).map_err(|error| error.to_string())?;
        let orders = session.orders().clone();
        let order = session.order(Order::Serve {
            options: Vec::new(),
            tests: ServedTests::One,
            allow,
            seconds: SERVING,
            class: Class::Exclusive,
        });
        let Ok(order) = order else {
            return Err(session.lost().to_string());
        };
        let (listens, ports) = channel();
        let host = transport.host();
        let thread = Builder::new()
            .name("server".into())
            .spawn(move || watch(session, order, &host, listens));
        let thread = thread.map_err(|error| format!("no thread: {error}"))?;
        match ports.recv() {
            Ok(port) => Ok(Self {
                port,
                orders,
                order,
                thread,
            }),
            Err(_) => {
                let why = thread.join().unwrap_or_default();
                Err(why.unwrap_or_else(|| "the server ended at once".to_owned()))
            }
        }
    }

    /// Ends it; what went wrong with it, if something did.
    pub(crate) fn end(self) -> Option<String> {
        // It may have ended with its test.
        let _ = self.orders.order(Order::Stop { which: self.order });
        self.thread.join().unwrap_or_default()
    }
}

/// Reads what the server's session says to its end; what went wrong.
fn watch(session: Session, order: u64, host: &str, listens: Sender<u16>) -> Option<String> {
    let mut listens = Some(listens);
    for reply in session.replies() {
        if reply.id != Some(order) {
            continue;
        }
        match reply.body {
            Body::Listening { listening } => {
                let port = listening.tcp.or(listening.udp);
                if let (Some(listens), Some(port)) = (listens.take(), port) {
                    // Whoever started it waits.
                    let _ = listens.send(port);
                }
            }
            Body::End { .. } => {
                session.close();
                return None;
            }
            Body::Error { error } => {
                session.close();
                // That no test came is said by its client.
                let said = format!("{host}: {}", error.text);
                return listens.is_some().then_some(said);
            }
            _ => {}
        }
    }
    Some(session.lost().to_string())
}
