//! What systems other than Linux lack, or do not report.

/// Devices cannot be listened to.
pub(crate) mod device_tap {
    use std::io;

    use crate::device_tap::DeviceFrame;
    use crate::poller::Handle;

    #[derive(Debug)]
    pub(crate) enum Tap {}

    impl Tap {
        pub(crate) fn open(_device: &str, _port: u16) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn receive(&mut self) -> io::Result<Option<DeviceFrame<'_>>> {
            match *self {}
        }

        pub(crate) fn handle(&self) -> Handle<'_> {
            match *self {}
        }
    }
}

/// Hosts that report little about themselves.
pub(crate) mod host {
    use crate::host::{HostCounters, HostFacts};

    pub(crate) fn counters() -> HostCounters {
        HostCounters::default()
    }

    pub(crate) fn facts() -> HostFacts {
        HostFacts {
            system: std::env::consts::OS.to_owned(),
            ..HostFacts::default()
        }
    }

    pub(crate) fn information() -> String {
        format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
    }
}

/// Systems that report an unconnected socket nothing of what comes back.
pub(crate) mod returned {
    use std::io;

    use socket2::Socket;

    use crate::udp::Returned;

    pub(crate) fn ask(_socket: &Socket, _is_v6: bool) -> bool {
        false
    }

    pub(crate) fn next(_socket: &Socket) -> Option<Returned> {
        None
    }

    pub(crate) fn is_drop(_error: &io::Error) -> bool {
        false
    }

    pub(crate) fn may_be_anothers(_error: &io::Error) -> bool {
        false
    }

    pub(crate) fn is_taken(_socket: &Socket, _longest: &[u8]) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// No segmentation offload: datagrams go out one by one.
pub(crate) mod segments {
    use std::io;

    use socket2::Socket;

    use crate::udp::Addressee;

    pub(crate) fn is_available(_socket: &Socket) -> bool {
        false
    }

    pub(crate) fn send(
        _socket: &Socket,
        _data: &[u8],
        _segment_size: usize,
        _to: Option<&Addressee>,
    ) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn send_marked(
        _socket: &Socket,
        _data: &[u8],
        _to: &Addressee,
    ) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn is_refusal(error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::Unsupported
    }
}

/// Systems whose sockets take no pages.
pub(crate) mod spliced_payload {
    use std::io;

    use socket2::Socket;

    /// Cannot be had.
    #[derive(Debug)]
    pub(crate) enum Payload {}

    impl Payload {
        pub(crate) fn new(_chunk: &[u8], _length: usize) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn send(&mut self, _socket: &Socket, _most: usize) -> io::Result<usize> {
            match *self {}
        }
    }
}
