//! `memoir ui`: the personal page, for the owner of an open installation (SPEC 6.6).
//!
//! The page is served on loopback by this process, on a port of its own, and ends with it. A service, hooks and tools
//! work beside it. The browser is led to the link by a private file: the list of processes, which every user of the
//! machine can read, shows the name of that file and not the link.

use std::{
    io::Write,
    net::SocketAddr,
    process::{Command, Stdio},
    sync::Arc,
};

use memoir_app::OwnerLink;
use memoir_domain::audit::ActorKind;
use memoir_service::ServiceOptions;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::{
    failure::{Failure, Outcome},
    hook,
    installation::Installation,
    interrupt,
    options::{Global, TOKEN},
    output, parse, private_file, terminal,
};

/// Show what your agents remember, on a page in your browser
///
/// For the owner of an open installation: search, edit, protect, discard and bring back memories. It prints a link with
/// a secret, opens it in the browser, and runs until Ctrl-C. It makes no administrator and closes nothing; programs keep
/// their memory meanwhile. What you change is on the record.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The address to listen on, one of this machine; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = parse::address)]
    listen: SocketAddr,
    /// Print the link, and open no browser
    #[arg(long)]
    no_browser: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let address = arguments.listen;
    if !address.ip().is_loopback() {
        return Err(Failure::new(format!(
            "the personal page is shown on this machine only, and {address} is not of loopback"
        ))
        .hint("leave out `--listen`, or give an address such as 127.0.0.1:8751"));
    }
    let installation = Installation::open(global).await?;
    if installation.author().kind != ActorKind::Owner {
        let done = "the personal page shows the text of agents";
        let is_configured = installation.is_configured_closed;
        // It is the owner's: no agent's token opens it.
        let token = format!("let other commands show an agent's text, with its token in {TOKEN}");
        return Err(Failure::closed(done, is_configured, &token));
    }
    let hint = "give another address with `--listen`, or none for a free port";
    let (listener, address) = super::serve::listen(address, hint)?;
    // A reader of the printed link may end the process immediately.
    let stop = interrupt::listening().await;
    let memoir = installation.memoir;
    let link = Arc::new(OwnerLink::generate(&memoir, &global.account)?);
    let url = format!("http://{address}/open/{}", link.secret());
    if global.json {
        output::json(&json!({"listening": address.to_string(), "link": url}))?;
    } else {
        output::print(&format!("Your page: {url}\n"))?;
        terminal::note("it is open until Ctrl-C ends this command; the link is a secret");
    }
    // A program that reads the link opens it by itself.
    let is_opened = !arguments.no_browser && !global.json && terminal::stdout_is_watched();
    // The file exists as long as the page.
    let _file = if is_opened { open(&url) } else { None };
    let options = ServiceOptions {
        owner_link: Some(link),
        ..ServiceOptions::default()
    };
    memoir_service::serve(memoir, options, listener, stop)
        .await
        .map_err(|error| Failure::new(format!("the page ended: {error}")))?;
    terminal::note("stopped");
    Ok(())
}

/// Opens the link in the browser, by a file that leads there. A failure is reported and not returned: the link is
/// printed.
fn open(url: &str) -> Option<NamedTempFile> {
    let opened = leading_file(url).and_then(|file| {
        browser(&file).map_err(|error| Failure::new(format!("no browser was opened: {error}")))?;
        Ok(file)
    });
    match opened {
        Ok(file) => Some(file),
        Err(failure) => {
            if let Failure::Shown(failure) = failure {
                terminal::note(&format!("{}; open the link by hand", failure.one_line()));
            }
            None
        }
    }
}

/// A page for the user alone that leads to the link; removed when it is dropped.
fn leading_file(url: &str) -> Result<NamedTempFile, Failure> {
    let folder =
        hook::state::folder().ok_or_else(|| Failure::new("the state directory is not known"))?;
    let problem = |error: std::io::Error| Failure::file("write", &folder, &error);
    private_file::make_private_folder(&folder).map_err(problem)?;
    let mut builder = tempfile::Builder::new();
    // A temporary file is its owner's only.
    let named = builder.prefix("page-").suffix(".html");
    let mut file = named.tempfile_in(&folder).map_err(problem)?;
    // The secret is base64, which needs no escaping.
    let page = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={url}\">\
         <title>Memoir</title><a href=\"{url}\">Go on</a>\n"
    );
    file.write_all(page.as_bytes()).map_err(problem)?;
    Ok(file)
}

/// Lets the system open the file in the user's browser.
fn browser(file: &NamedTempFile) -> std::io::Result<()> {
    let named = std::env::var("BROWSER").ok();
    let (program, before): (&str, &[&str]) = match named.as_deref() {
        Some(program) if !program.trim().is_empty() && !program.contains(':') => (program, &[]),
        _ if cfg!(target_os = "macos") => ("open", &[]),
        _ if cfg!(windows) => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(before).arg(file.path()).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // Not waited for: some browsers run as long as they are open.
    command.spawn().map(drop)
}
