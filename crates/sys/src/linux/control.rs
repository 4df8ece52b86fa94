//! Control messages: the bytes beside a datagram.
//!
//! Layout (`cmsg(3)`): length as a machine word, level and type as C `int`s, data; the next
//! message begins on a word boundary.

const WORD: usize = size_of::<usize>();
const HEADER: usize = WORD + 8;

/// Space for everything that a receive may bring: a time stamp (16 bytes), the segment size,
/// the drop counter and two forms of the type of service (4 each), each in its own message.
pub(crate) const RECEIVE_SPACE: usize = 192;

/// A buffer for control messages on the boundary that the kernel wants.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct ControlBuffer(pub(crate) [u8; RECEIVE_SPACE]);

const _: () = assert!(RECEIVE_SPACE >= (HEADER + 16) + 4 * (HEADER + 8));

/// One received control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ControlMessage<'a> {
    pub(crate) level: i32,
    pub(crate) kind: i32,
    pub(crate) data: &'a [u8],
}

impl ControlMessage<'_> {
    /// The data as one C `int`.
    pub(crate) fn as_int(&self) -> Option<i32> {
        Some(i32::from_ne_bytes(*self.data.first_chunk()?))
    }

    /// The data as a small number: some kernels pass a byte, others a C `int`.
    pub(crate) fn as_byte(&self) -> Option<u8> {
        match self.data {
            [byte] => Some(*byte),
            _ => self.as_int().map(|value| value as u8),
        }
    }

    /// The data as nanoseconds: a `timespec` of two 64-bit or two 32-bit numbers.
    pub(crate) fn as_nanos(&self) -> Option<i64> {
        let (seconds, nanos) = if let Some(wide) = self.data.first_chunk::<16>() {
            let (seconds, nanos) = wide.split_at(8);
            (
                i64::from_ne_bytes(seconds.try_into().ok()?),
                i64::from_ne_bytes(nanos.try_into().ok()?),
            )
        } else {
            let (seconds, nanos) = self.data.first_chunk::<8>()?.split_at(4);
            (
                i64::from(i32::from_ne_bytes(seconds.try_into().ok()?)),
                i64::from(i32::from_ne_bytes(nanos.try_into().ok()?)),
            )
        };
        seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
    }
}

/// The messages in `bytes`; stops at the first malformed one.
pub(crate) fn messages(bytes: &[u8]) -> impl Iterator<Item = ControlMessage<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from_ne_bytes(*rest.first_chunk()?);
        let level = i32::from_ne_bytes(rest.get(WORD..WORD + 4)?.try_into().ok()?);
        let kind = i32::from_ne_bytes(rest.get(WORD + 4..HEADER)?.try_into().ok()?);
        let data = rest.get(HEADER..length)?;
        rest = rest
            .get(length.checked_next_multiple_of(WORD)?..)
            .unwrap_or_default();
        Some(ControlMessage { level, kind, data })
    })
}

/// One control message with a small value, ready to be sent.
pub(crate) struct SmallMessage([u8; HEADER + WORD]);

impl SmallMessage {
    /// With a 16-bit value.
    pub(crate) fn short(level: i32, kind: i32, value: u16) -> Self {
        Self::new(level, kind, &value.to_ne_bytes())
    }

    /// With a C `int`.
    pub(crate) fn int(level: i32, kind: i32, value: i32) -> Self {
        Self::new(level, kind, &value.to_ne_bytes())
    }

    /// `value` is at most a C `int`, which every word holds.
    fn new(level: i32, kind: i32, value: &[u8]) -> Self {
        let mut bytes = [0; HEADER + WORD];
        bytes[..WORD].copy_from_slice(&(HEADER + value.len()).to_ne_bytes());
        bytes[WORD..WORD + 4].copy_from_slice(&level.to_ne_bytes());
        bytes[WORD + 4..HEADER].copy_from_slice(&kind.to_ne_bytes());
        bytes[HEADER..HEADER + value.len()].copy_from_slice(value);
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_the_c_library() {
        // SAFETY: pure arithmetic.
        let (length, space) = unsafe { (libc::CMSG_LEN(2), libc::CMSG_SPACE(2)) };
        let message = SmallMessage::short(17, 103, 0x0203);
        assert_eq!(message.bytes().len(), space as usize);
        assert_eq!(
            usize::from_ne_bytes(*message.bytes().first_chunk().unwrap()),
            length as usize
        );
        let read: Vec<_> = messages(message.bytes()).collect();
        assert_eq!(
            read,
            [ControlMessage {
                level: 17,
                kind: 103,
                data: &0x0203_u16.to_ne_bytes()
            }]
        );
    }

    #[test]
    fn several_messages_follow_each_other() {
        let mut bytes = SmallMessage::short(1, 2, 3).bytes().to_vec();
        bytes.extend_from_slice(SmallMessage::short(4, 5, 6).bytes());
        let kinds: Vec<_> = messages(&bytes)
            .map(|message| (message.level, message.kind))
            .collect();
        assert_eq!(kinds, [(1, 2), (4, 5)]);
    }

    #[test]
    fn malformed_messages_end_the_walk() {
        let mut bytes = SmallMessage::short(1, 2, 3).bytes().to_vec();
        for length in [0, 1, HEADER - 1, 1000, usize::MAX] {
            bytes[..WORD].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(messages(&bytes).count(), 0, "{length}");
        }
        assert_eq!(messages(&[]).count(), 0);
        assert_eq!(messages(&bytes[..HEADER - 1]).count(), 0);
    }

    #[test]
    fn stamps_of_both_widths_are_read() {
        let wide: Vec<u8> = [3_i64, 4]
            .iter()
            .flat_map(|part| part.to_ne_bytes())
            .collect();
        let narrow: Vec<u8> = [3_i32, 4]
            .iter()
            .flat_map(|part| part.to_ne_bytes())
            .collect();
        for data in [&wide[..], &narrow] {
            let message = ControlMessage {
                level: 1,
                kind: 35,
                data,
            };
            assert_eq!(message.as_nanos(), Some(3_000_000_004));
        }
        assert_eq!(
            ControlMessage {
                level: 1,
                kind: 35,
                data: &[1]
            }
            .as_nanos(),
            None
        );
        assert_eq!(
            ControlMessage {
                level: 0,
                kind: 1,
                data: &[0xb8]
            }
            .as_byte(),
            Some(0xb8)
        );
    }
}
