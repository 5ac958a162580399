//! `memoir user`: administrators with names and passwords.

use std::{
    io::{self, BufRead, IsTerminal},
    path::PathBuf,
};

use memoir_vault::password::Password;
use zeroize::Zeroizing;

use crate::{
    cli::Global,
    commands::parse,
    failure::{Ending, Failure, Outcome},
    installation::Installation,
    terminal::{self, safe},
};

/// Administrators of an account, with names and passwords
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Add(AddArguments),
}

/// Add an administrator to the account
///
/// The password is read from MEMOIR_PASSWORD, from `--password-file`, or from standard input. Once there
/// is an administrator, the installation is closed: commands on this machine that print an agent's words
/// need the agent's token.
#[derive(Debug, clap::Args)]
pub(crate) struct AddArguments {
    /// The name
    name: String,
    /// A file whose first line is the password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

pub(crate) async fn run(global: &Global, Command::Add(arguments): Command) -> Outcome {
    let password = password(&arguments)?;
    let installation = Installation::open(global).await?;
    let user = installation
        .account
        .create_user(&arguments.name, password)
        .await?;
    if global.json {
        terminal::json(&user)?;
    } else {
        terminal::print(&format!("added {}\n", safe(&user.name)))?;
    }
    Ok(Ending::Done)
}

fn password(arguments: &AddArguments) -> Result<Password, Failure> {
    const VARIABLE: &str = "MEMOIR_PASSWORD";
    const MOST_BYTES: u64 = 8_192;
    let text = if let Some(path) = &arguments.password_file {
        Zeroizing::new(parse::text_file(path, MOST_BYTES)?)
    } else if let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) {
        Zeroizing::new(text.into_string().unwrap_or_default())
    } else {
        if io::stdin().is_terminal() {
            terminal::note("the password (it shows while you type):");
        }
        let mut line = Zeroizing::new(String::new());
        io::stdin()
            .lock()
            .read_line(&mut line)
            .map_err(|error| Failure::new(format!("cannot read the password: {error}")))?;
        line
    };
    let line = text.lines().next().unwrap_or_default();
    Password::from_text(line).map_err(|error| Failure::new(error.to_string()))
}
