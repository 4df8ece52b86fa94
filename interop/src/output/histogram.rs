//! Reading iperf 2's histogram lines.

/// One histogram line.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// What is counted: `T8` one-way delays, `J8` jitter, `F8` frames, `BB8` round trips and so on.
    pub name: String,
    /// Whether it is the total of a test.
    pub total: bool,
    /// Width of a bin in microseconds.
    pub width: u64,
    /// Values counted, those beyond the bins included.
    pub count: u64,
    /// Number of each bin that is not empty, from 1 on, and its count.
    pub bins: Vec<(u64, u64)>,
    /// The bins of the percentiles, as printed.
    pub percentiles: [u64; 3],
}

impl Histogram {
    /// The histogram of these values, in nanoseconds, that should be printed with 5, 95 and 99.7
    /// per cent: bin `n` holds the values from `(n - 1) · width` on, and a percentile is the first
    /// bin at which the share of the values so far exceeds it.
    #[must_use]
    pub fn expected(name: &str, width: u64, values: &[u64]) -> Self {
        let mut counts = std::collections::BTreeMap::<u64, u64>::new();
        for value in values {
            *counts.entry(value / (width * 1000) + 1).or_default() += 1;
        }
        let count = values.len() as u64;
        let percentile = |share: f64| {
            let mut sum = 0;
            let mut bins = counts.iter();
            let reached = bins.find(|(_, n)| {
                sum += **n;
                sum as f64 / count as f64 > share
            });
            reached.map_or(0, |(bin, _)| *bin)
        };
        Self {
            name: name.to_owned(),
            total: true,
            width,
            count,
            percentiles: [0.05, 0.95, 0.997].map(percentile),
            bins: counts.into_iter().collect(),
        }
    }
}

/// Reads the histogram lines of an output; other lines are left out.
#[must_use]
pub fn parse_histograms(output: &str) -> Vec<Histogram> {
    output.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Histogram> {
    let (before, after) = line.split_once("-PDF: bin(w=")?;
    let name = before.split_whitespace().next_back()?;
    let (name, total) = match name.strip_suffix("(f)") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let (width, after) = after.split_once("):cnt(")?;
    let width = match width.strip_suffix("us") {
        Some(microseconds) => microseconds.parse().ok()?,
        None => width.strip_suffix("ms")?.parse::<u64>().ok()? * 1000,
    };
    let (count, after) = after.split_once(')')?;
    let (bins, after) = after.split_once(" (")?;
    let bins = bins.trim_start_matches('=').split(',');
    let bins = bins.filter(|bin| !bin.is_empty()).map(|bin| {
        let (bin, count) = bin.split_once(':')?;
        Some((bin.parse().ok()?, count.parse().ok()?))
    });
    let (_, percentiles) = after.split_once("%=")?;
    let (percentiles, _) = percentiles.split_once(',')?;
    let percentiles: Vec<u64> = percentiles
        .split('/')
        .map_while(|bin| bin.parse().ok())
        .collect();
    Some(Histogram {
        name: name.to_owned(),
        total,
        width,
        count: count.parse().ok()?,
        bins: bins.collect::<Option<_>>()?,
        percentiles: percentiles.try_into().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_expected_ones_are_alike() {
        let output = "\
[  1] 0.00-2.01 sec  3.91 KBytes  15.9 Kbits/sec    20=0.025/0.014/0.164/0.034 ms
[  1] 0.00-2.01 sec  BB8(f)-PDF: bin(w=100us):cnt(20)=1:18,5:1,9:1 (5.00/95.00/99.7%=1/9/9,Outliers=1,obl/obu=0/0)
[  1] 0.00-1.00 sec T8-PDF: bin(w=1ms):cnt(0) (5.00/95.00/99.7%=0/1000/1000,Outliers=0,obl/obu=0/0)
";
        let histograms = parse_histograms(output);
        assert_eq!(histograms.len(), 2);
        let mut values = vec![99_999; 18];
        values.extend([400_000, 899_999]);
        assert_eq!(histograms[0], Histogram::expected("BB8", 100, &values));
        let empty = &histograms[1];
        assert_eq!((empty.name.as_str(), empty.total), ("T8", false));
        assert_eq!((empty.width, empty.count), (1000, 0));
        assert!(empty.bins.is_empty());
    }
}
