//! The memory that a program's hooks and tools use, and what `memoir setup` wrote about it.
//!
//! A folder's environment (a task runner, a program's settings for one project) must not choose whose memory is read,
//! nor where an agent's token goes. So the command line of `setup` says all of it, and the environment is not read
//! beside it. A command without it, as a plugin has it, uses what `setup` wrote for the same program: both have one
//! memory. Only where nothing was written does the environment count (SPEC 5.5).

use std::{collections::BTreeSet, fs, path::PathBuf};

use memoir_domain::Timestamp;
use serde::{Deserialize, Serialize};

use super::{AgentChoice, state};
use crate::{failure::Failure, options::Global, private_file, remote::ServiceAddress};

/// The command line of Memoir for a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramCall {
    pub(crate) program: PathBuf,
    /// The options that choose the memory and its location.
    pub(crate) arguments: Vec<String>,
    /// The agent; `None` for one of each project.
    pub(crate) agent: Option<String>,
}

/// The command line of Memoir, and the time of its setup.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WrittenCall {
    #[serde(flatten)]
    pub(crate) call: ProgramCall,
    /// The installation (`Installation::place`), or the address of the service.
    pub(crate) place: String,
    pub(crate) set_up_at: Timestamp,
    /// The identifier of the agent, which survives a renaming; `None` with an agent for each project.
    #[serde(default)]
    pub(crate) agent_id: Option<String>,
    /// The names that the agent had in the calls before: conversations wait under these.
    #[serde(default)]
    pub(crate) former_names: BTreeSet<String>,
}

impl WrittenCall {
    /// This call in the place of an earlier one, whose agent may be the same under another name.
    pub(crate) fn after(mut self, earlier: Option<&Self>) -> Self {
        if let Some(earlier) = earlier
            && self.agent_id.is_some()
            && self.agent_id == earlier.agent_id
            && self.place == earlier.place
        {
            let names = earlier.former_names.iter().chain(&earlier.call.agent);
            let names = names.filter(|name| Some(*name) != self.call.agent.as_ref());
            self.former_names = names.cloned().collect();
        }
        self
    }
}

const FOLDER: &str = "programs";

fn path_of(program: &str) -> Result<PathBuf, Failure> {
    state::file(&format!("{FOLDER}/{program}.json"))
}

/// The command line that `setup` wrote for a program; `None` where it is not set up, or where that cannot be read.
pub(crate) fn read(program: &str) -> Option<WrittenCall> {
    let text = fs::read(path_of(program).ok()?).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The command lines of all programs, by the programs' names.
pub(crate) fn all() -> Vec<(String, WrittenCall)> {
    state::files(FOLDER)
        .filter_map(|file| {
            let program = file.file_stem()?.to_str()?.to_owned();
            let written = read(&program)?;
            Some((program, written))
        })
        .collect()
}

/// Records the command line that a program calls from now on.
pub(crate) fn note(program: &str, call: &WrittenCall) -> Result<(), Failure> {
    private_file::write_json(&path_of(program)?, serde_json::to_vec(call))
}

pub(crate) fn forget(program: &str) -> Result<(), Failure> {
    private_file::remove(&path_of(program)?).map(drop)
}

/// The memory that a command of a program means.
pub(crate) struct ProgramMemory {
    pub(crate) global: Global,
    pub(crate) whose: AgentChoice,
    /// The service; `None` for an installation on this machine.
    pub(crate) service: Option<ServiceAddress>,
}

impl ProgramMemory {
    /// By the command line, or else by what `setup` wrote for the program, or else by the environment. `program` is
    /// blank for a command that names none, which has nothing written.
    pub(crate) fn of(
        program: &str,
        global: &Global,
        whose: &AgentChoice,
        url: Option<&str>,
    ) -> Self {
        let typed = |name: &str| is_typed(std::env::args_os(), name);
        let (mut global, mut whose) = (global.clone(), whose.clone());
        let mut service = url.map(|url| ServiceAddress {
            url: url.to_owned(),
            is_typed: typed("--url"),
        });
        let is_place_typed = typed("--url") || typed("--database");
        let is_agent_typed = typed("--agent") || typed("--per-project");
        let written = match is_place_typed && is_agent_typed {
            true => None,
            false => read(program).map(|written| WrittenOptions::of(&written.call.arguments)),
        };
        if is_place_typed {
            service = service.filter(|service| service.is_typed);
            global.database = global.database.filter(|_| typed("--database"));
            // A program's own command says all of it; a person may still have a configuration in the environment.
            if !program.is_empty() {
                global.config = global.config.filter(|_| typed("--config"));
            }
        } else if let Some(written) = &written {
            service = written.url.clone().map(|url| ServiceAddress {
                url,
                is_typed: true,
            });
            global.database.clone_from(&written.database);
            if !typed("--config") {
                global.config = written.config.as_ref().map(PathBuf::from);
            }
            if let Some(account) = written.account.as_ref().filter(|_| !typed("--account")) {
                global.account.clone_from(account);
            }
        }
        if let Some(written) = written
            && !is_agent_typed
        {
            whose = written.whose;
        }
        Self {
            global,
            whose,
            service,
        }
    }
}

/// Whether a command line has an option, with its value in the same word or the next one.
fn is_typed(words: impl Iterator<Item = std::ffi::OsString>, name: &str) -> bool {
    let mut words = words.skip(1);
    words.any(|word| {
        let word = word.to_string_lossy();
        let rest = word.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })
}

/// The options that `setup` writes (`ProgramCall::arguments`).
#[derive(Default)]
struct WrittenOptions {
    whose: AgentChoice,
    url: Option<String>,
    database: Option<String>,
    account: Option<String>,
    config: Option<String>,
}

impl WrittenOptions {
    fn of(words: &[String]) -> Self {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let place = match word.as_str() {
                "--per-project" => {
                    options.whose.per_project = true;
                    continue;
                }
                "--agent" => &mut options.whose.agent,
                "--prefix" => &mut options.whose.prefix,
                "--url" => &mut options.url,
                "--database" => &mut options.database,
                "--account" => &mut options.account,
                "--config" => &mut options.config,
                // Of another version of Memoir.
                _ => continue,
            };
            *place = words.next().cloned();
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_found_in_one_word_or_two() {
        let has = |line: &str, name| is_typed(line.split(' ').map(Into::into), name);
        assert!(has("memoir hook --url http://a", "--url"));
        assert!(has("memoir hook --url=http://a", "--url"));
        assert!(!has("memoir hook --urls", "--url"));
        assert!(!has("--url", "--url"), "the name of the program");
    }
}
