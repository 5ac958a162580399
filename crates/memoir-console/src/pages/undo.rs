//! `/sessions/{session}/roll-back`: what stands in the way first, then the undoing.

use axum::{Extension, extract::Path};
use maud::{Markup, html};
use memoir_app::sessions::RollBackPreview;
use memoir_domain::{SessionId, rollback::Obstacle};

use super::{Tab, agent_head};
use crate::{
    answer::{Answer, see_other},
    browser::Visitor,
    form::Form,
    parts::{self, Place, Sheet},
    words,
};

pub(crate) async fn preview(
    Extension(visitor): Extension<Visitor>,
    Path(session): Path<String>,
) -> Answer {
    let (agent, id) = visitor.account.session_agent(&session).await?;
    let RollBackPreview { changes, obstacles } =
        agent.preview_roll_back(id, &visitor.actor()).await?;
    let session = agent.blind_session(id).await?;
    let content = html! {
        (agent_head(&agent, Tab::Sessions))
        h2 { "Roll back the session of " (parts::time(session.started_at)) }
        p { "Every memory that it changed becomes what it was before: "
            (session.stats) ". Doubles that were cleaned before its first edit stay cleaned. \
             Rolling back is on the record, and can be undone itself." }
        dl.facts { (parts::become_different(&changes)) }
        @if obstacles.is_empty() {
            p { "No later change stands in the way." }
        } @else {
            p { "This is what it comes to with later changes undone too." }
            (in_the_way(&obstacles))
        }
        (form(&visitor, id, &obstacles))
    };
    let title = format!("Roll back a session of {}", agent.name());
    Ok(Sheet::new(&visitor, &title, Place::Fleet).show(content))
}

fn in_the_way(obstacles: &[Obstacle]) -> Markup {
    html! {
        p.problem { (words::counted(obstacles.len() as u64, "later change", "later changes"))
            " of the same memories " (if obstacles.len() == 1 { "stands" } else { "stand" }) " in the way:" }
        table.cards role="table" {
            caption.hidden { "Later changes of the same memories" }
            thead role="rowgroup" { tr role="row" {
                th role="columnheader" scope="col" class="figure" { "Record" }
                th role="columnheader" scope="col" { "When" }
                th role="columnheader" scope="col" { "What" }
                th role="columnheader" scope="col" { "Session" }
                th role="columnheader" scope="col" { "Memories" }
            } }
            tbody role="rowgroup" {
                @for obstacle in obstacles {
                    tr role="row" {
                        th role="rowheader" scope="row" class="figure" data-label="Record" { (obstacle.seq) }
                        td role="cell" data-label="When" { (parts::time(obstacle.recorded_at)) }
                        td.what role="cell" data-label="What" { (words::spaced(obstacle.action.as_str())) }
                        td role="cell" data-label="Session" {
                            @match obstacle.session_id {
                                Some(id) => a href={ "/sessions/" (id) } { "Show it" },
                                None => span.none { "none" },
                            }
                        }
                        td role="cell" data-label="Memories" {
                            span { @for number in &obstacle.memories { "#" (number.0) " " } }
                        }
                    }
                }
            }
        }
    }
}

fn form(visitor: &Visitor, id: SessionId, obstacles: &[Obstacle]) -> Markup {
    html! {
        form.row method="post" action={ "/sessions/" (id) "/roll-back" } {
            (parts::form_token(visitor))
            @if !obstacles.is_empty() {
                div.check {
                    input #cascade name="cascade" type="checkbox" value="yes" required;
                    label for="cascade" { "Undo these later changes too" }
                }
            }
            button.danger type="submit" { "Roll back" }
            a href={ "/sessions/" (id) } { "Leave it as it is" }
        }
    }
}

pub(crate) async fn roll_back(
    Extension(visitor): Extension<Visitor>,
    Extension(form): Extension<Form>,
    Path(session): Path<String>,
) -> Answer {
    let (agent, id) = visitor.account.session_agent(&session).await?;
    agent
        .roll_back(id, form.is_ticked("cascade"), &visitor.actor())
        .await?;
    Ok(see_other(&format!("/sessions/{id}?done=rolled-back")))
}
