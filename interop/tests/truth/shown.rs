//! Histograms as the programs print them.

use interop::{Histogram, parse_histograms};

/// The total histogram of this name in an output.
pub(crate) fn total_histogram(output: &str, name: &str) -> Histogram {
    let mut all = parse_histograms(output).into_iter();
    all.find(|histogram| histogram.name == name && histogram.total)
        .unwrap_or_else(|| panic!("no total of {name}\n{output}"))
}

/// The median that a histogram shows, in nanoseconds: the middle of its bin.
pub(crate) fn shown_median(output: &str, name: &str) -> u64 {
    let histogram = total_histogram(output, name);
    let half = histogram.bins.iter().map(|(_, n)| n).sum::<u64>() / 2;
    let mut sum = 0;
    let bin = histogram.bins.iter().find(|(_, n)| {
        sum += n;
        sum > half
    });
    let (bin, _) = bin.unwrap_or_else(|| panic!("an empty histogram\n{output}"));
    (2 * bin - 1) * histogram.width * 1000 / 2
}
