//! All situations, by what they are about.

mod buffers;
mod hosts;
mod orders;
mod paths;
mod peers;
mod udp;

use crate::situation::Situation;

/// Every situation.
pub(crate) fn all() -> impl Iterator<Item = &'static Situation> {
    [
        paths::SITUATIONS,
        buffers::SITUATIONS,
        orders::SITUATIONS,
        udp::SITUATIONS,
        hosts::SITUATIONS,
        peers::SITUATIONS,
    ]
    .into_iter()
    .flatten()
}
