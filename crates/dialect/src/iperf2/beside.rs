//! What a server of datagrams alone listens for over TCP, on the port of its UDP socket.

use std::sync::Arc;

use tapeline_base::Transport;
use tapeline_engine::Stop;
use tapeline_report::{Notice, ServerBanner};
use tapeline_sys::{SocketOptions, TcpListener, Waker};

use super::admission::Admission;
use super::listening::{ListenRequest, open_tcp};
use super::opening::Families;
use super::server::Server;
use super::tcp_server::TcpService;
use crate::context::Tally;
use crate::plan::{ServedProtocols, ServedTransports, ServerPlan};

/// What listens over TCP on the port of a UDP socket.
pub(super) enum Beside {
    Nothing,
    /// The server of tests over TCP.
    Tests,
    /// A listener that ends with the socket, and what ends it.
    Listener(Stop, Arc<Waker>),
}

impl Server {
    /// Listens over TCP on the port of a UDP socket, where no tests over TCP are served: for working
    /// loads, and for the control connections of tests over UDP.
    ///
    /// # Errors
    /// The port is not free for that.
    pub(super) fn open_beside(
        &mut self,
        request: &ListenRequest<'_>,
        banner: &mut ServerBanner,
    ) -> Result<Beside, Notice> {
        let plan = request.plan;
        let is_group = request.own.is_some_and(|own| own.ip().is_multicast());
        match plan.transports {
            ServedTransports::Udp if plan.working_load => self.open_load(request, banner),
            ServedTransports::Udp if self.control.is_some() && !is_group => {
                self.open_control(request, banner.ports.0)
            }
            ServedTransports::Udp => Ok(Beside::Nothing),
            ServedTransports::Tcp | ServedTransports::Both => Ok(Beside::Tests),
        }
    }

    /// Serves the control connections of tests over UDP.
    fn open_control(&mut self, request: &ListenRequest<'_>, port: u16) -> Result<Beside, Notice> {
        let plan = request.plan;
        let options = SocketOptions {
            reuse_address: true,
            device: plan.bind.as_ref().and_then(|bind| bind.device.clone()),
            only_v6: request.ipv6.then_some(false),
            ..SocketOptions::default()
        };
        let mut address = request.address();
        address.set_port(port);
        let opened = TcpListener::bind(address, &options, TcpListener::MAX_BACKLOG)
            .map_err(|error| request.failed(Transport::Tcp, &error))?;
        let tally = Arc::clone(&self.tally);
        self.listen_beside(request, opened.socket, Families::None, tally)
    }

    /// Serves working loads.
    fn open_load(
        &mut self,
        request: &ListenRequest<'_>,
        banner: &mut ServerBanner,
    ) -> Result<Beside, Notice> {
        let plan = request.plan;
        // A load is no test: it neither waits for its turn, nor does a test wait for it, nor is
        // it counted.
        let tally = if plan.single_client {
            Tally::new()
        } else {
            Arc::clone(&self.tally)
        };
        let plan = Arc::new(ServerPlan {
            single_client: false,
            connections: None,
            length: None,
            pace: None,
            protocols: ServedProtocols::Iperf2,
            ..ServerPlan::clone(plan)
        });
        let request = ListenRequest {
            plan: &plan,
            port: banner.ports.0,
            ..*request
        };
        let (listener, _) = open_tcp(&request, None, &self.context)?;
        banner.working_load = Some(banner.ports.0);
        self.listen_beside(&request, listener, Families::Iperf2, tally)
    }

    fn listen_beside(
        &mut self,
        request: &ListenRequest<'_>,
        listener: TcpListener,
        families: Families,
        tally: Arc<Tally>,
    ) -> Result<Beside, Notice> {
        let (close, waker) = (Stop::new(), self.waker()?);
        let service = TcpService {
            listener,
            admission: Admission::Server {
                only_from: request.plan.only_from,
            },
            families,
            plan: Arc::clone(request.plan),
            context: Arc::clone(&self.context),
            groups: Arc::clone(request.groups),
            tally,
            waker: Arc::clone(&waker),
            iperf3: None,
            control: self.control.clone(),
            policy: Arc::clone(&self.policy),
            close: close.clone(),
            until: None,
            most: None,
        };
        self.prepare(move || service.run());
        Ok(Beside::Listener(close, waker))
    }
}
