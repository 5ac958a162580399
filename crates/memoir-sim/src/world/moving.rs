//! Keys that move into another place (SPEC 5.4).

use std::{collections::HashSet, fs, path::Path};

use memoir_domain::AgentScope;
use memoir_testkit::{Dice, administrator};
use memoir_vault::{Error, KeyStore, MasterSource, SqliteKeys, unlock};

use super::{
    World,
    nodes::{Storage, key_file, key_store},
};
use crate::{
    Violation,
    view::{Between, View, ensure},
};

impl World {
    /// Where each process opens files for itself, the keys move into another file, as `memoir key move` copies them
    /// into a database, and their old file is destroyed. All processes but one start again with the new file; that one
    /// goes on for a while.
    pub(super) async fn move_keys(&mut self, dice: &mut Dice) -> Result<(), Violation> {
        let Storage::Files { folder, moves } = &mut self.storage else {
            return Ok(());
        };
        let folder = folder.path();
        let source = MasterSource::File(key_file(folder));
        let (old, new) = (key_store(folder, *moves), key_store(folder, *moves + 1));
        copy(&source, (&old, &new), dice.roll(3) == 0)?;
        destroy(folder, &old)?;
        let opened = unlock(&source, &old, true);
        let is_refused = matches!(opened, Err(Error::Missing(_)));
        ensure!(is_refused, "5.4", "the old place of the keys opens");
        *moves += 1;
        let left = self.any_node(dice);
        for node in (0..self.nodes.len()).filter(|node| *node != left) {
            self.nodes[node] = self.process(self.options.falsification);
        }
        self.connect().await?;
        self.check_left(left).await?;
        self.nodes[left] = self.process(self.options.falsification);
        self.connect().await?;
        self.check_on_each_node().await?;
        *self.report.acts.entry("move keys").or_default() += 1;
        Ok(())
    }

    /// A process that goes on with the old place makes no key, which would be lost with it. It is refused each text, or
    /// gets it as it is.
    async fn check_left(&mut self, node: usize) -> Result<(), Violation> {
        self.go_to(node);
        let account = self.residents[0].account;
        let account = self.node().memoir.account(account).await?;
        let made = account.create_agent("robin", &[], &administrator()).await;
        let code = made.err().map(|error| error.code());
        let is_refused = code == Some("key_unavailable");
        ensure!(is_refused, "5.4", "{code:?} of a key in the old place");
        for resident in &mut self.residents {
            match View::of(&resident.agent).await {
                Ok(view) => resident.reconcile(view, Between::Nothing, &[])?,
                Err(error) if error.code() == "key_unavailable" => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Copies the keys from one place into another. Another process did this before, and may have been killed before it
/// wrote anything. A repetition writes nothing.
fn copy(
    source: &MasterSource,
    (old, new): (&Path, &Path),
    is_killed: bool,
) -> Result<(), Violation> {
    if is_killed {
        SqliteKeys::open(new, true).map_err(lost)?;
        let opened = unlock(source, new, true);
        let is_refused = matches!(opened, Err(Error::Missing(_)));
        ensure!(is_refused, "5.4", "an empty place opens as a key store");
    }
    let file = unlock(source, old, true).map_err(lost)?;
    let place = SqliteKeys::open(new, true).map_err(lost)?;
    let copied = file.copy_to(&place).map_err(lost)?;
    let again = file.copy_to(&place);
    let is_refused = matches!(again, Err(Error::Unusable { .. }));
    ensure!(is_refused, "5.4", "keys are copied over others");
    let here = agents(&file)?;
    let there = agents(&unlock(source, new, true).map_err(lost)?)?;
    ensure!(
        here == there && copied == here.len() as u64,
        "5.4",
        "of {} keys {copied} were copied, and {} are in the new place",
        here.len(),
        there.len()
    );
    Ok(())
}

fn agents(keys: &KeyStore) -> Result<HashSet<AgentScope>, Violation> {
    Ok(keys.agents().map_err(lost)?.into_iter().collect())
}

/// Removes the file of the keys, beside which there must be no other one of it.
fn destroy(folder: &Path, old: &Path) -> Result<(), Violation> {
    let failed = |error: std::io::Error| Violation::new("5.4", error.to_string());
    fs::remove_file(old).map_err(failed)?;
    let name = old.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let left = entry.map_err(failed)?.file_name();
        let is_of_old = left.to_string_lossy().starts_with(&*name);
        ensure!(!is_of_old, "5.4", "{left:?} is left of the keys");
    }
    Ok(())
}

fn lost(error: Error) -> Violation {
    Violation::new("5.4", error.to_string())
}
