//! The agent of a project: a map from folders to agents, in the user's state directory.
//!
//! The key of a folder is a full digest of its path. An agent that is mapped to one folder is never mapped to another
//! by a similar name or by a `.git` file that points into another project. A moved or renamed project is a new one at
//! first. Its sessions offer the memory of an agent whose folder is missing, and `memoir project adopt` assigns it.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use memoir_app::{AgentHandle, Clock, SystemClock};
use memoir_domain::{AgentId, Timestamp, text::Digester};
use serde::{Deserialize, Serialize};

use super::{log::Log, state};
use crate::{failure::Failure, installation::Installation, private_file};

/// Most characters of the folder's name in the agent's name.
const NAME_CHARACTERS: usize = 60;
/// Hexadecimal digits of the digest in a name: more where an agent has the shorter name already.
const NAME_DIGITS: [usize; 3] = [6, 12, 32];
/// For how many days a new project is offered the memory of one whose folder is missing.
const OFFERED_DAYS: i64 = 7;
/// Most agents that are offered.
const OFFERED: usize = 3;
/// Most bytes that are read of a file of Git: a line with a path.
const LINE_BYTES: u64 = 8 << 10;

#[derive(Debug, Clone)]
pub(crate) enum ChosenAgent {
    /// The agent of that name; `None` for the only one.
    Named(Option<String>),
    OfProject(Project),
}

impl ChosenAgent {
    /// The root of the project; `None` for an agent that is chosen otherwise.
    pub(super) fn root(&self) -> Option<PathBuf> {
        match self {
            Self::Named(_) => None,
            Self::OfProject(project) => Some(project.root.clone()),
        }
    }

    /// The given name, nothing for the only agent, or the key of the project.
    pub(super) fn given_name(&self) -> String {
        match self {
            Self::Named(name) => name.clone().unwrap_or_default(),
            Self::OfProject(project) => project.key(""),
        }
    }

    /// The agent's name behind a service, which creates no agent for a project; `None` where none is named.
    pub(crate) fn name_behind(&self, url: &str) -> Result<Option<String>, Failure> {
        Ok(match self {
            Self::Named(name) => name.clone(),
            Self::OfProject(project) => Some(match project.known(url)? {
                Some(entry) => entry.agent,
                None => project.name(NAME_DIGITS[NAME_DIGITS.len() - 1]),
            }),
        })
    }
}

/// A project, and the prefix of its agent's name.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    prefix: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProjectEntry {
    /// The installation (`database::place`), or the address of the service.
    pub(crate) place: String,
    pub(crate) folder: PathBuf,
    pub(crate) prefix: String,
    /// Its name when it was recorded.
    pub(crate) agent: String,
    /// Its identifier, which survives a renaming; `None` behind a service.
    id: Option<AgentId>,
    since: Timestamp,
    /// The identity of the folder, which survives a renaming; `None` where the system has none.
    identity: Option<FolderIdentity>,
}

/// Device and inode of a folder.
type FolderIdentity = (u64, u64);

/// The projects by [`Project::key`].
type ProjectMap = BTreeMap<String, ProjectEntry>;

impl ProjectEntry {
    pub(crate) fn is_gone(&self) -> bool {
        !self.folder.is_dir()
    }

    /// The agent's identifier, or its name behind a service.
    pub(crate) fn name_or_id(&self) -> String {
        self.id
            .map_or_else(|| self.agent.clone(), |id| id.to_string())
    }
}

impl Project {
    pub(crate) fn of(folder: &Path, prefix: &str) -> Self {
        Self {
            root: root(folder),
            prefix: prefix.to_owned(),
        }
    }

    /// The project of that root, with the same prefix.
    pub(super) fn at(&self, root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            prefix: self.prefix.clone(),
        }
    }

    /// The key of the project in an installation or behind a service: 64 hexadecimal digits.
    fn key(&self, place: &str) -> String {
        // The debug format distinguishes names that are not UTF-8, and no path holds a zero byte.
        let whole = format!("{place}\0{}\0{:?}", self.prefix, self.root);
        let digest = Digester::new(&[0; 32]).message(&whole);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn name(&self, digits: usize) -> String {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        let name: String = name
            .chars()
            .map(
                |letter| match letter.is_alphanumeric() || "-_.".contains(letter) {
                    true => letter,
                    false => '-',
                },
            )
            .take(NAME_CHARACTERS)
            .collect();
        // A name that begins with a dash would be parsed as an option.
        let name = match name.trim_start_matches('-') {
            "" => "project",
            name => name,
        };
        let place = self.key("");
        format!("{}{name}-{}", self.prefix, &place[..digits])
    }

    /// Its agent; `None` where it has none yet.
    pub(crate) fn known(&self, place: &str) -> Result<Option<ProjectEntry>, Failure> {
        Ok(read()?.remove(&self.key(place)))
    }

    /// The agents whose memory may be that of this new project, since their folders are missing and have the same
    /// identity or name.
    pub(super) fn offered(&self, place: &str) -> Result<Vec<String>, Failure> {
        let mut map = read()?;
        let Some(own) = map.remove(&self.key(place)) else {
            return Ok(Vec::new());
        };
        if SystemClock.now() > own.since.plus_days(OFFERED_DAYS) {
            return Ok(Vec::new());
        }
        let is_same = |entry: &ProjectEntry| {
            let is_renamed = own.identity.is_some() && entry.identity == own.identity;
            is_renamed || entry.folder.file_name() == own.folder.file_name()
        };
        let offered = map
            .into_values()
            .filter(|entry| entry.place == place && entry.agent != own.agent)
            .filter(|entry| is_same(entry) && entry.is_gone());
        Ok(offered.map(|entry| entry.agent).take(OFFERED).collect())
    }

    pub(super) fn note(&self, place: &str, agent: &str) -> Result<(), Failure> {
        if self.known(place)?.is_some() {
            return Ok(());
        }
        LockedMap::lock()?.insert(self, place, agent, None)
    }
}

/// All entries of an installation or a service.
pub(crate) fn entries(place: &str) -> Result<Vec<ProjectEntry>, Failure> {
    let entries = read()?.into_values();
    Ok(entries.filter(|entry| entry.place == place).collect())
}

/// The agents of the projects of an installation; none where the map cannot be read.
pub(crate) fn agents(place: &str) -> Vec<String> {
    let entries = entries(place).unwrap_or_default().into_iter();
    entries.map(|entry| entry.name_or_id()).collect()
}

/// Gives the projects of an installation the same agents in its moved copy.
pub(crate) fn copy(from: &str, to: &str) -> Result<(), Failure> {
    let mut locked = LockedMap::lock()?;
    let mut entries: Vec<ProjectEntry> = locked.map.values().cloned().collect();
    entries.retain(|entry| entry.place == from);
    for mut entry in entries {
        to.clone_into(&mut entry.place);
        let project = Project {
            root: entry.folder.clone(),
            prefix: entry.prefix.clone(),
        };
        locked.map.insert(project.key(to), entry);
    }
    locked.write()
}

/// Maps the project to an agent whose folder is missing, whatever agent it had.
///
/// # Errors
/// Another existing folder has the agent; the map cannot be read or written.
pub(crate) fn adopt(
    project: &Project,
    place: &str,
    agent: &str,
    id: Option<AgentId>,
) -> Result<(), Failure> {
    let mut locked = LockedMap::lock()?;
    let is_it = |entry: &ProjectEntry| {
        let is_same = match (entry.id, id) {
            (Some(other), Some(id)) => other == id,
            _ => entry.agent.to_lowercase() == agent.to_lowercase(),
        };
        entry.place == place && is_same
    };
    let key = project.key(place);
    let other = locked
        .map
        .iter()
        .find(|(other, entry)| is_it(entry) && **other != key && !entry.is_gone());
    if let Some((_, entry)) = other {
        let folder = entry.folder.display();
        return Err(
            Failure::new(format!("`{agent}` is the agent of `{folder}`, which is there")).hint(
                "move the folder first, or name an agent that two projects share: `memoir setup PROGRAM --agent NAME`",
            ),
        );
    }
    locked.map.retain(|_, entry| !is_it(entry));
    locked.insert(project, place, agent, id)
}

struct LockedMap {
    map: ProjectMap,
    _lock: File,
}

impl LockedMap {
    fn lock() -> Result<Self, Failure> {
        let path = path()?;
        let lock = private_file::lock_beside(&path)
            .map_err(|error| Failure::file("lock", &path, &error))?;
        Ok(Self {
            map: read()?,
            _lock: lock,
        })
    }

    /// Whether a name is that of another project's agent.
    fn is_of_another(&self, key: &str, place: &str, name: &str) -> bool {
        self.map
            .iter()
            .any(|(other, entry)| other != key && entry.place == place && entry.agent == name)
    }

    fn insert(
        &mut self,
        project: &Project,
        place: &str,
        agent: &str,
        id: Option<AgentId>,
    ) -> Result<(), Failure> {
        let entry = ProjectEntry {
            place: place.to_owned(),
            folder: project.root.clone(),
            prefix: project.prefix.clone(),
            agent: agent.to_owned(),
            id,
            since: SystemClock.now(),
            identity: identity(&project.root),
        };
        self.map.insert(project.key(place), entry);
        self.write()
    }

    fn write(&self) -> Result<(), Failure> {
        private_file::write_json(&path()?, serde_json::to_vec_pretty(&self.map))
    }
}

fn path() -> Result<PathBuf, Failure> {
    state::file("projects.json")
}

fn read() -> Result<ProjectMap, Failure> {
    // An empty map in the place of a broken one would give every project a new agent.
    private_file::read_json(
        &path()?,
        "is no map of projects",
        "put it back from a copy, or remove it and give each project its agent with `memoir project adopt`",
    )
}

#[cfg(unix)]
fn identity(folder: &Path) -> Option<FolderIdentity> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(folder).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<FolderIdentity> {
    None
}

impl Installation {
    /// The chosen agent. A missing agent of a project is created.
    ///
    /// # Errors
    /// There is no such agent, or none is named and there are several; the store fails, or the map of the projects.
    pub(crate) async fn chosen(&self, chosen: &ChosenAgent) -> Result<AgentHandle, Failure> {
        match chosen {
            ChosenAgent::Named(name) => self.agent_or_only(name.as_deref()).await,
            ChosenAgent::OfProject(project) => match self.known_agent(project).await? {
                Some(agent) => Ok(agent),
                None => self.new_project_agent(project).await,
            },
        }
    }

    /// The project's agent; `None` where it has none yet, or where that was erased.
    ///
    /// # Errors
    /// The store fails; the map cannot be read.
    pub(super) async fn known_agent(
        &self,
        project: &Project,
    ) -> Result<Option<AgentHandle>, Failure> {
        let Some(entry) = project.known(&self.place)? else {
            return Ok(None);
        };
        match self.account.agent(&entry.name_or_id()).await {
            Err(memoir_app::Error::NoAgent(_)) => Ok(None),
            found => Ok(Some(found?)),
        }
    }

    async fn new_project_agent(&self, project: &Project) -> Result<AgentHandle, Failure> {
        let mut map = LockedMap::lock()?;
        // Another process may have created it in the meantime.
        if let Some(agent) = self.known_agent(project).await? {
            return Ok(agent);
        }
        let key = project.key(&self.place);
        for digits in NAME_DIGITS {
            let name = project.name(digits);
            if map.is_of_another(&key, &self.place, &name) {
                continue;
            }
            match self.account.create_agent(&name, &[], &self.author()).await {
                // An agent that this folder is not mapped to may be another project's.
                Err(memoir_app::Error::NameTaken(_)) => {}
                made => {
                    made?;
                    let agent = self.agent(&name).await?;
                    let id = Some(agent.scope().agent);
                    map.insert(project, &self.place, &name, id)?;
                    // The token is created now, so that the project keeps its memory where the configuration closes the
                    // installation later. Where it cannot be stored now, the next closing by command creates it.
                    if let Err(problem) = self.program_token(&agent).await {
                        Log::of(format!("the first token of `{name}`")).problem(&problem);
                    }
                    return Ok(agent);
                }
            }
        }
        Err(Failure::new(format!(
            "every name for the agent of `{}` is taken",
            project.root.display()
        ))
        .hint("`memoir project adopt AGENT` assigns an existing one"))
    }
}

/// The folder that holds `.git`, of a linked working tree its repository's folder, or else the folder itself.
fn root(folder: &Path) -> PathBuf {
    // Links are resolved, since a link to a folder means the same project.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    match folder.ancestors().find(|above| above.join(".git").exists()) {
        Some(tree) => repository_of(tree).unwrap_or_else(|| tree.to_owned()),
        None => folder,
    }
}

/// The folder of the repository of a linked working tree, or a bare one itself; `None` for other folders. The file `.git`
/// may come from an archive, and is trusted only where the repository names it too.
fn repository_of(tree: &Path) -> Option<PathBuf> {
    let entry = named_by(tree)?;
    let worktrees = entry
        .parent()
        .filter(|above| above.ends_with("worktrees"))?;
    let repository = worktrees.parent()?;
    let named = entry.join(line_of(&entry.join("gitdir"))?);
    let folder = named.parent()?.canonicalize().ok()?;
    if !named.ends_with(".git") || folder != tree {
        return None;
    }
    let above = repository.parent()?;
    if repository.ends_with(".git") || named_by(above).is_some_and(|git| git == repository) {
        return Some(above.to_owned());
    }
    // A folder with `.git` is a project itself, whatever its files are named.
    let is_bare = repository.join("HEAD").is_file() && !repository.join(".git").exists();
    is_bare.then(|| repository.to_owned())
}

/// The folder that the file `.git` of a folder names.
fn named_by(folder: &Path) -> Option<PathBuf> {
    let line = line_of(&folder.join(".git"))?;
    let named = folder.join(line.strip_prefix("gitdir: ")?);
    named.canonicalize().ok()
}

/// The first line of a file. Only a regular file of its own is opened: another may be a pipe that never ends, or a link
/// to another project's file.
fn line_of(path: &Path) -> Option<String> {
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(LINE_BYTES).read_to_string(&mut text).ok()?;
    Some(text.lines().next()?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A home with the project `one/my shop`, its working tree `next`, and another `my shop`.
    fn home() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().canonicalize().unwrap();
        for folder in [
            "one/my shop/.git/worktrees/next",
            "one/my shop/src/deep",
            "two/my shop",
            "next",
            "evil",
        ] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        link(&path, "next", "next");
        let back = format!("{}/next/.git\n", path.display());
        fs::write(path.join("one/my shop/.git/worktrees/next/gitdir"), back).unwrap();
        (home, path)
    }

    /// Writes a file `.git` that makes a folder a working tree of `one/my shop`.
    fn link(home: &Path, folder: &str, name: &str) {
        let place = format!("{}/one/my shop/.git/worktrees/{name}", home.display());
        fs::write(home.join(folder).join(".git"), format!("gitdir: {place}\n")).unwrap();
    }

    #[test]
    fn a_project_is_one_in_all_its_folders_and_working_trees() {
        let (_home, path) = home();
        let of = |folder: &str| Project::of(&path.join(folder), "code-");
        let name = of("one/my shop/src/deep").name(6);
        assert!(name.starts_with("code-my-shop-"), "{name}");
        assert_eq!(name, of("one/my shop").name(6));
        assert_eq!(name, of("next").name(6));
        assert_ne!(name, of("two/my shop").name(6));
        assert_eq!(of("one/my shop").key("a").len(), 64);
        assert_ne!(of("one/my shop").key("a"), of("one/my shop").key("b"));
        for (folder, name) in [("-rf", "rf-"), ("🐝", "project-"), ("a\nb", "a-b-")] {
            fs::create_dir_all(path.join(folder)).unwrap();
            let agent = Project::of(&path.join(folder), "").name(6);
            assert!(agent.starts_with(name), "{agent}");
        }
    }

    #[test]
    fn a_relative_path_to_the_repository_is_one_too() {
        let (_home, path) = home();
        let there = "gitdir: ../one/my shop/.git/worktrees/next\n";
        fs::write(path.join("next/.git"), there).unwrap();
        let back = path.join("one/my shop/.git/worktrees/next/gitdir");
        fs::write(back, "../../../../../next/.git\n").unwrap();
        assert_eq!(root(&path.join("next")), path.join("one/my shop"));
    }

    #[cfg(unix)]
    #[test]
    fn a_working_tree_is_believed_only_where_the_repository_names_it() {
        let (_home, path) = home();
        let evil = path.join("evil");
        for name in ["next", "whatever"] {
            link(&path, "evil", name);
            assert_eq!(root(&evil), evil, "{name}");
        }
        // A link to the file of a working tree, and a pipe that never ends.
        fs::remove_file(evil.join(".git")).unwrap();
        std::os::unix::fs::symlink(path.join("next/.git"), evil.join(".git")).unwrap();
        assert_eq!(root(&evil), evil);
        fs::remove_file(evil.join(".git")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(evil.join(".git"))
            .status();
        if made.is_ok_and(|made| made.success()) {
            assert_eq!(root(&evil), evil);
        }
    }
}
