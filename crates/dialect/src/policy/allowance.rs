//! How much a server sends to an address that nobody has vouched for.

/// Bytes that may be sent for each byte received.
const TIMES: u64 = 3;
/// Datagrams that may be sent at all.
const DATAGRAMS: u32 = 10;

/// What may still be sent to the source of datagrams. A forged source address must not turn the
/// server into a weapon against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// The source is known to be there.
    Unlimited,
    /// It may be anybody.
    Unverified {
        /// Bytes.
        bytes: u64,
        /// Datagrams.
        datagrams: u32,
    },
}

impl Default for Allowance {
    fn default() -> Self {
        Self::Unverified {
            bytes: 0,
            datagrams: DATAGRAMS,
        }
    }
}

impl Allowance {
    /// So many bytes have come from there.
    pub(crate) fn earn(&mut self, received: u64) {
        if let Self::Unverified { bytes, .. } = self {
            *bytes = bytes.saturating_add(received.saturating_mul(TIMES));
        }
    }

    /// Takes what a datagram of so many bytes needs; false when it must not be sent.
    pub(crate) fn spend(&mut self, length: usize) -> bool {
        let Self::Unverified { bytes, datagrams } = self else {
            return true;
        };
        let left = u64::try_from(length)
            .ok()
            .and_then(|length| bytes.checked_sub(length));
        let Some((left, fewer)) = left.zip(datagrams.checked_sub(1)) else {
            return false;
        };
        (*bytes, *datagrams) = (left, fewer);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_bytes_leave_for_one_that_came() {
        let mut allowance = Allowance::default();
        assert!(!allowance.spend(1));
        allowance.earn(50);
        assert!(allowance.spend(128));
        assert!(!allowance.spend(23) && allowance.spend(22));
        allowance.earn(u64::MAX);
        assert_eq!(
            (0..20).filter(|_| allowance.spend(1)).count(),
            8,
            "ten in all"
        );
        let mut known = Allowance::Unlimited;
        assert!((0..20).all(|_| known.spend(1 << 20)));
    }
}
