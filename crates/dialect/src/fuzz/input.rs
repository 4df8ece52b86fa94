//! Inputs of fuzz targets, read as events.

/// What happens to a state machine, read from an input: each event has a head of `N` bytes that say
/// what it is, and a piece of up to 255 bytes behind a byte with its length.
pub(crate) struct Events<'a, const N: usize>(&'a [u8]);

impl<'a, const N: usize> Events<'a, N> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self(input)
    }
}

impl<'a, const N: usize> Iterator for Events<'a, N> {
    type Item = ([u8; N], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        let (length, rest) = rest.split_first()?;
        let (piece, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        self.0 = rest;
        Some((*head, piece))
    }
}
