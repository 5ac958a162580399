//! The agents' tokens that hooks and tools of programs on this machine use: a file in the user's configuration
//! directory, readable by its owner only. Other commands read no token from it (SPEC 5.5).

use std::{collections::BTreeMap, path::PathBuf};

use crate::{config, failure::Failure, private_file};

/// Tokens by service or installation, and by agent.
type StoredTokens = BTreeMap<String, BTreeMap<String, String>>;

pub(crate) fn path() -> Result<PathBuf, Failure> {
    let folder = config::default_folder()
        .ok_or_else(|| Failure::new("the user's configuration directory is not known"))?;
    Ok(folder.join("tokens.json"))
}

fn read() -> Result<StoredTokens, Failure> {
    private_file::read_json(
        &path()?,
        "holds no tokens",
        "remove it, and give the token anew with `memoir setup PROGRAM`",
    )
}

/// The token of an agent; `None` where none is stored. `place` and `agent` are the address of the service and a name
/// there, or the installation on this machine (`database::place`) and the agent's identifier.
pub(crate) fn stored(place: &str, agent: &str) -> Result<Option<String>, Failure> {
    // Without a folder of settings none is stored.
    if path().is_err() {
        return Ok(None);
    }
    let mut tokens = read()?;
    // Names ignore case (SPEC 2.2).
    let agents = tokens.remove(place);
    Ok(agents.and_then(|mut agents| agents.remove(&agent.to_lowercase())))
}

pub(crate) fn store(place: &str, agent: &str, token: &str) -> Result<(), Failure> {
    change(|tokens| {
        let agents = tokens.entry(place.to_owned()).or_default();
        agents.insert(agent.to_lowercase(), token.to_owned());
    })
}

/// Stores the tokens of an installation for its moved copy too.
pub(crate) fn copy(from: &str, to: &str) -> Result<(), Failure> {
    if !read()?.contains_key(from) {
        return Ok(());
    }
    change(|tokens| {
        let copied = tokens.get(from).cloned().unwrap_or_default();
        tokens.entry(to.to_owned()).or_default().extend(copied);
    })
}

fn change(changed: impl FnOnce(&mut StoredTokens)) -> Result<(), Failure> {
    let path = path()?;
    let problem = |error| Failure::file("write", &path, &error);
    // Two hooks may store a token each at the same time.
    let _lock = private_file::lock_beside(&path).map_err(problem)?;
    let mut tokens = read()?;
    changed(&mut tokens);
    private_file::write_json(&path, serde_json::to_vec_pretty(&tokens))
}
