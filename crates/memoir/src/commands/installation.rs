//! `memoir installation`: whether agents' texts are shown on this machine to the agents only.

use std::path::PathBuf;

use memoir_domain::audit::Actor;
use serde_json::json;

use crate::{
    closing,
    commands::user::password,
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, terminal,
};

/// Who can read agents' texts on this machine
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show whether it is closed
    Show,
    /// Close it: from now on commands show an agent's texts only with its token in MEMOIR_TOKEN
    ///
    /// It is closed by itself with its first administrator. The programs that are set up on this machine get the tokens
    /// of their agents in the same step, and keep their memory.
    Close,
    Open(OpenArguments),
}

/// Open it again: every user of the database and the master key can read all agents' texts
///
/// Either is on the record of the account (`memoir audit list --own`): an administrator who gives a password, or
/// else the holder of the master key, by which this command opens the key store.
#[derive(Debug, clap::Args)]
pub(crate) struct OpenArguments {
    /// The administrator who opens it; the password is read as with `memoir user add`
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// A file whose first line is the password
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
}

pub(crate) async fn run(global: &Global, command: Command) -> Outcome {
    let installation = match command {
        Command::Show => Installation::existing(global).await?,
        Command::Close | Command::Open(_) => Installation::open(global).await?,
    };
    let account = &installation.account;
    let is_closed = match command {
        Command::Show => installation.memoir.is_closed().await?,
        Command::Close => {
            let is_configured_closed = installation.is_configured_closed;
            let kept =
                closing::keep_programs(&installation.memoir, global, is_configured_closed).await?;
            account.set_closed(true, &installation.author()).await?;
            closing::report(&kept)?;
            true
        }
        Command::Open(arguments) => {
            let actor = opener(&installation, &arguments).await?;
            account.set_closed(false, &actor).await?;
            false
        }
    };
    // Opening it does not change the configuration, which closes it by itself (SPEC 5.5).
    if installation.is_configured_closed && !is_closed {
        terminal::note("the configuration closes it: remove `closed = true` there");
    }
    let is_closed = is_closed || installation.is_configured_closed;
    output::show(global.json, &json!({"closed": is_closed}), || {
        match is_closed {
            true => "closed: commands show an agent's texts only with its token in MEMOIR_TOKEN\n",
            false => {
                "open: every user of this database and its master key can read all agents' text\n"
            }
        }
        .to_owned()
    })
}

async fn opener(installation: &Installation, arguments: &OpenArguments) -> Result<Actor, Failure> {
    let Some(name) = &arguments.user else {
        return Ok(installation.author());
    };
    let password = password(arguments.password_file.as_deref()).await?;
    let account = &installation.account;
    let found = account.with_password(name, password).await?;
    let user = found.ok_or_else(|| {
        Failure::new("there is no administrator of that name and password in the account")
            .hint("`memoir user list` shows the names; `--account` names another account")
    })?;
    Ok(user.actor())
}
