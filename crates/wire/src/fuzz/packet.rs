//! What carries a datagram.

use crate::{PacketFault, UdpPacket};

pub(crate) fn udp_packet(bytes: &[u8]) {
    for read in [UdpPacket::from_ethernet, UdpPacket::from_ip] {
        let (checked, unchecked) = (read(bytes, true), read(bytes, false));
        assert_eq!(checked.is_some(), unchecked.is_some());
        let (Some(checked), Some(unchecked)) = (checked, unchecked) else {
            continue;
        };
        assert_eq!(checked.source.is_ipv4(), checked.destination.is_ipv4());
        assert_eq!(checked.payload, unchecked.payload);
        let inside = bytes.as_ptr_range();
        let payload = checked.payload.as_ptr_range();
        assert!(inside.start <= payload.start && payload.end <= inside.end);
        if unchecked.fault != checked.fault {
            assert_eq!(checked.fault, Some(PacketFault::Checksum));
            assert_eq!(unchecked.fault, None);
        }
    }
}
