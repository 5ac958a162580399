//! `/agents/{agent}/erase`: erasing an agent, confirmed by typing its name (SPEC 5.4).

use axum::http::StatusCode;
use maud::html;
use memoir_app::{AgentHandle, Error};
use memoir_domain::{agent::fold_name, manage::ChangeRefusal};

use super::{Tab, agent_page, agent_path};
use crate::{
    answer::{PageResult, page_of, see_other},
    browser::{AgentInPath, Visitor},
    field::LabelledField,
    form::SentForm,
    parts, words,
};

const NAME: &str = "name";

pub(crate) async fn show(visitor: Visitor, agent: AgentInPath) -> PageResult {
    page(&visitor, &agent, &SentForm::default()).await
}

pub(crate) async fn erase(visitor: Visitor, mut form: SentForm, agent: AgentInPath) -> PageResult {
    // Compared within the decision, so that an agent that was renamed meanwhile is not erased by its old name.
    // Names are the same whatever the case (SPEC 2.2).
    let name = fold_name(form.field(NAME).trim());
    let named = agent
        .views()
        .where_agent(move |now| name == fold_name(&now.name));
    match named.log().erase(&visitor.actor()).await {
        Ok(_) => return Ok(see_other("/?done=erased")),
        // A decision returns `Changed` where its condition, here the typed name, is not met.
        Err(Error::Changed) => {
            form.faults
                .add(NAME, "Name", "is not the name of this agent");
        }
        Err(Error::Change(ChangeRefusal::SessionRunning(_))) => {
            let problem = "A session of the agent is running. Wait for its end, or cancel it.";
            form.faults.add(NAME, "Not yet", problem);
        }
        Err(error) => return Err(error.into()),
    }
    let shown = page(&visitor, &agent, &form).await?;
    Ok(page_of(StatusCode::CONFLICT, shown))
}

async fn page(visitor: &Visitor, agent: &AgentHandle, form: &SentForm) -> PageResult {
    let view = agent.views().show().await?;
    let path = agent_path(view.id);
    let tally = &view.counts;
    let held = [
        (tally.core_count, "core memory", "core memories"),
        (tally.journal_count, "journal entry", "journal entries"),
        (tally.archival_count, "archival memory", "archival memories"),
        (
            tally.discarded_count,
            "discarded memory",
            "discarded memories",
        ),
    ];
    let held = held.into_iter().filter(|(count, _, _)| *count > 0);
    let held: Vec<String> = held
        .map(|(count, one, many)| format!("{}, ", words::counted(count, one, many)))
        .collect();
    let content = html! {
        (form.faults.summary())
        h2 { "Erase " (view.name) }
        p { "The key that everything of this agent is sealed with is destroyed: " (held.concat())
            "its prompts, and the text in its log. Nothing restores any of it, not even a backup of the database." }
        p { "What stays is its log without text, which still verifies, and its name is free again. Copies \
             of the key store that lie elsewhere are not reached from here: destroy them too." }
        p { "The agent is not asked. To take single memories out of the context instead, discard them; to stop its \
             sessions, take it out of service under " a href={ (path) "/settings" } { "Settings" } "." }
        form.settings method="post" action={ (path) "/erase" } {
            (parts::form_token(visitor))
            div.fields {
                (LabelledField::new(NAME, "Name of the agent, to show that you mean this one").faults(&form.faults).text(form.field(NAME)))
            }
            div.buttons {
                button.danger type="submit" { "Erase it for good" }
                a.button href={ (path) "/settings" } { "Leave it as it is" }
            }
        }
    };
    Ok(agent_page(visitor, agent, Tab::Settings, "Erase {}").show(content))
}
