//! How a command ends: done, refused, or with a failure, printed on stderr with its hint.

use std::fmt::{self, Write};

use memoir_app::{Error, Examination, Severity};
use memoir_domain::{
    lifecycle::{NothingToRefine, StartRefusal},
    manage::ChangeRefusal,
};
use memoir_store as store;
use memoir_vault::archive::ArchiveError;

use crate::{
    options::TOKEN,
    show::{self, TextTable},
    terminal::{BOLD, CYAN, RED, safe},
};

/// The code of a refusal by a closed installation.
const CLOSED: &str = "installation_closed";
/// Most bad lines of a file that are listed.
const LINES_LISTED: usize = 20;

/// How a command that ran to its end ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The command did its work.
    Done,
    /// It did not, and its output says why.
    Refused,
    /// The user pressed Ctrl-C.
    Interrupted,
}

/// The outcome of a command.
pub(crate) type Outcome = Result<Ending, Failure>;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A failure to show.
    ShownFailure(Box<ShownFailure>),
    /// The reader closed stdout, as with `| head`.
    PipeClosed,
}

/// What is shown of a failure.
#[derive(Debug)]
pub(crate) struct ShownFailure {
    /// As in the service's responses; `None` for failures that only a command line has.
    code: Option<&'static str>,
    message: String,
    /// A list or a table that belongs to the failure.
    details: Option<String>,
    hint: Option<String>,
}

/// The error code for data that was modified outside Memoir.
pub(crate) const TAMPERED: &str = "tampered";

impl Failure {
    /// Whether the stored data was modified outside Memoir.
    pub(crate) fn is_tampered(&self) -> bool {
        match self {
            Self::ShownFailure(failure) => failure.code == Some(TAMPERED),
            Self::PipeClosed => false,
        }
    }

    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::ShownFailure(Box::new(ShownFailure {
            code: None,
            message: message.into(),
            details: None,
            hint: None,
        }))
    }

    /// Sets the code of a service's response.
    #[must_use]
    pub(crate) fn code(mut self, code: &'static str) -> Self {
        if let Self::ShownFailure(failure) = &mut self {
            failure.code = Some(code);
        }
        self
    }

    /// Sets the hint.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::ShownFailure(failure) = &mut self {
            failure.hint = Some(hint.into());
        }
        self
    }

    /// A closed installation refuses a caller without the agent's token (SPEC 5.5). `done` ends the sentence.
    pub(crate) fn closed(done: &str, is_configured: bool) -> Self {
        let mut failure = Self::new(format!("this installation is closed: {done}"));
        if let Self::ShownFailure(shown) = &mut failure {
            shown.code = Some(CLOSED);
        }
        let open = match is_configured {
            true => {
                "remove `closed = true` from the configuration and open it with `memoir installation open`"
            }
            false => "open it with `memoir installation open`",
        };
        failure.hint(format!(
            "give the agent's token in {TOKEN}, or, as the owner of this machine, {open}"
        ))
    }

    /// Whether a closed installation is the reason.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self, Self::ShownFailure(failure) if failure.code == Some(CLOSED))
    }

    /// The finding of an examination that failed; `area` is what was examined.
    pub(crate) fn into_finding(self, area: &'static str) -> Examination {
        let (finding, advice) = match self {
            Self::ShownFailure(failure) => failure.into_parts(),
            Self::PipeClosed => ("stdout is closed".to_owned(), None),
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
        write!(
            formatter,
            "{RED}error{RED:#}{BOLD}:{BOLD:#} {}",
            safe(&self.message)
        )?;
        if let Some(details) = &self.details {
            // The details are printed unchanged: they may have colours, and foreign text in them is escaped already.
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
            hint: hint(&error),
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

/// The hint for a database on a server that cannot be opened.
const SERVER: &str = "check that the server runs, and that the URL in `--database` names it";

/// The hint on the command line; `None` where the message is enough.
fn hint(error: &Error) -> Option<String> {
    let hint = match error {
        Error::NoAccount(_) => "`memoir account list` shows the accounts",
        Error::NoAgent(_) => "`memoir agent list` shows the agents of the account",
        Error::NoSession(_) => "`memoir sessions AGENT` shows an agent's sessions",
        Error::NoUser(_) => "`memoir user list` shows the administrators of the account",
        Error::LastUser(_) => "add another one first: `memoir user add NAME`",
        Error::NoAccessRequest(_) => "`memoir access list AGENT` shows an agent's requests",
        Error::NoAccess(_) => "`memoir access ask AGENT --purpose TEXT` asks the agent",
        Error::ConsentNeeded(_) => {
            "the agent makes one itself, with its token in MEMOIR_TOKEN; `memoir access ask AGENT --token --purpose TEXT` asks it for one; as the owner of this machine, open the installation with `memoir installation open`"
        }
        Error::NoMemory(_) => "`memoir ledger AGENT --all` shows all memories with their numbers",
        Error::Start(StartRefusal::SessionOpen(_)) => {
            "wait for it to end, or end it with `memoir cancel SESSION`; if its process died, it is closed as soon as its lease lapses"
        }
        Error::Change(ChangeRefusal::SessionRunning(_)) => {
            "`memoir cancel SESSION` ends it, `memoir rollback SESSION` undoes it"
        }
        Error::Start(StartRefusal::NothingToRefine(reason)) => match reason {
            NothingToRefine::NoCoreMemories => "save core memories with `memoir remember` first",
            NothingToRefine::AllProtected => {
                "`memoir unprotect AGENT NUMBER` opens a memory to sessions; `immutable_tags` is the list of tags"
            }
            NothingToRefine::NoDuplicates => {
                "under the loss guard `archive`, a session of the mode `full` may do more"
            }
        },
        Error::Change(ChangeRefusal::NotArchival(_)) => {
            "`memoir archive AGENT` lists the archival memories; `memoir restore` brings a discarded one back"
        }
        Error::Start(StartRefusal::Inactive) => {
            "`memoir agent set NAME active true` puts it into service"
        }
        Error::Unconfirmed { .. } => {
            "send the same text again within the hour to set it all the same"
        }
        Error::NoModel => {
            "set one with `memoir agent set NAME model PROVIDER:NAME`, or try `--model builtin:careful`, which needs no network"
        }
        Error::RulesOnly(_) => "set another model with `memoir agent set NAME model PROVIDER:NAME`",
        Error::InTheWay { .. } => "`--cascade` undoes these too",
        Error::NotReplaceable(_) => {
            "restore its page; `memoir unprotect` removes the flag, `memoir promote` makes an archival memory core, and a summary is changed in a session"
        }
        Error::ImportInTheWay { .. } => {
            "undo the sessions since with `memoir rollback SESSION`, or remove the flag with `memoir unprotect`"
        }
        Error::BeyondAgent { .. } => "an administrator can undo it",
        Error::BadLines { .. } => "correct them, or import the rest with `--skip-bad`",
        Error::NameTaken(_) => "names are compared without regard to case; choose another one",
        Error::Connect(_) => "`memoir doctor` checks the models in use",
        Error::Quota(reached) => {
            return Some(format!(
                "`{} = NUMBER` in the section `[quotas]` of the configuration raises it, and 0 is no limit; `memoir doctor` shows what is used",
                reached.quota.key()
            ));
        }
        Error::RefusedLately { .. } => {
            "an agent that wants a session opens one itself, with `open_refinement`"
        }
        Error::NoRoom
        | Error::Contended
        | Error::Store(store::Error::Busy)
        | Error::Keys(memoir_vault::Error::Busy) => "try again",
        Error::Store(store::Error::OutcomeUnknown(_) | store::Error::Lost(_)) => {
            "check the result before you repeat it: `memoir audit list AGENT` ends with the last change"
        }
        Error::Store(store::Error::Newer { .. })
        | Error::Keys(memoir_vault::Error::Newer { .. }) => "use the newer version of Memoir",
        Error::Store(store::Error::Full) | Error::Keys(memoir_vault::Error::Full) => {
            "free some space; what was there before is intact"
        }
        Error::Store(store::Error::Open { problem, .. })
        | Error::Keys(memoir_vault::Error::Unusable { problem, .. })
            // The stores have no error of their own for missing migrations; the message shows it.
            if problem.starts_with("migrations") =>
        {
            "`memoir migrate` runs them, and so does `memoir serve --migrate`"
        }
        Error::Store(store::Error::Open { location, .. }) if location.starts_with("postgres:") => {
            SERVER
        }
        Error::Store(store::Error::Unreachable { .. }) => SERVER,
        Error::Store(store::Error::Open { .. }) => {
            "check that its folder exists and that you may write there, or give another path with `--database sqlite:PATH`"
        }
        Error::Store(store::Error::NotADatabase(_)) => {
            "give another path with `--database sqlite:PATH`"
        }
        Error::Store(store::Error::ReadOnly) => {
            "check the permissions of the file and of its folder; a server that follows another one is read-only until it is promoted"
        }
        Error::Inconsistent(_) | Error::Store(store::Error::Inconsistent { .. }) => {
            "`memoir doctor` examines it; keep a copy of the file"
        }
        Error::Erased { .. } => "`memoir audit verify NAME` still checks its log",
        Error::KeyRemains { .. } => {
            "Memoir destroys it as soon as it can: every command tries, and `memoir serve` does every minute; `memoir doctor` names it until then"
        }
        Error::NoKey(_) | Error::Keys(memoir_vault::Error::NotAKeyStore(_)) => {
            "restore the key store of this database, from the same time or later"
        }
        Error::Keys(
            memoir_vault::Error::Unusable { .. } | memoir_vault::Error::Unreachable { .. },
        ) => {
            "`keys.url` in the configuration, or MEMOIR_KEYS_URL, names it; without either it is a file"
        }
        Error::Keys(memoir_vault::Error::MasterKeyLost { .. }) => {
            "restore the file from a copy, or set MEMOIR_MASTER_KEY; without it no sealed data can be read"
        }
        Error::Keys(memoir_vault::Error::WrongMasterKey { .. }) => {
            "give the master key that this key store was made or last rotated with"
        }
        Error::Keys(memoir_vault::Error::Missing(_)) => {
            "restore it: without it nothing in this database can be read"
        }
        Error::Keys(memoir_vault::Error::Exposed { path, .. }) => {
            return Some(format!(
                "`chmod 600 {path}`; if others may have read it, run `memoir key rotate` after that"
            ));
        }
        Error::Keys(memoir_vault::Error::NotAMasterKey { .. }) => {
            "restore the key from a copy"
        }
        Error::Keys(memoir_vault::Error::ReadOnly | memoir_vault::Error::File { .. }) => {
            "check the permissions of the file and of its folder"
        }
        Error::Sealed(_) | Error::Tampered(_) => "`memoir audit verify --all` names everything that does not fit",
        Error::Archive(ArchiveError::NotAnArchive) => {
            "`memoir export AGENT --format archive --output FILE` writes one"
        }
        Error::Archive(ArchiveError::Passphrase) => {
            "every character of it counts, upper and lower case too"
        }
        Error::Archive(ArchiveError::CutOff | ArchiveError::Changed | ArchiveError::Trailing) => {
            "copy the original file again"
        }
        Error::Checkpoint(_) => {
            "give a note as `memoir audit checkpoint` printed it, and its database with `--database`"
        }
        Error::Adopt(_) => "`memoir import` of lines of JSON still imports the memories alone",
        _ => return None,
    };
    Some(hint.to_owned())
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

/// The first lines that cannot be read, and the number of the others.
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
    /// The failure as JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "type": "error",
            "code": self.code.unwrap_or("failed"),
            "error": self.message,
            "hint": self.hint,
        })
    }

    /// The message and its hint, on one line.
    pub(crate) fn one_line(&self) -> String {
        let hint = self.hint.as_deref();
        let hint = hint.map_or_else(String::new, |hint| format!(" ({hint})"));
        // The text must fit on one line, since a log has one line for each failure.
        format!("{}{hint}", self.message).replace(['\n', '\r'], " ")
    }

    /// The message, and its hint.
    pub(crate) fn into_parts(self) -> (String, Option<String>) {
        (self.message, self.hint)
    }
}
