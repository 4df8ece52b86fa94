//! Devices cannot be listened to.

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
