//! What to do about a failure, on the command line.

use memoir_app::Error;
use memoir_domain::{
    lifecycle::{NothingToRefine, StartRefusal},
    manage::ChangeRefusal,
};
use memoir_store as store;
use memoir_vault::{self as vault, archive::ArchiveError};

// The hints of several failures.
const SERVER: &str = "check that the server runs, and that the URL in `--database` names it";
const AGAIN: &str = "try again";
const NEWER: &str = "use the newer version of Memoir";
const FULL: &str = "free some space; what was there before is intact";
const MIGRATE: &str = "`memoir migrate` runs them, and so does `memoir serve --migrate`";
const INCONSISTENT: &str = "`memoir doctor` examines it; keep a copy of the file";
const OTHER_KEYS: &str = "restore the key store of this database, from the same time or later";

/// The hint on the command line; `None` where the message is enough.
pub(super) fn hint(error: &Error) -> Option<String> {
    let hint = match error {
        Error::NoAccount(_) => "`memoir account list` shows the accounts",
        Error::NoAgent(_) => "`memoir agent list` shows the agents of the account",
        Error::NoSession(_) => "`memoir sessions AGENT` shows an agent's sessions",
        Error::NoToken(_) => "`memoir token list` shows the tokens of the account",
        Error::NoUser(_) => "`memoir user list` shows the administrators of the account",
        Error::LastUser(_) => "add another one first: `memoir user add NAME`",
        Error::NoAccessRequest(_) => "`memoir access list AGENT` shows an agent's requests",
        Error::NoAccess(_) => "`memoir access ask AGENT --purpose TEXT` asks the agent",
        Error::ConsentNeeded(_) => {
            "the agent makes one itself, with its token in MEMOIR_TOKEN; `memoir access ask AGENT --token --purpose TEXT` asks it for one; as the owner of this machine, open the installation with `memoir installation open`"
        }
        Error::NoMemory(_) => "`memoir ledger AGENT --all` shows all memories with their numbers",
        Error::Discarded(_) => "`memoir restore AGENT NUMBER` brings it back",
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
                "under the loss guard `archive`, a session of the mode `full` may do more, with a model that understands texts"
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
        Error::NoModel | Error::RulesOnly(_) => {
            "set one with `memoir agent set NAME model PROVIDER:NAME`; `builtin:careful` cannot read texts"
        }
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
        Error::NoRoom | Error::Contended => AGAIN,
        Error::Store(error) => store_hint(error)?,
        Error::Keys(vault::Error::Exposed { path, .. }) => {
            return Some(format!(
                "`chmod 600 {path}`; if others may have read it, run `memoir key rotate` after that"
            ));
        }
        Error::Keys(error) => keys_hint(error)?,
        Error::Archive(error) => archive_hint(error)?,
        Error::Inconsistent(_) => INCONSISTENT,
        Error::Erased { .. } => "`memoir audit verify NAME` still checks its log",
        Error::KeyRemains { .. } => {
            "Memoir destroys it as soon as it can: every command tries, and `memoir serve` does every minute; `memoir doctor` names it until then"
        }
        Error::NoKey(_) => OTHER_KEYS,
        Error::Sealed(_) | Error::Tampered(_) => {
            "`memoir audit verify --all` names everything that does not fit"
        }
        Error::Checkpoint(_) => {
            "give a note as `memoir audit checkpoint` printed it, and its database with `--database`"
        }
        Error::Adopt(_) => "`memoir import` of lines of JSON still imports the memories alone",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn store_hint(error: &store::Error) -> Option<&'static str> {
    Some(match error {
        store::Error::Busy => AGAIN,
        store::Error::OutcomeUnknown(_) | store::Error::Lost(_) => {
            "check the result before you repeat it: `memoir audit list AGENT` ends with the last change"
        }
        store::Error::Newer { .. } => NEWER,
        store::Error::Full => FULL,
        store::Error::Open { problem, .. } if misses_migrations(problem) => MIGRATE,
        store::Error::Open { location, .. } if location.starts_with("postgres:") => SERVER,
        store::Error::Unreachable { .. } => SERVER,
        store::Error::Open { .. } => {
            "check that its folder exists and that you may write there, or give another path with `--database sqlite:PATH`; where the disk is read-only, copy the database and its keys (docs/troubleshooting.md)"
        }
        store::Error::NotADatabase(_) => {
            "give another path with `--database sqlite:PATH`; if it was one, restore a backup"
        }
        store::Error::Damaged(_) => {
            "keep a copy of the file, and restore a backup of the database and its key store"
        }
        store::Error::ReadOnly => {
            "check the permissions of the file and of its folder, or copy the database, its key store and the master key to a folder that you may write to (docs/troubleshooting.md); a server that follows another one is read-only until it is promoted"
        }
        store::Error::Inconsistent { .. } => INCONSISTENT,
        _ => return None,
    })
}

/// Whether that is the problem of a database. The stores have no error of their own for it; the message shows it.
fn misses_migrations(problem: &str) -> bool {
    problem.starts_with("migrations")
}

fn keys_hint(error: &vault::Error) -> Option<&'static str> {
    Some(match error {
        vault::Error::Busy => AGAIN,
        vault::Error::Newer { .. } => NEWER,
        vault::Error::Full => FULL,
        vault::Error::Unusable { problem, .. } if misses_migrations(problem) => MIGRATE,
        vault::Error::NotAKeyStore(_) => OTHER_KEYS,
        vault::Error::Unusable { .. } | vault::Error::Unreachable { .. } => {
            "`keys.url` in the configuration, or MEMOIR_KEYS_URL, names it; without either it is a file"
        }
        vault::Error::MasterKeyLost { .. } => {
            "restore the file from a copy, or set MEMOIR_MASTER_KEY; without it no sealed data can be read"
        }
        vault::Error::WrongMasterKey { .. } => {
            "give the master key that this key store was made or last rotated with"
        }
        vault::Error::Missing(_) => "restore it: without it nothing in this database can be read",
        vault::Error::NotAMasterKey { .. } => "restore the key from a copy",
        vault::Error::ReadOnly | vault::Error::File { .. } => {
            "check the permissions of the file and of its folder"
        }
        _ => return None,
    })
}

fn archive_hint(error: &ArchiveError) -> Option<&'static str> {
    Some(match error {
        ArchiveError::NotAnArchive => {
            "`memoir export AGENT --format archive --output FILE` writes one"
        }
        ArchiveError::Passphrase => "every character of it counts, upper and lower case too",
        ArchiveError::CutOff | ArchiveError::Changed | ArchiveError::Trailing => {
            "copy the original file again"
        }
        _ => return None,
    })
}
