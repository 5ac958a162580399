//! `memoir account`: tenants.

use crate::{
    failure::Outcome,
    installation,
    options::Global,
    output,
    show::{List, TextTable, when},
    terminal::safe,
};

/// Tenants: their agents share nothing
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Create an account
    Create {
        /// Its name, 1 to 100 characters
        name: String,
    },
    /// List the accounts
    List,
}

pub(crate) async fn run(global: &Global, command: Command) -> Outcome {
    // No account is opened, since the one of `--account` need not exist yet.
    let (memoir, closed) = match command {
        Command::List if !installation::is_there(global).await? => installation::in_memory(global)?,
        _ => installation::opened(global).await?,
    };
    installation::finish(&memoir).await?;
    match command {
        Command::Create { name } => {
            let actor = installation::author_where(closed || memoir.is_closed().await?);
            let account = memoir.create_account(&name, &actor).await?;
            output::show(global.json, &account, || {
                format!("created the account `{}`", safe(&account.name))
            })
        }
        Command::List => {
            let accounts = memoir.accounts().await?;
            let mut table = TextTable::new(["account", "made"]);
            for account in &accounts {
                table.row([safe(&account.name).into_owned(), when(account.created_at)]);
            }
            output::show(global.json, &List::whole(accounts), || table.to_string())
        }
    }
}
