//! The terminal: styles, notes on stderr, its width, and escaping. Texts of memories cannot control it.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use anstyle::{AnsiColor, Style};
#[cfg(unix)]
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
pub(crate) const REMOVED_WORD: Style = AnsiColor::Red.on_default().bold().underline();
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
pub(crate) const ADDED_WORD: Style = AnsiColor::Green.on_default().bold().underline();

static QUIET: AtomicBool = AtomicBool::new(false);

/// Omits notes and progress from now on.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints a note to stderr. Where stderr is closed, the note is lost without an error.
pub(crate) fn note(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        problem(text);
    }
}

/// Prints how far a long work has come, where stderr is a terminal.
pub(crate) fn progress(text: &str) {
    if io::stderr().is_terminal() {
        note(text);
    }
}

/// Prints an error to stderr.
pub(crate) fn problem(text: &str) {
    // Where stderr is closed, an error cannot be reported.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Columns of the terminal; `None` where stdout is none.
pub(crate) fn width() -> Option<u16> {
    /// Narrower ones would leave no room for any text.
    const NARROWEST: u16 = 40;
    if !io::stdout().is_terminal() {
        return None;
    }
    let (terminal_size::Width(width), _) = terminal_size::terminal_size()?;
    Some(width.max(NARROWEST))
}

pub(crate) fn stdout_is_watched() -> bool {
    io::stdout().is_terminal()
}

/// While it exists, the terminal shows nothing of what is typed but the end of the line.
#[cfg(unix)]
pub(crate) struct HiddenTyping(Option<Termios>);

#[cfg(unix)]
impl HiddenTyping {
    pub(crate) fn start() -> Self {
        // A pipe has no modes.
        let before = tcgetattr(io::stdin()).ok();
        if let Some(mut hidden) = before.clone() {
            hidden.local_modes.remove(LocalModes::ECHO);
            hidden.local_modes.insert(LocalModes::ECHONL);
            // A terminal that refuses shows it.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &hidden);
        }
        Self(before)
    }
}

#[cfg(unix)]
impl Drop for HiddenTyping {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// Escapes foreign text so that it cannot control a terminal, on one line.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    escape(text, false)
}

/// Escapes JSON on one line so that it cannot control a terminal. It stays JSON of the same values.
pub(crate) fn safe_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match is_driving(character) {
            // Only texts of JSON have such characters.
            true => escaped.extend(
                character
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            ),
            false => escaped.push(character),
        }
    }
    escaped
}

/// A name for a command line that a message gives: in quotes where a shell would take it for several words.
pub(crate) fn word(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.,:/@+".contains(letter);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", safe(name).replace('\'', "'\\''")),
    }
}

/// As [`safe`], with its line breaks.
pub(crate) fn safe_lines(text: &str) -> Cow<'_, str> {
    escape(text, true)
}

fn escape(text: &str, with_lines: bool) -> Cow<'_, str> {
    let drives = |character: char| is_driving(character) && !(with_lines && character == '\n');
    if !text.contains(drives) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            // `\r\n` is one line break.
            '\r' if with_lines && characters.peek() == Some(&'\n') => {}
            // Spaces replace a tab, whose width depends on its column, which the layout does not know.
            '\t' if with_lines => escaped.push_str("    "),
            _ if drives(character) => escaped.extend(character.escape_default()),
            _ => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// Control characters, and those that reorder or hide the text beside them.
fn is_driving(character: char) -> bool {
    // `is_control` includes the upper range: `\u{9b}` begins an escape sequence as `ESC [` does.
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                // Not those that join letters and pictures (200c, 200d): texts of some languages need them.
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_characters_that_reorder_text_are_shown_not_obeyed() {
        assert_eq!(safe("\u{1b}[2Jgone"), "\\u{1b}[2Jgone");
        assert_eq!(safe("a\u{202e}b\u{9b}c\rd"), "a\\u{202e}b\\u{9b}c\\rd");
        assert_eq!(safe("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(safe_lines("a\r\nb\tc\u{7}"), "a\nb    c\\u{7}");
        let json = "[\"a\u{202e}b\u{9b}c\u{2028}\u{2066}\u{e0041}\u{7f}é👩‍🚀\"]";
        let shown = r#"["a\u202eb\u009bc\u2028\u2066\udb40\udc41\u007fé👩‍🚀"]"#;
        assert_eq!(safe_json(json), shown);
        let values =
            [json, shown].map(|json| serde_json::from_str::<serde_json::Value>(json).unwrap());
        assert_eq!(values[0], values[1]);
        assert_eq!(safe("日本語 👩‍🚀 ¿qué?"), "日本語 👩‍🚀 ¿qué?");
    }
}
