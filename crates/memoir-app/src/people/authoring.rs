//! The agent's own settings: shown, set with a confirmation where a prompt would be lost, and restored (SPEC 2.7).

use memoir_domain::{
    PrivateJson, PrivateText,
    agent::{self, Agent, Field},
    audit::{Action, Actor, ActorKind},
    authoring::{self, Authored, CONFIRM_SECONDS, Doubt, RecordedSetting},
};
use memoir_store::{AgentQuery, RecordFilter};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{Error, Loaded, Result},
    people::{
        AgentSettings,
        agents::{name_taken, placeholder_warnings},
    },
    shown::{OwnAgent, schemas},
};

/// Most values of a setting that are shown: of the longest prompts, some megabytes. Earlier ones are in the audit.
const SHOWN: usize = 20;
/// The latest questions that the same text confirms, at most.
// Each may hold a prompt of the longest kind, and all are opened with each setting of a prompt.
const ASKED: u32 = 16;
/// Records that are read per page, since each may hold two prompts of the longest kind.
const AT_ONCE: u32 = 8;

/// A setting of the agent's own.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Config)]
pub struct OwnSetting {
    /// `config`
    #[serde(rename = "type")]
    #[schema(rename = "type", value_type = String, pattern = "^config$")]
    kind: &'static str,
    #[schema(value_type = schemas::OwnField)]
    field: &'static str,
    /// The effective value: of a prompt that is not set, the whole text of the default.
    #[schema(value_type = schemas::TextOrNumber)]
    pub value: PrivateJson,
    /// Whether that is the default.
    pub is_default: bool,
    agent: String,
    /// Notes on a prompt that was just set, such as one about an unknown placeholder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>, required = false)]
    pub warnings: Vec<PrivateText>,
}

impl OwnSetting {
    fn of(agent: &Agent, field: Field) -> Self {
        let set = agent::field_value(&agent.name, &agent.settings, field);
        let is_default = set.is_null();
        let value = match field {
            Field::RefinementThreshold => agent
                .settings
                .effective_refinement_threshold()
                .share()
                .into(),
            Field::LossGuard => agent.settings.effective_loss_guard().as_str().into(),
            _ if is_default => authoring::default_prompt(&agent.name, field).into(),
            _ => set,
        };
        Self {
            kind: "config",
            field: field.as_str(),
            value: PrivateJson::new(value),
            is_default,
            agent: agent.name.clone(),
            warnings: Vec::new(),
        }
    }
}

impl OwnAgent {
    /// One setting of the agent's own, with the effective value.
    ///
    /// # Errors
    /// The agent is gone, or the store fails.
    pub async fn own_setting(&self, field: Field) -> Result<OwnSetting> {
        let query = AgentQuery::default().with_prompts();
        Ok(OwnSetting::of(&self.load(&query).await?.agent, field))
    }

    /// Sets one of the agent's own settings, as the agent. Returns it as set, with warnings about an unusual value.
    ///
    /// # Errors
    /// [`Error::Unconfirmed`] where a prompt would be lost by mistake: the same value within the hour sets
    /// it. A value that is not allowed; a name that is taken; the store fails.
    pub async fn author(&self, field: Field, value: Option<&str>) -> Result<OwnSetting> {
        // Outside of the decision: a question that is asked meanwhile is about another text, or is asked again.
        let questions = self.recent_questions(field).await?;
        // Before and after are written to the log, each about as long as the value.
        let bytes = value.map_or(0, |value| value.len() as u64 * 2);
        self.check_daily_quota(bytes).await?;
        let author = |loaded: Loaded, now| {
            let unchanged = OwnSetting::of(&loaded.agent, field);
            let authored = authoring::author(loaded.agent, field, value, &questions, now)?;
            Ok(match authored {
                Authored::Unchanged => (None, Ok(unchanged)),
                Authored::Set(decision) => {
                    let set = OwnSetting::of(&decision.agent, field);
                    (Some(*decision), Ok(set))
                }
                Authored::Questioned(doubt, decision) => (Some(*decision), Err(doubt)),
            })
        };
        let set: Result<OwnSetting, Doubt> = self
            .decide(&AgentQuery::default().with_prompts(), author)
            .await
            .map_err(|error| name_taken(error, &[(field, value)]))?;
        match set {
            Ok(set) => Ok(OwnSetting {
                warnings: placeholder_warnings(&[(field, value)]),
                ..set
            }),
            Err(doubt) => {
                let field = field.as_str();
                Err(Error::Unconfirmed { field, doubt })
            }
        }
    }

    /// As [`AgentSettings::undo_setting`], as the agent. Returns the setting after it.
    ///
    /// # Errors
    /// As for it.
    pub async fn undo_own_setting(&self, field: Field) -> Result<OwnSetting> {
        let undone = self.settings().revert(field, &self.as_actor()).await?;
        Ok(undone.1)
    }

    /// The latest questions to the agent within the hour; empty for settings without confirmation.
    async fn recent_questions(&self, field: Field) -> Result<Vec<memoir_domain::audit::Record>> {
        if !field.is_text() {
            return Ok(Vec::new());
        }
        let filter = RecordFilter {
            since: Some(self.memoir.now().plus_seconds(-CONFIRM_SECONDS)),
            last: Some(ASKED),
            ..RecordFilter::of_actions([Action::AgentConfigureQuestioned])
        };
        self.log().load_records(&filter).await
    }

    /// The values that a setting had, newest first, at most twenty.
    ///
    /// # Errors
    /// The store fails.
    pub async fn setting_history(&self, field: Field) -> Result<Vec<RecordedSetting>> {
        let mut shown = Vec::new();
        let show = |version| {
            shown.push(version);
            shown.len() < SHOWN
        };
        self.settings().walk_versions(field, show).await?;
        Ok(shown)
    }
}

impl AgentSettings<'_> {
    /// Visits the values that a setting had, newest first, while `go_on` returns true.
    async fn walk_versions(
        self,
        field: Field,
        mut go_on: impl FnMut(RecordedSetting) -> bool,
    ) -> Result<()> {
        let mut before_seq = None;
        loop {
            let filter = RecordFilter {
                before_seq,
                last: Some(AT_ONCE),
                ..RecordFilter::of_actions([Action::AgentConfigured])
            };
            let records = self.log().load_records(&filter).await?;
            let Some(oldest) = records.first() else {
                return Ok(());
            };
            before_seq = Some(oldest.seq);
            let versions = authoring::versions(&records, field);
            if !versions.into_iter().rev().all(&mut go_on) {
                return Ok(());
            }
        }
    }

    /// The last value that a setting got, and before it a version in which the agent wrote the previous value, if it
    /// did. An undo reads them, oldest first.
    async fn last_version(self, field: Field) -> Result<Vec<RecordedSetting>> {
        let mut found: Vec<RecordedSetting> = Vec::new();
        let look = |version: RecordedSetting| {
            let is_looked_for = found.first().is_none_or(|last| {
                last.before == version.value && version.actor.kind == ActorKind::Agent
            });
            if is_looked_for {
                found.push(version);
            }
            // Where the value before the last change was the default (null), it has no author to look for.
            let is_any_before = |last: &RecordedSetting| !last.before.expose().is_null();
            found.len() == 1 && found.first().is_some_and(is_any_before)
        };
        self.walk_versions(field, look).await?;
        found.reverse();
        Ok(found)
    }

    /// Restores the value of a setting from before its last change; returns whether anything changed. A second call
    /// restores the newer value.
    ///
    /// # Errors
    /// Its former name is taken; a daily quota of the agent is used up; the store fails.
    pub async fn undo_setting(self, field: Field, actor: &Actor) -> Result<bool> {
        Ok(self.revert(field, actor).await?.0)
    }

    /// As [`AgentSettings::undo_setting`], with the setting after it.
    async fn revert(self, field: Field, actor: &Actor) -> Result<(bool, OwnSetting)> {
        // Calls in turn could write both values any number of times.
        if actor.kind == ActorKind::Agent {
            self.check_daily_quota(1).await?;
        }
        let versions = self.last_version(field).await?;
        let revert = |loaded: Loaded, now| {
            // Based on the log as it was read: a change of the setting since then is a conflict.
            let agent = loaded.agent;
            let set = agent::field_value(&agent.name, &agent.settings, field);
            if versions
                .last()
                .is_some_and(|last| *last.value.expose() != set)
            {
                return Err(Error::Changed);
            }
            let unchanged = OwnSetting::of(&agent, field);
            let decision = authoring::revert(agent, field, &versions, actor, now)?;
            let set = decision.as_ref().map(|it| OwnSetting::of(&it.agent, field));
            let undone = (set.is_some(), set.unwrap_or(unchanged));
            Ok((decision, undone))
        };
        let old = versions
            .last()
            .and_then(|last| last.before.expose().as_str());
        self.decide(&AgentQuery::default().with_prompts(), revert)
            .await
            .map_err(|error| name_taken(error, &[(field, old)]))
    }
}
