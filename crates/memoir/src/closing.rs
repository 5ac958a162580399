//! Closing of an installation that keeps the memory of the programs set up on this machine: each of their agents gets a
//! token, which hooks and tools use (SPEC 5.5).

use std::collections::BTreeSet;

use memoir_app::{Memoir, Provision};
use memoir_domain::audit::Actor;

use crate::{
    database,
    failure::Failure,
    hook::{calls, project, written},
    installation::Installation,
    options::Global,
    setup,
    show::joined,
    terminal::{self, safe},
    tokens,
};

/// Must run before an open installation is closed. Creates and stores a token of every agent, in all accounts, that a
/// program on this machine uses. Returns the names of these agents; none where the installation is closed already.
///
/// # Errors
/// The store fails; the tokens cannot be stored. Then the installation must not be closed.
pub(crate) async fn keep_programs(
    memoir: &Memoir,
    global: &Global,
    is_configured_closed: bool,
) -> Result<Vec<String>, Failure> {
    if is_configured_closed || memoir.is_closed().await? {
        return Ok(Vec::new());
    }
    make_tokens(memoir, global, global).await
}

/// Gives the moved copy of an installation, which `global` names, what this machine keeps of the one that `from` names:
/// the tokens and the projects of its agents. An open installation's programs get the tokens that a closed copy needs.
/// Returns the programs that still call `from`.
///
/// # Errors
/// The store fails; the files cannot be read or written.
pub(crate) async fn follow_move(
    memoir: &Memoir,
    from: &Global,
    global: &Global,
    was_closed: bool,
) -> Result<BTreeSet<String>, Failure> {
    let mut programs = BTreeSet::new();
    let written = written::all();
    for account in memoir.accounts().await? {
        let place = |global| database::place(&in_account(global, &account.name));
        let (from, to) = (place(from)?, place(global)?);
        tokens::copy(&from, &to)?;
        project::copy(&from, &to)?;
        let calling = written.iter().filter(|(_, written)| written.place == from);
        programs.extend(calling.map(|(program, _)| program.clone()));
    }
    if !was_closed && memoir.is_closed().await? {
        make_tokens(memoir, from, global).await?;
    }
    Ok(programs)
}

fn in_account(global: &Global, account: &str) -> Global {
    Global {
        account: account.to_owned(),
        ..global.clone()
    }
}

/// Creates and stores a token, as the owner, of every agent that a program here uses in the installation that `from`
/// names. Returns the agents' names.
async fn make_tokens(
    memoir: &Memoir,
    from: &Global,
    global: &Global,
) -> Result<Vec<String>, Failure> {
    let mut kept = BTreeSet::new();
    for account in memoir.accounts().await? {
        let global = in_account(global, &account.name);
        let place = &database::place(&in_account(from, &account.name))?;
        let installation = Installation::of(memoir.clone(), &global, false).await?;
        let named: BTreeSet<String> = setup::agents(place)
            .into_iter()
            .chain(calls::agents(place))
            .chain(project::agents(place))
            .collect();
        for name in named {
            match installation.account.agent(&name).await {
                // It was erased meanwhile.
                Err(memoir_app::Error::NoAgent(_)) => {}
                agent => {
                    let agent = agent?;
                    let (provision, owner) = (Provision::Any, Actor::owner());
                    let token = installation.stored_or_new(&agent, provision, &owner);
                    token.await?;
                    kept.insert(agent.name().to_owned());
                }
            }
        }
    }
    Ok(kept.into_iter().collect())
}

/// Reports the stored tokens, once the installation is closed.
pub(crate) fn report(kept: &[String]) -> Result<(), Failure> {
    if kept.is_empty() {
        return Ok(());
    }
    let names = kept.iter().map(|name| format!("`{}`", safe(name)));
    terminal::note(&format!(
        "the programs that are set up on this machine keep the memory of {}: the tokens are in `{}`",
        joined(names, ", "),
        tokens::path()?.display()
    ));
    Ok(())
}
