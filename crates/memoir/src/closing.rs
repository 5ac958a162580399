//! Closing of an installation that keeps the memory of the programs set up on this machine: each of their agents gets a
//! token, which hooks and tools use (SPEC 5.5).

use std::collections::{BTreeMap, BTreeSet};

use memoir_app::{Memoir, Provision};
use memoir_domain::audit::Actor;

use crate::{
    database,
    failure::Failure,
    hook::{calls, project, written},
    installation::Installation,
    options::{Global, account_option},
    setup,
    show::joined,
    terminal::{self, safe},
    tokens,
};

/// The agents that closing concerns, by name.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Those that programs on this machine use.
    with_token: Vec<String>,
    /// The others that have memories, and no valid token, by account.
    without_token: BTreeMap<String, Vec<String>>,
}

/// Must run before an open installation is closed. Creates and stores a token of every agent, in all accounts, that a
/// program on this machine uses. Returns no names where the installation is closed already.
///
/// # Errors
/// The store fails; the tokens cannot be stored. Then the installation must not be closed.
pub(crate) async fn keep_programs(
    memoir: &Memoir,
    global: &Global,
    is_configured_closed: bool,
) -> Result<Kept, Failure> {
    if is_configured_closed || memoir.is_closed().await? {
        return Ok(Kept::default());
    }
    let with_token = make_tokens(memoir, global, global).await?;
    let (now, mut without_token) = (memoir.now(), BTreeMap::<String, Vec<String>>::new());
    for account in memoir.accounts().await? {
        let account = memoir.account(&account.name).await?;
        let mut tokens = account.tokens().await?;
        tokens.retain(|token| {
            token.revoked_at.is_none() && token.expires_at.is_none_or(|ends_at| ends_at > now)
        });
        for agent in account.agents().await? {
            let has_token = tokens.iter().any(|token| token.agent_id == Some(agent.id));
            let counts = agent.counts;
            let memories = counts.core_count + counts.journal_count + counts.archival_count;
            if memories > 0 && !has_token {
                let without_token = without_token.entry(account.name().to_owned());
                without_token.or_default().push(agent.name);
            }
        }
    }
    Ok(Kept {
        with_token,
        without_token,
    })
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

/// Reports the stored tokens, and the agents without one, once the installation is closed.
pub(crate) fn report(kept: &Kept) -> Result<(), Failure> {
    let names =
        |names: &[String]| joined(names.iter().map(|name| format!("`{}`", safe(name))), ", ");
    if !kept.with_token.is_empty() {
        terminal::note(&format!(
            "the programs that are set up on this machine keep the memory of {}: the tokens are in `{}`",
            names(&kept.with_token),
            tokens::path()?.display()
        ));
    }
    for (account, agents) in &kept.without_token {
        let account = account_option(account);
        terminal::note(&format!(
            "no token gives access to the memory of {}: `memoir access ask AGENT --token --purpose TEXT{account}` asks \
             the agent for one; or, as the owner of this machine, `memoir installation open`, then \
             `memoir token create --role agent --agent AGENT{account}`",
            names(agents)
        ));
    }
    Ok(())
}
