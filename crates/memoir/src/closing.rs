//! Closing of an installation that keeps the memory of the programs set up on this machine: each of their agents gets a
//! token, which hooks and tools use (SPEC 5.5).

use std::collections::BTreeSet;

use memoir_app::Memoir;

use crate::{
    failure::Failure,
    hook::{calls, project},
    installation::Installation,
    options::Global,
    setup,
    terminal::{self, safe},
    tokens,
};

/// As [`keep_programs`], for an opened installation.
///
/// # Errors
/// As for that function.
pub(crate) async fn keep_programs_of(
    installation: &Installation,
    global: &Global,
) -> Result<Vec<String>, Failure> {
    let is_configured_closed = installation.is_configured_closed;
    keep_programs(&installation.memoir, global, is_configured_closed).await
}

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
    let mut kept = BTreeSet::new();
    if is_configured_closed || memoir.is_closed().await? {
        return Ok(Vec::new());
    }
    for account in memoir.accounts().await? {
        let global = Global {
            account: account.name,
            ..global.clone()
        };
        let installation = Installation::of(memoir.clone(), &global, false).await?;
        let place = &installation.place;
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
                    installation.program_token(&agent).await?;
                    kept.insert(agent.name().to_owned());
                }
            }
        }
    }
    Ok(kept.into_iter().collect())
}

/// Reports the stored tokens, once the installation is closed.
///
/// # Errors
/// The user's configuration directory is not known.
pub(crate) fn report(kept: &[String]) -> Result<(), Failure> {
    if kept.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = kept
        .iter()
        .map(|name| format!("`{}`", safe(name)))
        .collect();
    terminal::note(&format!(
        "the programs that are set up on this machine keep the memory of {}: the tokens are in `{}`",
        names.join(", "),
        tokens::path()?.display()
    ));
    Ok(())
}
