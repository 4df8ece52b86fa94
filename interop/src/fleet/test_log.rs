//! When tests began and ended on a host, by its agent's own log.

/// A test of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTest {
    /// `JOB.ATTEMPT`.
    pub attempt: String,
    /// Its process started, seconds since 1970 UTC.
    pub begin: f64,
    /// Its process had gone; none: its agent did not see that.
    pub end: Option<f64>,
}

/// The tests of an agent's log, in the order of their beginnings.
#[must_use]
pub fn host_tests(log: &str) -> Vec<HostTest> {
    let mut tests: Vec<HostTest> = Vec::new();
    for line in log.lines() {
        let Some((at, said)) = said(line) else {
            continue;
        };
        if let Some(attempt) = said.strip_prefix("begins ") {
            tests.push(HostTest {
                attempt: attempt.to_owned(),
                begin: at,
                end: None,
            });
        } else if let Some(attempt) = said.strip_prefix("ends ") {
            let mut open = tests.iter_mut().rev();
            let test = open.find(|test| test.attempt == attempt && test.end.is_none());
            if let Some(test) = test {
                test.end = Some(at);
            }
        }
    }
    tests
}

/// The time, seconds since 1970, and the words of a line `2026-11-26 05:50:26.123 NAME: WORDS`.
fn said(line: &str) -> Option<(f64, &str)> {
    let (date, rest) = line.split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    let (_, words) = rest.split_once(": ")?;
    let mut date = date.split('-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let mut time = time.split(':').map(str::parse::<f64>);
    let (hour, minute, second) = (time.next()?.ok()?, time.next()?.ok()?, time.next()?.ok()?);
    let day = days(year, month, day) as f64;
    Some((
        day * 86_400.0 + hour * 3600.0 + minute * 60.0 + second,
        words,
    ))
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March: the leap day is their last.
    let year = year - i64::from(month <= 2);
    let month = (month + 9) % 12;
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_read_with_their_times() {
        let log = "1970-01-02 00:00:01.250 h1: begins run/1/h1/h2.1\n\
                   no time\n\
                   1970-01-02 00:00:03.500 h1: ends run/1/h1/h2.1\n\
                   2026-11-26 00:00:00.000 h1: begins run/1/h2/h1.1\n";
        let test = |attempt: &str, begin, end| HostTest {
            attempt: attempt.to_owned(),
            begin,
            end,
        };
        assert_eq!(
            host_tests(log),
            [
                test("run/1/h1/h2.1", 86_401.25, Some(86_403.5)),
                test("run/1/h2/h1.1", 1_795_651_200.0, None)
            ]
        );
    }
}
