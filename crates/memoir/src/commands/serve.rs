//! `memoir serve`: the service.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use memoir_app::{Memoir, ScheduleView};
use memoir_service::{BeforeClosing, ServiceOptions};
use memoir_store_postgres::PostgresStore;
use memoir_vault::token::TokenSecret;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
};

use crate::{
    closing,
    config::Config,
    database,
    failure::{Failure, Outcome},
    installation, interrupt,
    options::Global,
    output, parse,
    terminal::{self, safe},
    webhooks,
};

/// Connections that wait to be accepted.
// One that finds no room is tried again by its client after a second: a burst of one client must leave room for others.
const BACKLOG: u32 = 4_096;
/// The time limit of a probe; a container's supervisor repeats it.
const LONGEST_PROBE: Duration = Duration::from_secs(5);

/// Run the service: REST for programs, agents and administrators, and the workers of queued sessions
///
/// The command line works beside it on the same database. Stop it with Ctrl-C or a TERM signal: running requests
/// finish, running sessions are released.
///
/// Without an administrator, it prints a link by which the first one is created in a browser. The link is valid until
/// then, or until the service ends.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8750", value_parser = parse::address)]
    listen: SocketAddr,
    /// How many sessions run simultaneously
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = parse::whole_number::<u16>(1..=1_000))]
    concurrency: u16,
    /// A proxy in front of the service speaks TLS to the outside, and reports that with `X-Forwarded-Proto`
    #[arg(long)]
    behind_proxy: bool,
    /// A name by which clients of the Model Context Protocol call the service, beside addresses and `localhost`; can
    /// be repeated
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Run the pending migrations of the database first, as `memoir migrate` does
    #[arg(long)]
    migrate: bool,
    /// Check whether the service that listens there is ready, and run none: exit status 0 where it is
    #[arg(long, conflicts_with_all = ["concurrency", "behind_proxy", "hosts", "migrate"])]
    probe: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    if arguments.probe {
        return probe(arguments.listen).await;
    }
    let config = Config::read(global.config.as_deref())?;
    // Webhooks are checked before anything is opened or migrated, so that a wrong configuration changes nothing.
    let webhooks = webhooks::opened(&config.webhooks, &config.origin())?;
    let programs = config.programs().map_err(Failure::new)?;
    let address = programs.as_ref().and_then(|known| known.address.as_deref());
    if !arguments.behind_proxy && address.is_some_and(|known| known.starts_with("https")) {
        return Err(Failure::new(
            "`oauth.address` is one of HTTPS, and the service speaks none of it by itself",
        )
        .hint("put a proxy with TLS in front of it and give `--behind-proxy`"));
    }
    if arguments.migrate {
        super::migrate::bring_up(global).await?;
    }
    let (memoir, _) = installation::opened(global).await?;
    let programs_here = KeptPrograms {
        memoir: memoir.clone(),
        global: global.clone(),
        is_configured_closed: config.closed,
    };
    if let Some(url) = database::postgres(global.database.as_deref())
        && let Some(danger) = PostgresStore::at(url)?.role().await?.danger()
    {
        let danger = safe(&danger);
        terminal::note(&format!("{danger}; {}", super::doctor::SEPARATE_ROLE));
    }
    // The default account is created before the first request.
    memoir.account(memoir_app::DEFAULT_ACCOUNT).await?;
    installation::finish(&memoir).await?;
    let connections = raise_file_limit();
    let hint = "give another address with `--listen ADDRESS:PORT`";
    let (listener, address) = listen(arguments.listen, hint)?;
    // A reader of the printed address may end the service immediately.
    let stop = interrupt::listening().await;
    let first_link = first_link(&memoir, address, arguments.behind_proxy).await?;
    memoir_service::register_webhooks(&memoir, &webhooks).await?;
    report(global, &memoir, address, &arguments, first_link.as_deref())?;
    let options = ServiceOptions {
        concurrency: usize::from(arguments.concurrency),
        behind_proxy: arguments.behind_proxy,
        hosts: arguments.hosts,
        programs,
        first_link,
        before_closing: Some(Arc::new(programs_here)),
        webhooks,
        connections: connections.min(ServiceOptions::default().connections),
        ..ServiceOptions::default()
    };
    memoir_service::serve(memoir, options, listener, stop)
        .await
        .map_err(|error| Failure::new(format!("the service ended: {error}")))?;
    terminal::note("stopped");
    Ok(())
}

/// Listens on an address, and returns the one that it is: with port 0 the system chooses the port.
pub(super) fn listen(
    address: SocketAddr,
    hint: &str,
) -> Result<(TcpListener, SocketAddr), Failure> {
    let listening = || {
        let socket = match address.is_ipv4() {
            true => TcpSocket::new_v4(),
            false => TcpSocket::new_v6(),
        }?;
        // A service that is started again need not wait for the connections of the one before.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    let listener = listening().map_err(|error: io::Error| {
        Failure::new(format!("cannot listen on {address}: {error}")).hint(hint)
    })?;
    let address = listener.local_addr();
    let address = address.map_err(|error| Failure::new(format!("cannot listen: {error}")))?;
    Ok((listener, address))
}

/// The programs on this machine that would lose an agent's memory when the installation is closed.
#[derive(derive_more::Debug)]
#[debug("KeptPrograms")]
struct KeptPrograms {
    memoir: Memoir,
    global: Global,
    is_configured_closed: bool,
}

#[async_trait::async_trait]
impl BeforeClosing for KeptPrograms {
    async fn prepare(&self) -> Result<(), String> {
        let kept = closing::keep_programs(&self.memoir, &self.global, self.is_configured_closed);
        match kept.await {
            Ok(_) | Err(Failure::Refused | Failure::PipeClosed | Failure::Interrupted) => Ok(()),
            Err(Failure::Shown(failure)) => Err(failure.one_line()),
        }
    }
}

/// Checks whether a service on this machine is ready, so that a container's health check needs no other program.
async fn probe(listen: SocketAddr) -> Outcome {
    // A service that listens on all addresses is probed on this machine.
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let address = SocketAddr::new(ip, listen.port());
    let answer = tokio::time::timeout(LONGEST_PROBE, ask_readiness(address)).await;
    let found = match answer {
        Ok(Ok(status)) if status == "200" => return Ok(()),
        Ok(Ok(status)) => format!("the service at {address} is not ready: it returns {status}"),
        Ok(Err(error)) => {
            let problem = format!("the service at {address} cannot be reached: {error}");
            let hint = format!("is it running? `memoir serve --listen {listen}` starts it");
            return Err(Failure::new(problem).hint(hint));
        }
        Err(_) => format!("the service at {address} does not respond within {LONGEST_PROBE:?}"),
    };
    Err(Failure::new(found).hint("`memoir doctor` examines its database and configuration"))
}

async fn ask_readiness(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let question = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(question.as_bytes()).await?;
    // `HTTP/1.1 200`
    let mut line = [0; 12];
    stream.read_exact(&mut line).await?;
    Ok(String::from_utf8_lossy(&line[9..]).into_owned())
}

/// The secret of the link by which the first administrator is created; `None` where one exists, or where the password
/// would be sent unencrypted.
async fn first_link(
    memoir: &Memoir,
    address: SocketAddr,
    behind_proxy: bool,
) -> Result<Option<Arc<TokenSecret>>, Failure> {
    let is_safe = address.ip().is_loopback() || behind_proxy;
    if !is_safe || memoir.ever_had_users().await? {
        return Ok(None);
    }
    Ok(Some(Arc::new(TokenSecret::generate_for_link()?)))
}

fn report(
    global: &Global,
    memoir: &Memoir,
    address: SocketAddr,
    arguments: &Arguments,
    first_link: Option<&TokenSecret>,
) -> Result<(), Failure> {
    let behind_proxy = arguments.behind_proxy;
    let schedule = memoir.schedule();
    let first = first_link.map(|secret| {
        let path = format!("/first/{}", secret.expose());
        // Only the proxy knows its public name.
        if behind_proxy {
            path
        } else {
            format!("http://{address}{path}")
        }
    });
    if global.json {
        let output = serde_json::json!({
            "listening": address.to_string(),
            "schedule": schedule,
            "first_administrator": first,
        });
        output::json(&output)?;
    } else {
        output::print(&format!("listening on http://{address}\n"))?;
        if let Some(first) = first {
            let behind = if behind_proxy {
                ", behind the address of the proxy"
            } else {
                ""
            };
            output::print(&format!("First administrator: {first}{behind}\n"))?;
        }
        terminal::note(&schedule_text(&schedule));
    }
    if !address.ip().is_loopback() && !behind_proxy {
        terminal::note(
            "others can reach this address, and what they send is not encrypted: passwords are refused; put a proxy with TLS in front of it and give `--behind-proxy`",
        );
    }
    Ok(())
}

fn schedule_text(schedule: &ScheduleView) -> String {
    if !schedule.enabled {
        return "the schedule is off: agents are asked and reflect only on request, or by `memoir sweep`"
            .to_owned();
    }
    let zone = schedule.time_zone.as_deref().unwrap_or_default();
    let next = schedule.next.map(|next| format!(" (next at {next})"));
    format!(
        "the schedule asks agents every {} {zone}{}, and those that outgrow their budget; they reflect daily at {}",
        schedule.weekly,
        next.unwrap_or_default(),
        schedule.daily
    )
}

/// Raises the limit of open files. Returns how many connections it allows, besides the files of Memoir itself.
#[cfg(unix)]
fn raise_file_limit() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Open files that are no connection of a client.
    const OWN_FILES: u64 = 256;
    let limit = getrlimit(Resource::Nofile);
    // A process may raise its limit up to the maximum without privileges.
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let files = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let room = files.map_or(u64::MAX, |files| {
        // Of a small limit, half: a service without any connection would be useless.
        files.saturating_sub(OWN_FILES).max(files / 2)
    });
    usize::try_from(room).unwrap_or(usize::MAX)
}

#[cfg(not(unix))]
fn raise_file_limit() -> usize {
    usize::MAX
}
