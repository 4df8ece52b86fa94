//! From the bytes of a file to its runs.

use super::csv_runs::{self, CsvRuns};
use super::error::{Fault, ImportError, UNKNOWN};
use super::json_runs::JsonRuns;
use super::kind::Kind;
use super::lines::Lines;
use super::run::{ImportedRun, MAX_RUNS};
use super::text_runs::{self, TextRuns};

/// Bytes of a file.
pub const MAX_BYTES: usize = 64 << 20;

/// Lines at the beginning that are looked at.
const FIRST_LINES: usize = 100;

/// The runs of a file, one after the other; `name` is how errors call it, and `kind` what it must be.
///
/// # Errors
/// It is too large, or nothing known. What is wrong further on is an item of the iterator, the last one.
pub fn read<'a>(
    name: &'a str,
    file: &'a [u8],
    kind: Option<Kind>,
) -> Result<Runs<'a>, ImportError> {
    let fault = |why: &str| Fault::new(0, why).of_file(name, file);
    if file.len() > MAX_BYTES {
        return Err(fault(&format!("larger than {} MiB", MAX_BYTES >> 20)));
    }
    let source = match kind {
        None if is_json(file) => Source::Json(Box::new(JsonRuns::new(file, None))),
        Some(Kind::Tapeline | Kind::Iperf3Json) => {
            Source::Json(Box::new(JsonRuns::new(file, kind)))
        }
        _ => match kind.or_else(|| kind_of_lines(file)) {
            Some(Kind::Iperf2Csv) => Source::Csv(CsvRuns::new(file)),
            Some(kind @ (Kind::Iperf2Text | Kind::Iperf3Text)) => {
                Source::Text(Box::new(TextRuns::new(file, kind)))
            }
            _ => return Err(fault(UNKNOWN)),
        },
    };
    Ok(Runs {
        name,
        file,
        source,
        position: 0,
        over: false,
    })
}

/// An object, or an array of such: lines of text begin with brackets too.
fn is_json(file: &[u8]) -> bool {
    let text = file
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(file)
        .trim_ascii_start();
    let text = text
        .strip_prefix(b"[")
        .map_or(text, <[u8]>::trim_ascii_start);
    text.first() == Some(&b'{')
}

/// What the first lines are. Banners can stand between rows of CSV.
fn kind_of_lines(file: &[u8]) -> Option<Kind> {
    let lines = || Lines::new(file).take(FIRST_LINES);
    let csv = lines().any(|line| csv_runs::is_row(&line.text));
    csv.then_some(Kind::Iperf2Csv)
        .or_else(|| lines().find_map(|line| text_runs::kind_of(&line.text)))
}

#[derive(Debug)]
enum Source<'a> {
    Json(Box<JsonRuns<'a>>),
    Csv(CsvRuns<'a>),
    Text(Box<TextRuns<'a>>),
}

/// The runs of a file, in its order.
#[derive(Debug)]
pub struct Runs<'a> {
    name: &'a str,
    file: &'a [u8],
    source: Source<'a>,
    /// Runs that were given.
    position: usize,
    /// No run follows.
    over: bool,
}

impl<'a> Iterator for Runs<'a> {
    type Item = Result<ImportedRun<'a>, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = match &mut self.source {
            Source::Json(runs) => runs.next(),
            Source::Csv(runs) => runs.next(),
            Source::Text(runs) => runs.next(),
        };
        let run = match next {
            None if self.position == 0 => Err(Fault::new(0, UNKNOWN)),
            None => {
                self.over = true;
                return None;
            }
            Some(Ok(_)) if self.position == MAX_RUNS => {
                Err(Fault::new(0, format!("more than {MAX_RUNS} runs")))
            }
            Some(run) => run,
        };
        self.over = run.is_err();
        self.position += 1;
        let position = self.position - 1;
        Some(
            run.map(|run| ImportedRun { position, ..run })
                .map_err(|fault| fault.of_file(self.name, self.file)),
        )
    }
}
