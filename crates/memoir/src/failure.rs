//! How a command ends: done, refused, or with a failure, printed on stderr with its hint.

mod hints;

use std::fmt::{self, Write};

use memoir_app::{Error, Examination, Severity};
use memoir_domain::memory::Number;
use serde_json::{Value, json};

use hints::hint;

use crate::{
    show::{self, TextTable},
    terminal::{BOLD, CYAN, RED, safe},
};

/// The code of a failure where the database of a program's memory is missing.
pub(crate) const NO_DATABASE: &str = "no_database";
/// The code of a refusal by a closed installation.
pub(crate) const CLOSED: &str = "installation_closed";
/// A service does not know the token.
pub(crate) const UNAUTHORIZED: &str = "unauthorized";
/// The most lines of a file that are listed.
pub(crate) const LINES_LISTED: usize = 20;

/// How a command ends.
pub(crate) type Outcome = Result<(), Failure>;

#[derive(Debug)]
pub(crate) enum Failure {
    Shown(Box<ShownFailure>),
    /// The command ran to its end and did not do its work; its output says why.
    Refused,
    /// The reader closed stdout, as with `| head`.
    PipeClosed,
    /// By Ctrl-C or a termination signal of the system.
    Interrupted,
}

#[derive(Debug, Default)]
pub(crate) struct ShownFailure {
    /// As in the service's responses; `None` for failures that only a command line has.
    code: Option<&'static str>,
    message: String,
    /// A list or a table that belongs to the failure.
    details: Option<String>,
    hint: Option<String>,
    /// Of a command about several memories: a list of those that failed, for programs.
    failed: Value,
}

/// The error code for data that was modified outside Memoir.
pub(crate) const TAMPERED: &str = "tampered";

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Shown(Box::new(ShownFailure {
            message: message.into(),
            ..ShownFailure::default()
        }))
    }

    /// Sets the code of a service's response.
    #[must_use]
    pub(crate) fn code(mut self, code: &'static str) -> Self {
        if let Self::Shown(failure) = &mut self {
            failure.code = Some(code);
        }
        self
    }

    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.with_hint(Some(hint))
    }

    /// Sets the hint, where one is given.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: Option<impl Into<String>>) -> Self {
        if let (Self::Shown(failure), Some(hint)) = (&mut self, hint) {
            failure.hint = Some(hint.into());
        }
        self
    }

    /// Sets the hint to the name that was probably meant, where one is similar.
    #[must_use]
    pub(crate) fn with_closest(self, name: Option<&str>) -> Self {
        self.with_hint(name.map(|name| format!("did you mean `{name}`?")))
    }

    /// This failure and a second one; of an end that says nothing, the second one alone.
    #[must_use]
    pub(crate) fn and(self, second: Self) -> Self {
        match (self, second) {
            (Self::Shown(mut first), Self::Shown(second)) => {
                first.message += &format!("; and {}", second.message);
                Self::Shown(first)
            }
            (_, second) => second,
        }
    }

    /// The outcome of a command that ran to its end, and did its work or did not.
    pub(crate) fn refused_unless(is_done: bool) -> Outcome {
        if is_done { Ok(()) } else { Err(Self::Refused) }
    }

    /// The outcome of a command about `all` memories: a failure that names each of those that failed, if any.
    ///
    /// # Errors
    /// One of them failed.
    pub(crate) fn of_several(all: usize, failed: Vec<(Number, Self)>) -> Outcome {
        if failed.is_empty() {
            return Ok(());
        }
        let memories = show::counted(all as u64, "memory", "memories");
        let mut failure = Self::new(format!("{} of {memories} failed", failed.len()));
        let told = failed.into_iter().filter_map(|(number, one)| match one {
            Self::Shown(one) => Some((
                format!("{number}: {}\n", safe(&one.one_line())),
                json!({"number": number, "code": one.code.unwrap_or("failed"), "error": one.message}),
            )),
            Self::Refused | Self::PipeClosed | Self::Interrupted => None,
        });
        if let Self::Shown(shown) = &mut failure {
            let (lines, failed): (String, Vec<Value>) = told.unzip();
            (shown.details, shown.failed) = (Some(lines), failed.into());
        }
        Err(failure)
    }

    /// A closed installation refuses a caller without the agent's token (SPEC 5.5). `done` ends the sentence.
    /// `token`: how the agent's token gives access.
    pub(crate) fn closed(done: &str, is_configured: bool, token: &str) -> Self {
        let failure = Self::new(format!("this installation is closed: {done}")).code(CLOSED);
        let open = match is_configured {
            true => {
                "remove `closed = true` from the configuration and open it with `memoir installation open`"
            }
            false => "open it with `memoir installation open`",
        };
        failure.hint(format!("{token}, or, as the owner of this machine, {open}"))
    }

    pub(crate) fn has_code(&self, codes: &[&'static str]) -> bool {
        matches!(self, Self::Shown(failure) if failure.code.is_some_and(|code| codes.contains(&code)))
    }

    /// The finding of an examination that failed; `area` is what was examined.
    pub(crate) fn into_finding(self, area: &'static str) -> Examination {
        let (finding, advice) = match self {
            Self::Shown(failure) => failure.into_parts(),
            Self::Refused => ("it was not done".to_owned(), None),
            Self::PipeClosed => ("stdout is closed".to_owned(), None),
            Self::Interrupted => ("it was interrupted".to_owned(), None),
        };
        Examination {
            area,
            severity: Severity::Problem,
            finding,
            advice,
        }
    }

    /// A file that cannot be read or written.
    pub(crate) fn file(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        // An error of a temporary file names that file, which the user does not know.
        let inner = error.get_ref().and_then(std::error::Error::source);
        let problem = inner.map_or_else(|| error.to_string(), ToString::to_string);
        Self::new(format!("cannot {doing} `{}`: {problem}", path.display()))
    }
}

impl fmt::Display for ShownFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = safe(&self.message);
        write!(formatter, "{RED}error{RED:#}{BOLD}:{BOLD:#} {message}")?;
        if let Some(details) = &self.details {
            // The details are printed unchanged: they may have colours, and foreign text in them is escaped already.
            write!(formatter, "\n\n{}", details.trim_end())?;
        }
        match self.hint.as_deref().map(safe) {
            Some(hint) => write!(formatter, "\n\n{CYAN}hint{CYAN:#}{BOLD}:{BOLD:#} {hint}"),
            None => Ok(()),
        }
    }
}

/// Of the application's errors, and of those that it has of the crates below it.
impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        Self::Shown(Box::new(ShownFailure {
            code: Some(error.code()),
            message: message(&error),
            details: details(&error),
            hint: hint(&error),
            failed: Value::Null,
        }))
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

fn details(error: &Error) -> Option<String> {
    match error {
        Error::BadLines { bad, .. } => Some(bad_lines(bad)),
        Error::InTheWay { obstacles, .. } | Error::BeyondAgent { obstacles, .. } => {
            let mut table = TextTable::new(["record", "time", "action", "memories", "session"]);
            for obstacle in obstacles {
                table.row([
                    obstacle.seq.to_string(),
                    show::moment(obstacle.recorded_at),
                    obstacle.action.label().to_owned(),
                    show::numbers(&obstacle.memories),
                    show::or_blank(obstacle.session_id),
                ]);
            }
            Some(table.to_string())
        }
        _ => None,
    }
}

/// The first lines that cannot be read, and the number of the others.
pub(crate) fn bad_lines(bad: &[(usize, String)]) -> String {
    let mut text = String::new();
    for (number, problem) in bad.iter().take(LINES_LISTED) {
        let _ = writeln!(text, "line {number}: {}", safe(problem));
    }
    if bad.len() > LINES_LISTED {
        let more = (bad.len() - LINES_LISTED) as u64;
        let _ = writeln!(text, "and {} more", show::thousands(more));
    }
    text
}

impl ShownFailure {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "type": "error",
            "code": self.code.unwrap_or("failed"),
            "error": self.message,
            "hint": self.hint,
            "failed": self.failed,
        })
    }

    pub(crate) fn one_line(&self) -> String {
        let hint = self.hint.as_deref();
        let hint = hint.map_or_else(String::new, |hint| format!(" ({hint})"));
        // The text must fit on one line, since a log has one line for each failure.
        format!("{}{hint}", self.message).replace(['\n', '\r'], " ")
    }

    pub(crate) fn into_parts(self) -> (String, Option<String>) {
        (self.message, self.hint)
    }
}
