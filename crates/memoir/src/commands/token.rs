//! `memoir token`: tokens, which give access to the service.

use memoir_app::{Role, TokenView};
use memoir_domain::{AgentId, Timestamp, TokenId};
use serde::Serialize;

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    show::{TextTable, when},
    terminal::{self, safe},
};

/// Tokens, which give access to the service
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Create(CreateArguments),
    /// List the account's tokens with their agents, and without their secrets
    List,
    /// Revoke a token: it is invalid from now on
    Revoke {
        /// Its identifier, as `memoir token list` shows it
        #[arg(value_name = "TOKEN")]
        token: String,
    },
}

/// Create a token; it is printed once and stored nowhere
#[derive(Debug, clap::Args)]
pub(crate) struct CreateArguments {
    /// Its role
    #[arg(long, value_enum)]
    role: RoleArgument,
    /// The agent, for the role `agent`
    #[arg(long, value_name = "NAME", required_if_eq("role", "agent"))]
    agent: Option<String>,
    /// When it expires
    #[arg(long, value_name = "TIME", value_parser = parse::time)]
    expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RoleArgument {
    /// Administrator of the account: reads no texts
    Admin,
    /// One agent: reads its own texts
    Agent,
}

#[derive(Serialize)]
struct Made<'a> {
    token: &'a str,
    #[serde(flatten)]
    view: TokenView,
}

pub(crate) async fn run(global: &Global, command: Command) -> Outcome {
    match command {
        Command::Create(arguments) => create(global, arguments).await,
        Command::List => list(global).await,
        Command::Revoke { token } => revoke(global, &token).await,
    }
}

async fn create(global: &Global, arguments: CreateArguments) -> Outcome {
    let installation = Installation::open(global).await?;
    let expires_at = arguments.expires_at;
    let made = match (arguments.role, &arguments.agent) {
        (RoleArgument::Admin, None) => {
            let actor = installation.author();
            let account = &installation.account;
            account.create_token(expires_at, &actor).await?
        }
        (RoleArgument::Admin, Some(_)) => {
            return Err(Failure::new("a token for an administrator is of no agent")
                .hint("leave `--agent` out, or give `--role agent`"));
        }
        (RoleArgument::Agent, name) => {
            // The arguments require a name with this role, so it is never blank.
            let name = name.as_deref().unwrap_or_default();
            let agent = installation.agent(name).await?;
            let provision = installation.provision(&agent).await?;
            let actor = installation.owner_or_actor(&agent).await?;
            let grants = agent.grants();
            grants.create_token(provision, expires_at, &actor).await?
        }
    };
    let secret = made.secret.expose();
    if global.json {
        output::json(&Made {
            token: secret,
            view: made.view,
        })?;
    } else {
        output::print(&format!("{secret}\n"))?;
        terminal::note("this is the only time that it is shown");
    }
    Ok(())
}

async fn list(global: &Global) -> Outcome {
    let installation = Installation::existing(global).await?;
    let tokens = installation.account.tokens().await?;
    let agents = installation.account.agents().await?;
    let none = "there is no token yet; `memoir token create` makes one";
    output::list(global.json, tokens, none, |tokens| {
        let mut table = TextTable::new(["token", "role", "agent", "made", "last used", "ends"]);
        let time = |time: Option<Timestamp>| time.map(when).unwrap_or_default();
        let name = |id: AgentId| match agents.iter().find(|agent| agent.id == id) {
            Some(agent) => safe(&agent.name).into_owned(),
            // It was erased, and its name with it.
            None => id.to_string(),
        };
        for token in tokens {
            table.row([
                token.id.to_string(),
                match (token.role, &token.connection) {
                    (_, Some(program)) => {
                        format!("program {} at {}", safe(&program.client), program.host)
                    }
                    (Role::Admin, None) => "admin".to_owned(),
                    (Role::Agent, None) => "agent".to_owned(),
                },
                token.agent_id.map(name).unwrap_or_default(),
                when(token.created_at),
                time(token.last_used_at),
                match token.revoked_at {
                    Some(at) => format!("revoked {}", when(at)),
                    None => time(token.expires_at),
                },
            ]);
        }
        table.to_string()
    })
}

async fn revoke(global: &Global, token: &str) -> Outcome {
    let installation = Installation::existing(global).await?;
    // Not repeated: it may be the token itself.
    let id: TokenId = token.trim().parse().map_err(|_| {
        Failure::new("this is no identifier of a token")
            .code("not_found")
            .hint("`memoir token list` shows the identifiers")
    })?;
    let account = &installation.account;
    let revoked = account.revoke_token(id, &installation.author()).await?;
    output::show(global.json, &revoked, || {
        format!("revoked {}\n", revoked.id)
    })
}
