//! How a command ends: done, refused, or with a failure that is told on stderr with its hint.

use std::fmt::{self, Write};

use memoir_app::Error;
use memoir_store as store;
use memoir_vault::archive::ArchiveError;

use crate::{
    show::{self, TextTable},
    terminal::{BOLD, CYAN, RED, safe},
};

/// Most bad lines of a file that are listed.
const LINES_LISTED: usize = 20;

/// How a command that ran to its end came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// What was asked for was done.
    Done,
    /// It was not, and the outcome says so already.
    Refused,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

/// What a command comes to.
pub(crate) type Outcome = Result<Ending, Failure>;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// To be told.
    ShownFailure(Box<ShownFailure>),
    /// Nobody reads stdout any more, as with `| head`.
    PipeClosed,
}

/// What is told of a failure.
#[derive(Debug)]
pub(crate) struct ShownFailure {
    /// As the service's answers have it; `None` for what only a command line can meet.
    code: Option<&'static str>,
    message: String,
    /// A list or a table that belongs to it.
    details: Option<String>,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::ShownFailure(Box::new(ShownFailure {
            code: None,
            message: message.into(),
            details: None,
            hint: None,
        }))
    }

    /// With what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::ShownFailure(told) = &mut self {
            told.hint = Some(hint.into());
        }
        self
    }

    /// A file that cannot be read or written.
    pub(crate) fn file(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        // An error of a temporary file names that file, which nobody has asked for.
        let inner = error.get_ref().and_then(std::error::Error::source);
        let problem = inner.map_or_else(|| error.to_string(), ToString::to_string);
        Self::new(format!("cannot {doing} `{}`: {problem}", path.display()))
    }
}

impl fmt::Display for ShownFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{RED}error{RED:#}{BOLD}:{BOLD:#} {}",
            safe(&self.message)
        )?;
        if let Some(details) = &self.details {
            write!(formatter, "\n\n{}", details.trim_end())?;
        }
        match &self.hint {
            Some(hint) => write!(
                formatter,
                "\n\n{CYAN}hint{CYAN:#}{BOLD}:{BOLD:#} {}",
                safe(hint)
            ),
            None => Ok(()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::ShownFailure(Box::new(ShownFailure {
            code: Some(error.code()),
            message: message(&error),
            details: details(&error),
            hint: error.hint().or_else(|| hint(&error).map(str::to_owned)),
        }))
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Error::Store(error).into()
    }
}

fn message(error: &Error) -> String {
    match error {
        Error::BadLines { bad, total } => format!(
            "nothing was imported: {} of {} cannot be read",
            show::thousands(bad.len() as u64),
            show::counted(*total as u64, "line", "lines"),
        ),
        other => other.to_string(),
    }
}

/// Hints that only a command line can give.
fn hint(error: &Error) -> Option<&'static str> {
    match error {
        Error::Store(store::Error::Open { problem, .. })
        | Error::Keys(memoir_vault::Error::Unusable { problem, .. })
            if problem.starts_with("migrations") =>
        {
            Some("`memoir migrate` runs them, and so does `memoir serve --migrate`")
        }
        Error::Store(store::Error::Open { location, .. }) if location.starts_with("postgres:") => {
            Some("check that the server runs, and that the URL in `--database` names it")
        }
        Error::Keys(memoir_vault::Error::Unusable { .. }) => Some(
            "`keys.url` in the configuration, or MEMOIR_KEYS_URL, names it; without either it is a file",
        ),
        Error::Store(store::Error::Open { .. }) => Some(
            "check that its folder exists and that you may write there, or give another path with `--database sqlite:PATH`",
        ),
        Error::NameTaken(_) => {
            Some("names are compared without regard to case; choose another one")
        }
        Error::NotDiscarded(_) => Some(
            "a memory can be restored that was discarded, or of which sessions let words go; `memoir kept AGENT` lists these by the numbers that bring them back",
        ),
        Error::Archive(ArchiveError::NotAnArchive) => {
            Some("`memoir export AGENT --format archive --output FILE` writes one")
        }
        Error::Archive(ArchiveError::Passphrase) => {
            Some("every character of it counts, upper and lower case too")
        }
        Error::Archive(ArchiveError::CutOff | ArchiveError::Changed | ArchiveError::Trailing) => {
            Some("copy the file anew from where it was written")
        }
        Error::Checkpoint(_) => Some(
            "give a note as `memoir audit checkpoint` printed it, and the database that it is of with `--database`",
        ),
        Error::Adopt(_) => Some("`memoir import` of lines of JSON still takes the memories alone"),
        Error::Connect(_) => Some("`memoir doctor` looks over the models in use"),
        _ => None,
    }
}

fn details(error: &Error) -> Option<String> {
    match error {
        Error::BadLines { bad, .. } => Some(bad_lines(bad)),
        Error::InTheWay { obstacles, .. } | Error::BeyondAgent { obstacles, .. } => {
            let mut table = TextTable::new(["record", "time", "action", "memories", "session"]);
            for obstacle in obstacles {
                table.row([
                    obstacle.seq.to_string(),
                    show::moment(obstacle.recorded_at),
                    memoir_domain::labels::action(obstacle.action).to_owned(),
                    show::numbers(&obstacle.memories),
                    obstacle
                        .session_id
                        .map(|id| id.to_string())
                        .unwrap_or_default(),
                ]);
            }
            Some(table.to_string())
        }
        _ => None,
    }
}

/// The first lines that cannot be read, and how many more there are.
pub(crate) fn bad_lines(bad: &[(usize, String)]) -> String {
    let mut text = String::new();
    for (number, problem) in bad.iter().take(LINES_LISTED) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "line {number}: {}", safe(problem));
    }
    if bad.len() > LINES_LISTED {
        let more = (bad.len() - LINES_LISTED) as u64;
        let _ = writeln!(text, "and {} more", show::thousands(more));
    }
    text
}

impl ShownFailure {
    /// For a program.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "type": "error",
            "code": self.code.unwrap_or("failed"),
            "error": self.message,
            "hint": self.hint,
        })
    }

    /// What happened, on one line.
    pub(crate) fn one_line(&self) -> String {
        let hint = self.hint.as_deref();
        let hint = hint.map_or_else(String::new, |hint| format!(" ({hint})"));
        format!("{}{hint}", self.message).replace(['\n', '\r'], " ")
    }

    /// What happened, and what to do about it.
    pub(crate) fn into_parts(self) -> (String, Option<String>) {
        (self.message, self.hint)
    }
}
