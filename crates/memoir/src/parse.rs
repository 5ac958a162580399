//! Parsers of arguments that several commands have.

use std::{
    borrow::Cow,
    ffi::OsString,
    fs::File,
    io::{self, BufRead, IsTerminal, Read},
    net::SocketAddr,
    ops::{Bound, RangeBounds},
    path::Path,
    str::FromStr,
};

use clap::builder::{OsStringValueParser, TypedValueParser};
use memoir_domain::{
    PrivateText,
    audit::Action,
    memory::{CONTENT_LIMIT, Invalid, Number},
    mend,
};
use zeroize::Zeroizing;

pub(crate) use crate::times::{time, until};
use crate::{
    failure::Failure, interrupt::unless_interrupted, show::counted, spelling::closest, terminal,
};

/// A kind of memory or an origin, by its name.
pub(crate) fn named<T: FromStr<Err = Invalid>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|invalid: Invalid| invalid.problem)
}

/// `17` or `#17`.
pub(crate) fn number(text: &str) -> Result<Number, String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    match digits.parse() {
        Ok(number) if number > 0 => Ok(Number(number)),
        _ => Err("must be the number of a memory, such as `17`".to_owned()),
    }
}

/// A reader of whole numbers in that range.
pub(crate) fn whole_number<T: TryFrom<u64>>(
    range: impl RangeBounds<u64> + Clone,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| match (range.start_bound(), range.end_bound()) {
            (Bound::Included(least), Bound::Included(most)) => {
                format!("must be a whole number from {least} to {most}")
            }
            (Bound::Included(1), _) => "must be a whole number over 0".to_owned(),
            _ => "must be a whole number, 0 or more".to_owned(),
        })
    }
}

/// An address with a port to listen on.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "must be the address of an interface with a port, such as `127.0.0.1:8750`, or `0.0.0.0:8750` for all of them"
            .to_owned()
    })
}

/// An action of the audit, by its wire name or its name in lists.
pub(crate) fn action(text: &str) -> Result<Action, String> {
    let mut known = Action::ALL.into_iter();
    let found = known.find(|action| [action.as_str(), action.label()].contains(&text));
    found.ok_or_else(|| {
        let words = Action::ALL.map(Action::label);
        let close = closest(text, words.into_iter());
        let close = close.map_or_else(String::new, |close| format!("did you mean `{close}`? "));
        format!("{close}The actions are {}", words.join(", "))
    })
}

/// Most bytes of a memory's text: four for each character, and some for white space that is trimmed.
pub(crate) const MEMORY_BYTES: u64 = 16 * CONTENT_LIMIT as u64;

/// A text from stdin, without a byte order mark; invalid parts are replaced (SPEC 2.1), and a note says so.
///
/// # Errors
/// It is too long, or in UTF-16, of which nothing readable would remain.
pub(crate) fn text_of_stdin(most_bytes: u64) -> Result<String, Failure> {
    let bytes = file(Path::new("-"), most_bytes)?;
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(Failure::new("the text on stdin is in UTF-16").hint("give it in UTF-8"));
    }
    let text = mend::text(&bytes);
    if let Cow::Owned(mended) = &text {
        let replaced = mended.matches(mend::REPLACEMENT).count() as u64;
        let replaced = counted(replaced, "part was", "parts were");
        terminal::note(&format!(
            "stdin is not UTF-8: {replaced} replaced by U+FFFD; give it in UTF-8"
        ));
    }
    Ok(without_byte_order_mark(&text).to_owned())
}

/// The text after a byte order mark, which some editors write before it.
fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

/// A line that the user types after `prompt` at a terminal, or that comes from a pipe. `what` names it in the failure.
pub(crate) fn typed_line(prompt: &str, what: &str) -> Result<Zeroizing<String>, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        terminal::note(prompt);
    }
    let mut line = Zeroizing::new(String::new());
    match stdin.lock().read_line(&mut line) {
        Ok(_) => Ok(line),
        Err(error) => Err(Failure::new(format!("cannot read {what}: {error}"))),
    }
}

/// Whether the user answers the question with yes.
pub(crate) fn is_agreed(question: &str) -> Result<bool, Failure> {
    let answer = typed_line(&format!("{question} [y/N]"), "the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// As [`typed_line`], for a secret: a terminal does not show it.
///
/// # Errors
/// It cannot be read; an interruption.
pub(crate) async fn typed_secret(what: &'static str) -> Result<Zeroizing<String>, Failure> {
    let typing = async {
        // Dropped after an interruption too: else the terminal would show nothing of what is typed afterwards.
        #[cfg(unix)]
        let _hidden = terminal::HiddenTyping::start();
        let is_shown = if cfg!(unix) { "hidden" } else { "shown" };
        let prompt = format!("{what} ({is_shown} while you type):");
        tokio::task::spawn_blocking(move || typed_line(&prompt, what)).await
    };
    match unless_interrupted(typing).await {
        Some(Ok(line)) => line,
        Some(Err(_)) => Err(Failure::new(format!("{what} was not read"))),
        None => Err(Failure::Interrupted),
    }
}

/// A secret in a variable of the environment; `None` where it is not set or empty. One that is not UTF-8 is an empty
/// text, which every reader refuses, so that no message shows it.
pub(crate) fn secret_variable(name: &str) -> Option<Zeroizing<String>> {
    let secret = std::env::var_os(name).filter(|secret| !secret.is_empty())?;
    Some(Zeroizing::new(secret.into_string().unwrap_or_default()))
}

/// A text among the arguments; invalid parts are replaced (SPEC 2.1).
pub(crate) fn text() -> impl TypedValueParser<Value = PrivateText> {
    OsStringValueParser::new()
        .map(|text: OsString| PrivateText::from(text.to_string_lossy().into_owned()))
}

/// A prompt from a file, whatever its encoding, with a note where that is not UTF-8; `-` is stdin.
pub(crate) fn prompt_file(path: &Path, most_bytes: u64) -> Result<PrivateText, Failure> {
    let bytes = file(path, most_bytes)?;
    let name = path.display();
    let no_text = || Failure::new(format!("`{name}` is no text"));
    let (text, encoding) = mend::file(&bytes).ok_or_else(no_text)?;
    if encoding != mend::Encoding::Utf8 {
        terminal::note(&format!("`{name}` is not UTF-8; read as {encoding}"));
    }
    Ok(text.as_ref().into())
}

/// A whole text file in UTF-8; `-` is stdin.
pub(crate) fn text_file(path: &Path, most_bytes: u64) -> Result<String, Failure> {
    let text = String::from_utf8(file(path, most_bytes)?);
    let text = text.map(|text| without_byte_order_mark(&text).to_owned());
    text.map_err(|error| {
        // The message gives the position and not the bytes, since they may be private text.
        let at = error.utf8_error().valid_up_to();
        Failure::new(format!(
            "`{}` is not UTF-8 text: byte {} is invalid",
            path.display(),
            at + 1
        ))
    })
}

/// A whole file; `-` is stdin.
pub(crate) fn file(path: &Path, most_bytes: u64) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        return rest_of_file(Vec::new(), io::stdin().lock(), path, most_bytes);
    }
    let file = File::open(path).map_err(|error| Failure::file("read", path, &error))?;
    rest_of_file(Vec::new(), file, path, most_bytes)
}

pub(crate) fn rest_of_file(
    mut bytes: Vec<u8>,
    rest: impl Read,
    path: &Path,
    most_bytes: u64,
) -> Result<Vec<u8>, Failure> {
    // One byte over the limit, which detects a longer file.
    let rest_bytes = (most_bytes + 1).saturating_sub(bytes.len() as u64);
    let read = rest.take(rest_bytes).read_to_end(&mut bytes);
    read.map_err(|error| Failure::file("read", path, &error))?;
    if bytes.len() as u64 > most_bytes {
        return Err(Failure::new(format!(
            "`{}` has more than {} bytes, which is the limit here",
            path.display(),
            crate::show::thousands(most_bytes)
        ))
        .hint("split it up"));
    }
    Ok(bytes)
}
