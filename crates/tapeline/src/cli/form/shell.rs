//! A line as a POSIX shell cuts it into words, without its expansions.

/// Longest line, bytes.
const MAX_LINE: usize = 16 << 10;

/// The words of one simple command.
///
/// # Errors
/// A sentence about what makes it more than that.
pub(crate) fn words(line: &str) -> Result<Vec<String>, String> {
    let line = line.trim();
    if line.len() > MAX_LINE {
        return Err(format!("a command has at most {MAX_LINE} bytes"));
    }
    let mut cutter = Cutter::default();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        match letter {
            '\\' if next == Some('\r') => {}
            '\\' => match letters.next() {
                Some('\n') => {}
                Some(letter) => cutter.push(letter)?,
                None => return Err("nothing follows the backslash at the end".to_owned()),
            },
            '\'' => {
                cutter.begin();
                loop {
                    match letters.next() {
                        Some('\'') => break,
                        Some(letter) => cutter.push(letter)?,
                        None => return Err(open('\'')),
                    }
                }
            }
            '"' => {
                cutter.begin();
                loop {
                    let letter = letters.next().ok_or_else(|| open('"'))?;
                    let next = letters.peek().copied();
                    match letter {
                        '"' => break,
                        '\\' if matches!(next, Some('$' | '`' | '"' | '\\')) => {
                            letters
                                .next()
                                .into_iter()
                                .try_for_each(|it| cutter.push(it))?;
                        }
                        '\\' if next == Some('\n') => {
                            letters.next();
                        }
                        '`' => return Err(expansion("`")),
                        '$' if expands(next) => return Err(expansion("$")),
                        letter => cutter.push(letter)?,
                    }
                }
            }
            ' ' | '\t' => cutter.end(),
            '#' if cutter.word.is_none() => break,
            '\n' | '\r' => return Err("more than one line: the form is for one command".to_owned()),
            '|' | '&' | ';' | '<' | '>' | '(' | ')' => {
                return Err(format!(
                    "'{letter}' is the shell's: the form is for one command"
                ));
            }
            '`' => return Err(expansion("`")),
            '$' if expands(next) || matches!(next, Some('\'' | '"')) => return Err(expansion("$")),
            letter => cutter.push(letter)?,
        }
    }
    cutter.end();
    Ok(cutter.words)
}

/// Whether a dollar before this begins something that a shell replaces.
fn expands(next: Option<char>) -> bool {
    next.is_some_and(|next| next.is_ascii_alphanumeric() || "_{(@*#?-$!".contains(next))
}

fn open(mark: char) -> String {
    format!("a quotation mark is not closed: {mark}")
}

fn expansion(sign: &str) -> String {
    format!("'{sign}' asks a shell to put something in: the form has no shell")
}

#[derive(Default)]
struct Cutter {
    words: Vec<String>,
    word: Option<String>,
}

impl Cutter {
    /// There is a word, even if nothing comes.
    fn begin(&mut self) {
        self.word.get_or_insert_default();
    }

    fn push(&mut self, letter: char) -> Result<(), String> {
        if letter.is_control() {
            return Err("a command has no control characters".to_owned());
        }
        self.word.get_or_insert_default().push(letter);
        Ok(())
    }

    fn end(&mut self) {
        self.words.extend(self.word.take());
    }
}
