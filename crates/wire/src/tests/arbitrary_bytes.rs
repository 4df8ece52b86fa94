//! No bytes make a decoder panic, and nothing that it returns leaves its bounds.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::fuzz;

/// First words and flag words that open every path, the length bits left to chance.
fn flag_word() -> impl Strategy<Value = u32> {
    let interesting = [
        0,
        2,
        0x0002_0000,
        0x0080_0000,
        0x4000_0000,
        0x4001_0000,
        0x4801_0000,
        0x5001_0000,
        0x6c01_0000,
        0x8000_0000,
        0x8000_0001,
        0x8800_0000,
        0xc001_0001,
        0xc800_0000,
    ];
    (prop::sample::select(interesting.to_vec()), any::<u16>()).prop_map(|(word, low)| {
        if word & 0x0001_0000 == 0 {
            word
        } else {
            word | u32::from(low)
        }
    })
}

/// Bytes with a flag word where decoders look for one.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let place = prop::sample::select(vec![0_usize, 12, 16]);
    (vec(any::<u8>(), 0..300), flag_word(), place).prop_map(|(mut bytes, word, at)| {
        if let Some(room) = bytes.get_mut(at..at + 4) {
            room.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn every_decoder_keeps_its_contract(bytes in bytes()) {
        for (message, _) in fuzz::CONTRACTS {
            fuzz::run(message, &bytes);
        }
    }
}
