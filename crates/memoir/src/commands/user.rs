//! `memoir user`: administrators with names and passwords.

use std::path::{Path, PathBuf};

use memoir_app::UserView;
use memoir_vault::password::Password;
use zeroize::Zeroizing;

use crate::{
    closing,
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    show::{TextTable, when},
    terminal::{self, safe},
};

/// Administrators of an account, with names and passwords
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Add an administrator to the account
    ///
    /// The password is read from MEMOIR_PASSWORD, from `--password-file`, or from standard input. The first
    /// administrator closes the installation: commands on this machine that print an agent's text need the agent's
    /// token. The programs that are set up on this machine get theirs in the same step.
    Add(Arguments),
    /// List the account's administrators
    List,
    /// Change an administrator's password
    ///
    /// It is read as with `memoir user add`. All of the administrator's sign-ins end; its second factor stays.
    Password(Arguments),
    /// Remove an administrator's second factor, when its device and the recovery codes are lost
    ///
    /// Signing in requires the password alone then, until a device is set up again. All of the administrator's sign-ins
    /// end.
    ResetSecondFactor {
        /// The name
        name: String,
    },
    /// Remove an administrator, and end all its sign-ins
    ///
    /// The last one of the installation cannot be removed: without any, no user could sign in.
    Remove {
        /// The name
        name: String,
    },
}

/// An administrator, and the password to set
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The name
    name: String,
    /// A file whose first line is the password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

pub(crate) async fn run(global: &Global, command: Command) -> Outcome {
    match command {
        Command::Add(arguments) => {
            let password = password(arguments.password_file.as_deref()).await?;
            let installation = Installation::open(global).await?;
            let actor = installation.author();
            let account = &installation.account;
            // The first administrator closes the installation.
            let is_configured_closed = installation.is_configured_closed;
            let was_open = !is_configured_closed && !installation.memoir.is_closed().await?;
            let kept =
                closing::keep_programs(&installation.memoir, global, is_configured_closed).await?;
            let user = account
                .create_user(&arguments.name, password, &actor)
                .await?;
            // One that was opened on the record stays open. The administrator is added, whether this can be read or not.
            if was_open && installation.memoir.is_closed().await.unwrap_or(true) {
                terminal::note(
                    "the first administrator closes the installation: from now on commands show an agent's texts \
                     only with its token in MEMOIR_TOKEN",
                );
            }
            closing::report(&kept)?;
            report_user(global, &user, "added")
        }
        Command::List => list(global).await,
        Command::Password(arguments) => {
            let password = password(arguments.password_file.as_deref()).await?;
            let installation = Installation::existing(global).await?;
            let actor = installation.author();
            let account = &installation.account;
            let user = account.set_password(&arguments.name, password, &actor);
            report_user(global, &user.await?, "changed the password of")
        }
        Command::ResetSecondFactor { name } => {
            let installation = Installation::existing(global).await?;
            let actor = installation.author();
            let user = installation.account.reset_second_factor(&name, &actor);
            report_user(global, &user.await?, "reset the second factor of")
        }
        Command::Remove { name } => {
            let installation = Installation::existing(global).await?;
            let actor = installation.author();
            let user = installation.account.remove_user(&name, &actor);
            report_user(global, &user.await?, "removed")
        }
    }
}

fn report_user(global: &Global, user: &UserView, done: &str) -> Outcome {
    output::show(global.json, user, || {
        format!("{done} {}\n", safe(&user.name))
    })
}

async fn list(global: &Global) -> Outcome {
    let installation = Installation::existing(global).await?;
    let users = installation.account.users().await?;
    let none = "there is no administrator yet; `memoir user add NAME` makes one";
    output::list(global.json, users, none, |users| {
        let mut table = TextTable::new(["name", "second factor", "made"]);
        for user in users {
            table.row([
                safe(&user.name).into_owned(),
                match user.second_factor {
                    Some(true) => "yes",
                    Some(false) => "no",
                    None => "its row was modified outside Memoir",
                }
                .to_owned(),
                when(user.created_at),
            ]);
        }
        table.to_string()
    })
}

pub(super) async fn password(file: Option<&Path>) -> Result<Password, Failure> {
    const VARIABLE: &str = "MEMOIR_PASSWORD";
    // A password of 1,000 characters takes 4,000 bytes at most; text after its line is ignored.
    const MOST_BYTES: u64 = 8_192;
    let text = if let Some(path) = file {
        Zeroizing::new(parse::text_file(path, MOST_BYTES)?)
    } else if let Some(text) = parse::secret_variable(VARIABLE) {
        text
    } else {
        parse::typed_secret("the password").await?
    };
    let line = text.lines().next().unwrap_or_default();
    Password::from_text(line).map_err(|error| Failure::new(error.to_string()))
}
