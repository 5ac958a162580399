//! Keys that move into another place (SPEC 5.4).

use memoir_testkit::{Dice, administrator};
use memoir_vault::MasterSource;

use super::{
    World,
    nodes::{Storage, key_file, key_store},
};
use crate::{
    Violation,
    view::{Between, View, ensure},
};

impl World {
    /// Where each process opens the keys for itself, they move into another place, as `memoir key move` copies them into
    /// a database, and the old place is destroyed. All processes but one start again with the new place; that one goes
    /// on for a while.
    pub(super) async fn move_keys(&mut self, dice: &mut Dice) -> Result<(), Violation> {
        let Storage::Apart {
            folder,
            store,
            keys,
            moves,
        } = &mut self.storage
        else {
            return Ok(());
        };
        let folder = folder.path();
        let source = MasterSource::File(key_file(folder));
        let new = keys.next(store.is_some(), key_store(folder, *moves + 1));
        keys.copy_to(&new, &source, dice.roll(3) == 0)?;
        let act = new.act();
        let old = std::mem::replace(keys, new);
        *moves += 1;
        old.destroy(&source)?;
        let left = self.any_node(dice);
        for node in (0..self.nodes.len()).filter(|node| *node != left) {
            self.nodes[node] = self.process(self.options.falsification);
        }
        self.connect().await?;
        self.check_left(left, old.code_without()).await?;
        self.nodes[left] = self.process(self.options.falsification);
        self.connect().await?;
        self.check_on_each_node().await?;
        *self.report.acts.entry(act).or_default() += 1;
        Ok(())
    }

    /// A process that goes on with the old place makes no key, which would be lost with it. It is refused each text with
    /// that code, or gets it as it is.
    async fn check_left(
        &mut self,
        node: usize,
        code_without: &'static str,
    ) -> Result<(), Violation> {
        self.go_to(node);
        let account = self.residents[0].account;
        let account = self.node().memoir.account(account).await?;
        let made = account.create_agent("robin", &[], &administrator()).await;
        let code = made.err().map(|error| error.code());
        let is_refused = code == Some(code_without);
        ensure!(is_refused, "5.4", "{code:?} of a key in the old place");
        for resident in &mut self.residents {
            match View::of(&resident.agent).await {
                Ok(view) => resident.reconcile(view, Between::Nothing, &[])?,
                Err(error) if error.code() == code_without => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
