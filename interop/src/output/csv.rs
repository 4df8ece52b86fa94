//! Rows of the CSV output (`-y C`).

/// One row of the basic CSV layout, TCP or UDP.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvRow {
    /// Date, `YYYYMMDDHHMMSS`.
    pub date: String,
    /// Sender's address and port.
    pub source: (String, u16),
    /// Receiver's address and port.
    pub destination: (String, u16),
    /// Flow, or -1 for a sum.
    pub id: i64,
    /// Begin and end in seconds.
    pub interval: (f64, f64),
    /// Payload bytes.
    pub bytes: u64,
    /// Bits per second.
    pub rate: u64,
    /// The fields after the rate: empty for TCP; jitter, lost, total, percentage, out of order for UDP.
    pub rest: Vec<String>,
}

/// Reads the rows of a basic CSV output; lines of another form are left out.
#[must_use]
pub fn parse_csv(output: &str) -> Vec<CsvRow> {
    output.lines().filter_map(parse_row).collect()
}

fn parse_row(line: &str) -> Option<CsvRow> {
    let mut fields = line.split(',');
    let date = fields.next()?;
    let dated = date.len() == 14 && date.bytes().all(|b| b.is_ascii_digit());
    if !dated {
        return None;
    }
    let source = (fields.next()?.to_owned(), fields.next()?.parse().ok()?);
    let destination = (fields.next()?.to_owned(), fields.next()?.parse().ok()?);
    let id = fields.next()?.parse().ok()?;
    let (begin, end) = fields.next()?.split_once('-')?;
    Some(CsvRow {
        date: date.to_owned(),
        source,
        destination,
        id,
        interval: (begin.parse().ok()?, end.parse().ok()?),
        bytes: fields.next()?.parse().ok()?,
        rate: fields.next()?.parse().ok()?,
        rest: fields.map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_both_transports_are_read() {
        let output = "20261120231132,192.168.77.1,45632,192.168.77.2,5001,1,0.0-2.0,3876847680,15480694262\n\
                      20261120231159,192.168.77.1,57485,192.168.77.2,5001,-1,0.0-2.0,266070,1054312,0.003,0,181,0.000,0\n\
                      not a row\n";
        let rows = parse_csv(output);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].destination, ("192.168.77.2".to_owned(), 5001));
        assert_eq!(
            (rows[0].bytes, rows[0].interval),
            (3_876_847_680, (0.0, 2.0))
        );
        assert!(rows[0].rest.is_empty());
        assert_eq!((rows[1].id, rows[1].rest[2].as_str()), (-1, "181"));
    }
}
