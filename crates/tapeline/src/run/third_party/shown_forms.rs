//! The forms of a report that another host renders, and where they go here.

use std::io::{self, ErrorKind, Write};

use serde_json::Value;
use tapeline_base::{ExitCode, Role};
use tapeline_report::Terminal;

use crate::files::output_file;
use crate::message;
use crate::presentation::{Presentation, Rendering, TextStyle};
use crate::run::printer::{choose_color, error_terminal, speaks_utf8, terminal};

/// Every place to which the report goes.
pub(crate) struct ShownForms {
    rendering: Rendering,
    places: Vec<Place>,
}

struct Place {
    form: TextStyle,
    writer: Box<dyn Write + Send>,
    /// It appears when it is complete.
    is_whole: bool,
    broken: Option<Broken>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// The reader went away.
    Pipe,
    Failed,
}

impl ShownForms {
    /// Opens all of them.
    ///
    /// # Errors
    /// The exit code, when one cannot be had; the reason has been printed.
    pub(crate) fn open(presentation: &Presentation) -> Result<Self, ExitCode> {
        choose_color(presentation.color);
        let to_file = presentation.output_file.is_some();
        let main = (presentation.style, presentation.output_file.as_deref());
        let files = presentation.files.iter();
        let files = files.map(|file| (TextStyle::Document(file.form), Some(file.path.as_path())));
        let mut places = Vec::new();
        let mut forms = Vec::new();
        for (form, path) in std::iter::once(main).chain(files) {
            let writer = output_file::open(form, path, Role::Client).map_err(|said| {
                // Without standard error the exit code says the same.
                let _ = message::print(&[said]);
                ExitCode::Failure
            })?;
            places.push(Place {
                form,
                writer,
                is_whole: path.is_some() && output_file::is_whole(form, Role::Client),
                broken: None,
            });
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        let rendering = Rendering {
            forms,
            terminal: Terminal {
                unicode: speaks_utf8(),
                ..terminal(!to_file)
            },
            errors: error_terminal(),
            to_file,
        };
        Ok(Self { rendering, places })
    }

    /// What the host that measures is to render.
    pub(crate) fn rendering(&self) -> &Rendering {
        &self.rendering
    }

    /// Shows what the event `rendered` holds; false once nobody reads.
    pub(crate) fn show(&mut self, rendered: &Value) -> bool {
        let text = |member: &str| plain(rendered[member].as_str().unwrap_or_default());
        let (out, err) = (text("out"), text("err"));
        if !err.is_empty() {
            // Without standard error nobody reads it.
            let _ = io::stderr().write_all(err.as_bytes());
        }
        for place in &mut self.places {
            if Rendering::name(place.form) == rendered["form"].as_str() {
                place.write(out.as_bytes());
            }
        }
        self.places.iter().any(|place| place.broken.is_none())
    }

    /// Completes what is whole; the exit code knows whether all was written.
    pub(crate) fn finish(mut self, code: ExitCode) -> ExitCode {
        for place in &mut self.places {
            place.settle();
        }
        let broken = |kind| self.places.iter().any(|place| place.broken == Some(kind));
        match code {
            _ if broken(Broken::Failed) => ExitCode::Failure,
            _ if broken(Broken::Pipe) => ExitCode::Success,
            code => code,
        }
    }
}

impl Place {
    fn write(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.broken.is_some() {
            return;
        }
        let written = self.writer.write_all(bytes);
        self.note(written);
        if !self.is_whole {
            self.settle();
        }
    }

    fn settle(&mut self) {
        if self.broken.is_none() {
            let flushed = self.writer.flush();
            self.note(flushed);
        }
    }

    fn note(&mut self, done: io::Result<()>) {
        self.broken = match done {
            Ok(()) => return,
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Some(Broken::Pipe),
            Err(error) => {
                message::cannot(&format!("a result: {}", tapeline_sys::reason(&error)));
                Some(Broken::Failed)
            }
        };
    }
}

/// A text from elsewhere: of what steers a terminal, colours alone.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter.is_control() && letter != '\n') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let colour = rest.strip_prefix("\u{1b}[").and_then(|behind| {
            let end = behind.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
            behind[end..].starts_with('m').then_some(end + 3)
        });
        match colour {
            Some(length) => {
                out.push_str(&rest[..length]);
                rest = &rest[length..];
            }
            None => rest = skip_one(rest),
        }
    }
    out.push_str(rest);
    out
}

fn skip_one(text: &str) -> &str {
    let mut letters = text.chars();
    letters.next();
    letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_elsewhere_steers_no_terminal() {
        for (text, shown) in [
            ("a\nb", "a\nb"),
            ("\u{1b}[1mbold\u{1b}[0m é", "\u{1b}[1mbold\u{1b}[0m é"),
            ("\u{1b}[2Ja\u{1b}]0;t\u{7}b\rc\u{9b}d", "[2Ja]0;tbcd"),
            ("a\u{1b}[1;3", "a[1;3"),
            ("\u{1b}", ""),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }
}
