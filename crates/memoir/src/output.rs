//! Output to stdout: text for people, through a pager where it is long, and JSON for programs.

use std::{
    io::{self, Write},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};

use serde::Serialize;

use crate::{
    failure::{Failure, Outcome},
    show::List,
    terminal::{self, stdout_is_watched},
};

/// Prints text for people to stdout. Escape sequences of this program are dropped where stdout is no terminal.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut text = text.trim_end_matches('\n').to_owned();
    if text.is_empty() {
        return Ok(());
    }
    text.push('\n');
    if page(&text) {
        return Ok(());
    }
    written(anstream::stdout().lock().write_all(text.as_bytes()))
}

/// Whether long texts are printed without a pager, on a terminal too.
// The setting is global, since the functions that print do not know the arguments.
static UNPAGED: AtomicBool = AtomicBool::new(false);

/// Prints long texts without a pager from now on.
pub(crate) fn do_not_page() {
    UNPAGED.store(true, Ordering::Relaxed);
}

/// Passes a text that is longer than the terminal to the pager. `false` where it is shorter, where stdout is no
/// terminal, or where no pager can be started.
fn page(text: &str) -> bool {
    if UNPAGED.load(Ordering::Relaxed) || !stdout_is_watched() {
        return false;
    }
    let rows = terminal_size::terminal_size().map(|(_, rows)| rows.0);
    let named = |name| std::env::var(name).ok();
    let Some(pager) = pager(text, rows, named("MEMOIR_PAGER").or_else(|| named("PAGER"))) else {
        return false;
    };
    let mut command = shell(&pager);
    // The user's own settings for `less` are kept.
    if std::env::var_os("LESS").is_none() {
        // Colours are passed through, and the screen is not cleared.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else {
        return false;
    };
    if let Some(mut stdin) = child.stdin.take() {
        // A user who quits the pager early closes the pipe.
        let _ = stdin.write_all(text.as_bytes());
    }
    // The shell's status for an unknown command.
    const NOT_THERE: i32 = 127;
    child
        .wait()
        .is_ok_and(|ended| ended.code() != Some(NOT_THERE))
}

/// The pager for a text on a terminal with so many rows; `None` for none.
fn pager(text: &str, rows: Option<u16>, named: Option<String>) -> Option<String> {
    // A text of as many lines as the terminal has rows is too long, since the shell's prompt takes a row.
    let is_long = text.lines().count() >= usize::from(rows?);
    let pager = named.unwrap_or_else(|| "less".to_owned());
    // `cat` would only print the text, as happens without a pager.
    (is_long && !pager.trim().is_empty() && pager != "cat").then_some(pager)
}

/// The system's shell, which runs that line.
pub(crate) fn shell(line: &str) -> Command {
    let (program, option) = match cfg!(windows) {
        true => ("cmd", "/C"),
        false => ("sh", "-c"),
    };
    let mut command = Command::new(program);
    command.args([option, line]);
    command
}

/// Writes bytes to stdout unchanged: data for another program.
pub(crate) fn data(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    written(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Prints one JSON document on a line of its own.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    data(json_line(value, stdout_is_watched())?.as_bytes())
}

/// A JSON document on a line of its own. On a terminal, which is `watched`, its texts are escaped; elsewhere they keep
/// every character.
fn json_line(value: &impl Serialize, watched: bool) -> Result<String, Failure> {
    let mut line = serde_json::to_string(value)
        .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
    if watched {
        line = terminal::safe_json(&line);
    }
    line.push('\n');
    Ok(line)
}

/// Prints the result of a command: as one JSON document with `--json`, else as text for people.
pub(crate) fn show(
    as_json: bool,
    value: &impl Serialize,
    in_words: impl FnOnce() -> String,
) -> Outcome {
    match as_json {
        true => json(value),
        false => print(&in_words()),
    }
}

/// Prints in JSON what was found or done for `all` memories: of one alone as over REST, where it is one request.
pub(crate) fn several<T: Serialize>(all: usize, done: Vec<T>) -> Result<(), Failure> {
    match done.as_slice() {
        [one] if all == 1 => json(one),
        _ => json(&List::whole(done)),
    }
}

/// Prints a list: as one JSON document with `--json`, else as text for people; `none` where it is empty.
pub(crate) fn list<T: Serialize>(
    as_json: bool,
    items: Vec<T>,
    none: &str,
    in_words: impl FnOnce(&[T]) -> String,
) -> Outcome {
    match items.is_empty() {
        _ if as_json => return json(&List::whole(items)),
        true => terminal::note(none),
        false => return print(&in_words(&items)),
    }
    Ok(())
}

/// Prints many JSON documents, one a line.
pub(crate) fn json_lines<T: Serialize>(values: impl IntoIterator<Item = T>) -> Result<(), Failure> {
    let watched = stdout_is_watched();
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    for value in values {
        written(stdout.write_all(json_line(&value, watched)?.as_bytes()))?;
    }
    written(stdout.flush())
}

fn written(result: io::Result<()>) -> Result<(), Failure> {
    result.map_err(|error| match error.kind() {
        // Rust ignores the signal of a closed pipe, so that writing fails with this error.
        io::ErrorKind::BrokenPipe => Failure::PipeClosed,
        _ => Failure::new(format!("cannot write to stdout: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_json_are_escaped_on_a_terminal_only() {
        let line = |watched| json_line(&["a\u{202e}b"], watched).ok().unwrap();
        assert_eq!(line(true), "[\"a\\u202eb\"]\n");
        assert_eq!(line(false), "[\"a\u{202e}b\"]\n");
    }

    #[test]
    fn what_is_longer_than_the_terminal_is_paged() {
        let text = "line\n".repeat(24);
        let named = |pager: &str| Some(pager.to_owned());
        assert_eq!(pager(&text, Some(24), None), named("less"));
        assert_eq!(pager(&text, Some(24), named("most")), named("most"));
        assert_eq!(pager(&text, Some(25), None), None, "it fits");
        assert_eq!(pager(&text, None, None), None, "no terminal");
        for none in ["", " ", "cat"] {
            assert_eq!(pager(&text, Some(24), named(none)), None);
        }
    }
}
