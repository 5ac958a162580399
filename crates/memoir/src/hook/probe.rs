//! A single run of a program's configured command, without a session: `memoir setup` and `memoir doctor` start it with
//! [`VARIABLE`] in its environment, and it reports whether it reaches the memory.

use memoir_app::ContextRequest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{project::ChosenAgent, written::ProgramMemory};
use crate::{failure::Failure, installation::Installation, output, remote::Remote};

/// The variable that requests a report.
pub(crate) const VARIABLE: &str = "MEMOIR_PROBE";

/// The report, as one line of JSON.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ProbeReport {
    pub(crate) version: String,
    /// The installation (`database::place`), or the address of the service; `None` where it is not reached.
    pub(crate) place: Option<String>,
    /// The agent; `None` where it is not reached, or where the project has none yet.
    pub(crate) agent: Option<String>,
    /// Why the memory is not reached; `None` where it is.
    pub(crate) problem: Option<String>,
    pub(crate) hint: Option<String>,
}

pub(crate) fn is_asked() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty())
}

/// Reports on stdout whether the memory is reached.
///
/// # Errors
/// Stdout is closed.
pub(crate) async fn report(means: &ProgramMemory) -> Result<(), Failure> {
    let mut report = ProbeReport {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..ProbeReport::default()
    };
    match reach(means).await {
        Ok((place, agent)) => (report.place, report.agent) = (Some(place), agent),
        Err(Failure::Shown(failure)) => {
            let (problem, hint) = failure.into_parts();
            (report.problem, report.hint) = (Some(problem), hint);
        }
        Err(other) => return Err(other),
    }
    output::json(&report)
}

/// The installation and the agent. No agent is created for a project.
async fn reach(means: &ProgramMemory) -> Result<(String, Option<String>), Failure> {
    let chosen = means.whose.chosen(None);
    if let Some(service) = &means.service {
        let name = chosen.name_behind(&service.url)?;
        let remote = Remote::open(service, name.as_deref())?;
        remote.get::<Value>("", &[]).await?;
        return Ok((service.url.clone(), name));
    }
    let mut installation = Installation::of_program(&means.global, None).await?;
    let agent = match &chosen {
        ChosenAgent::OfProject(project) => installation.known_agent(project).await?,
        ChosenAgent::Named(_) => Some(installation.chosen(&chosen).await?),
    };
    let name = match &agent {
        Some(agent) => {
            let own = installation.own_for_program(agent).await?;
            // What a session begins with: whether its text can be read is known only when it is.
            own.measured_context(&ContextRequest::default()).await?;
            Some(agent.name().to_owned())
        }
        None => None,
    };
    Ok((installation.place, name))
}
