//! The audit record: what changed, by whom, from what to what (SPEC 4.1).
//!
//! A record has two parts. Its facts are counts, codes and identifiers, open to an administrator. Its
//! body is text: memories before and after, summaries, reasons (SPEC 5.1).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    PrivateText, SessionId, Timestamp,
    memory::{Memory, Number, Tags},
};

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the words of SPEC 4.1")]
pub enum Action {
    MemoryRefinementConsolidate,
    MemoryRefinementUpdate,
    MemoryRefinementDelete,
    MemoryRefinementProtect,
    MemoryRefinementComplete,
    MemoryRefinementRollback,
    MemoryRefinementDeclined,
    MemoryRefinementAbandoned,
    MemoryRefinementFailed,
    MemorySaved,
    MemoryDeduplicated,
    MemoryProtected,
    MemoryUnprotected,
    MemoryDiscarded,
    MemoryRestored,
    AgentConfigured,
    SessionUndone,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 17] = [
        Self::MemoryRefinementConsolidate,
        Self::MemoryRefinementUpdate,
        Self::MemoryRefinementDelete,
        Self::MemoryRefinementProtect,
        Self::MemoryRefinementComplete,
        Self::MemoryRefinementRollback,
        Self::MemoryRefinementDeclined,
        Self::MemoryRefinementAbandoned,
        Self::MemoryRefinementFailed,
        Self::MemorySaved,
        Self::MemoryDeduplicated,
        Self::MemoryProtected,
        Self::MemoryUnprotected,
        Self::MemoryDiscarded,
        Self::MemoryRestored,
        Self::AgentConfigured,
        Self::SessionUndone,
    ];

    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryRefinementConsolidate => "memory_refinement_consolidate",
            Self::MemoryRefinementUpdate => "memory_refinement_update",
            Self::MemoryRefinementDelete => "memory_refinement_delete",
            Self::MemoryRefinementProtect => "memory_refinement_protect",
            Self::MemoryRefinementComplete => "memory_refinement_complete",
            Self::MemoryRefinementRollback => "memory_refinement_rollback",
            Self::MemoryRefinementDeclined => "memory_refinement_declined",
            Self::MemoryRefinementAbandoned => "memory_refinement_abandoned",
            Self::MemoryRefinementFailed => "memory_refinement_failed",
            Self::MemorySaved => "memory_saved",
            Self::MemoryDeduplicated => "memory_deduplicated",
            Self::MemoryProtected => "memory_protected",
            Self::MemoryUnprotected => "memory_unprotected",
            Self::MemoryDiscarded => "memory_discarded",
            Self::MemoryRestored => "memory_restored",
            Self::AgentConfigured => "agent_configured",
            Self::SessionUndone => "session_undone",
        }
    }

    /// The action of that wire name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == name)
    }

    /// Whether it tells how a session ended.
    pub fn is_session_end(self) -> bool {
        matches!(
            self,
            Self::MemoryRefinementComplete
                | Self::MemoryRefinementRollback
                | Self::MemoryRefinementDeclined
                | Self::MemoryRefinementAbandoned
                | Self::MemoryRefinementFailed
        )
    }

    /// Whether it is an edit or a protection of a session, which a rollback takes back (SPEC 3.19).
    pub fn is_session_edit(self) -> bool {
        matches!(
            self,
            Self::MemoryRefinementConsolidate
                | Self::MemoryRefinementUpdate
                | Self::MemoryRefinementDelete
                | Self::MemoryRefinementProtect
        )
    }
}

/// In what role somebody acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// Somebody who runs agents.
    Administrator,
    /// The agent whose memory it is.
    Agent,
    /// Memoir itself.
    System,
}

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// The role.
    pub kind: ActorKind,
    /// A name to show, never an agent's words.
    pub name: String,
}

impl Actor {
    /// Memoir itself.
    pub fn system() -> Self {
        Self {
            kind: ActorKind::System,
            name: "memoir".to_owned(),
        }
    }

    /// The agent of that name.
    pub fn agent(name: impl Into<String>) -> Self {
        Self {
            kind: ActorKind::Agent,
            name: name.into(),
        }
    }

    /// Somebody who runs agents.
    pub fn administrator(name: impl Into<String>) -> Self {
        Self {
            kind: ActorKind::Administrator,
            name: name.into(),
        }
    }
}

/// The new value of a property that can be absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting<T> {
    /// It is taken away.
    Clear,
    /// It is set.
    Set(T),
}

impl<T: Clone + PartialEq> Setting<T> {
    fn between(before: &Option<T>, after: &Option<T>) -> Option<Self> {
        (before != after).then(|| after.clone().map_or(Self::Clear, Self::Set))
    }

    fn value(&self) -> Option<T> {
        match self {
            Self::Clear => None,
            Self::Set(value) => Some(value.clone()),
        }
    }
}

/// What became different about a memory; `None` means that the property stayed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Patch {
    /// Its new text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<PrivateText>,
    /// Its new tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Tags>,
    /// Its new origin date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Its new date of change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// The wording that it is now protected at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected_wording: Option<Setting<PrivateText>>,
    /// When it was discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discarded_at: Option<Setting<Timestamp>>,
}

/// One memory's part in a record: enough to replay it, and to take it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is new.
    Created(Memory),
    /// It was there and became different.
    Altered {
        /// In full, as it was.
        before: Memory,
        /// What became different.
        patch: Patch,
    },
}

impl Change {
    /// `None` where both are the same. Number, kind and source never change.
    pub fn between(before: Memory, after: &Memory) -> Option<Self> {
        let patch = Patch {
            content: (before.content != after.content).then(|| after.content.clone()),
            tags: (before.tags != after.tags).then(|| after.tags.clone()),
            created_at: (before.created_at != after.created_at).then_some(after.created_at),
            updated_at: (before.updated_at != after.updated_at).then_some(after.updated_at),
            protected_wording: Setting::between(
                &before.protected_wording,
                &after.protected_wording,
            ),
            discarded_at: Setting::between(&before.discarded_at, &after.discarded_at),
        };
        (patch != Patch::default()).then_some(Self::Altered { before, patch })
    }

    /// The memory's number.
    pub fn number(&self) -> Number {
        match self {
            Self::Created(memory) | Self::Altered { before: memory, .. } => memory.number,
        }
    }

    /// The memory as it was; `None` where it is new.
    pub fn before(&self) -> Option<&Memory> {
        match self {
            Self::Created(_) => None,
            Self::Altered { before, .. } => Some(before),
        }
    }

    /// The memory as it is afterwards.
    pub fn after(&self) -> Memory {
        match self {
            Self::Created(memory) => memory.clone(),
            Self::Altered { before, patch } => {
                let mut after = before.clone();
                if let Some(content) = &patch.content {
                    after.content = content.clone();
                }
                if let Some(tags) = &patch.tags {
                    after.tags = tags.clone();
                }
                after.created_at = patch.created_at.unwrap_or(after.created_at);
                after.updated_at = patch.updated_at.unwrap_or(after.updated_at);
                if let Some(setting) = &patch.protected_wording {
                    after.protected_wording = setting.value();
                }
                if let Some(setting) = &patch.discarded_at {
                    after.discarded_at = setting.value();
                }
                after
            }
        }
    }

    /// Takes this change back from `current`, property by property: what somebody else changed since
    /// stays as it is (SPEC 3.19). A memory that was new is discarded at `now`.
    pub fn take_back(&self, current: &mut Memory, now: Timestamp) {
        fn revert<T: PartialEq + Clone>(current: &mut T, set: &T, before: &T) {
            if current == set {
                *current = before.clone();
            }
        }
        match self {
            Self::Created(_) => {
                current.discarded_at.get_or_insert(now);
            }
            Self::Altered { before, patch } => {
                let after = self.after();
                // The date of change goes back only with the text and the flag that it belongs to.
                if current.updated_at == after.updated_at {
                    current.updated_at = before.updated_at;
                }
                if patch.content.is_some() {
                    revert(&mut current.content, &after.content, &before.content);
                }
                if patch.tags.is_some() {
                    revert(&mut current.tags, &after.tags, &before.tags);
                }
                if patch.created_at.is_some() {
                    revert(
                        &mut current.created_at,
                        &after.created_at,
                        &before.created_at,
                    );
                }
                if patch.protected_wording.is_some() {
                    revert(
                        &mut current.protected_wording,
                        &after.protected_wording,
                        &before.protected_wording,
                    );
                }
                if patch.discarded_at.is_some() {
                    revert(
                        &mut current.discarded_at,
                        &after.discarded_at,
                        &before.discarded_at,
                    );
                }
            }
        }
    }
}

/// One setting's part in a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// The setting's wire name.
    pub field: String,
    /// Its value before; `null` means the default.
    pub before: crate::PrivateJson,
    /// Its value afterwards.
    pub after: crate::PrivateJson,
}

/// The part of a record that is an agent's words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Body {
    /// The memories' parts, in the order in which they happened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The settings' parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingChange>,
    /// The agent's summary of a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<PrivateText>,
    /// A reason in somebody's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<PrivateText>,
    /// What the detail guard found lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost_details: Vec<PrivateText>,
}

/// The part of a record that is counts, codes and identifiers. There is no way to put a memory's
/// words into it: texts must be static, but for the configured name of a session's model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(Map<String, Value>);

impl Facts {
    /// A count or a size.
    #[must_use]
    pub fn count(mut self, name: &'static str, value: impl Into<u64>) -> Self {
        self.0.insert(name.to_owned(), Value::from(value.into()));
        self
    }

    /// A share from 0 to 1.
    #[must_use]
    pub fn share(mut self, name: &'static str, value: f64) -> Self {
        self.0.insert(name.to_owned(), Value::from(value));
        self
    }

    /// A word of Memoir's own.
    #[must_use]
    pub fn code(mut self, name: &'static str, value: &'static str) -> Self {
        self.0.insert(name.to_owned(), Value::from(value));
        self
    }

    /// Words of Memoir's own.
    #[must_use]
    pub fn codes(
        mut self,
        name: &'static str,
        values: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        let values: Vec<Value> = values.into_iter().map(Value::from).collect();
        self.0.insert(name.to_owned(), Value::from(values));
        self
    }

    /// The model that ran a session, by its configured name; nothing where the agent ran it itself.
    #[must_use]
    pub fn model(mut self, session: &crate::session::Session) -> Self {
        if let Some(model) = &session.model {
            self.0
                .insert("model".to_owned(), Value::from(model.as_str()));
        }
        self
    }

    /// Numbers of memories.
    #[must_use]
    pub fn numbers(
        mut self,
        name: &'static str,
        numbers: impl IntoIterator<Item = Number>,
    ) -> Self {
        let numbers: Vec<Value> = numbers
            .into_iter()
            .map(|number| Value::from(number.0))
            .collect();
        self.0.insert(name.to_owned(), Value::from(numbers));
        self
    }

    /// Places in the log.
    #[must_use]
    pub fn places(mut self, name: &'static str, seqs: impl IntoIterator<Item = u64>) -> Self {
        let seqs: Vec<Value> = seqs.into_iter().map(Value::from).collect();
        self.0.insert(name.to_owned(), Value::from(seqs));
        self
    }

    /// What a session did.
    #[must_use]
    pub fn stats(mut self, stats: crate::session::Stats) -> Self {
        self.0.insert("stats".to_owned(), stats_value(stats));
        self
    }

    /// As a JSON object.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

fn stats_value(stats: crate::session::Stats) -> Value {
    serde_json::json!({
        "consolidated": stats.consolidated,
        "updated": stats.updated,
        "deleted": stats.deleted,
        "protected": stats.protected,
    })
}

/// One entry of an agent's log. Written in the transaction of the change, never altered.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its place in the agent's log, from 1, without gaps.
    pub seq: u64,
    /// When it was written.
    pub recorded_at: Timestamp,
    /// Who did it.
    pub actor: Actor,
    /// What was done.
    pub action: Action,
    /// The session that it belongs to.
    pub session: Option<SessionId>,
    /// The memory that it is about; a consolidation names the new one.
    pub memory: Option<Number>,
    /// Counts, codes and identifiers.
    pub facts: Facts,
    /// The agent's words.
    pub body: Body,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Kind;

    fn memory(content: &str) -> Memory {
        let at = Timestamp::from_microseconds(1).unwrap();
        Memory {
            number: Number(1),
            kind: Kind::Core,
            content: content.into(),
            tags: Tags::default(),
            source: None,
            protected_wording: None,
            created_at: at,
            updated_at: at,
            discarded_at: None,
        }
    }

    #[test]
    fn spec_4_1_a_change_replays_through_its_stored_form() {
        let now = Timestamp::from_microseconds(9).unwrap();
        let before = memory("a");
        let mut after = before.clone();
        after.content = "b".into();
        after.protected_wording = Some("b".into());
        after.discarded_at = Some(now);
        let change = Change::between(before.clone(), &after).unwrap();
        let stored: Change =
            serde_json::from_str(&serde_json::to_string(&change).unwrap()).unwrap();
        assert_eq!(
            (stored.after(), stored.before()),
            (after.clone(), Some(&before))
        );
        let mut current = after;
        stored.take_back(&mut current, now);
        assert_eq!(current, before);
        assert_eq!(Change::between(before.clone(), &before), None);
    }

    #[test]
    fn spec_3_19_taking_back_leaves_what_others_changed() {
        let now = Timestamp::from_microseconds(9).unwrap();
        let before = memory("a");
        let mut after = before.clone();
        after.content = "b".into();
        after.updated_at = now;
        let change = Change::between(before.clone(), &after).unwrap();
        let mut current = after.clone();
        current.protected_wording = Some("b".into());
        change.take_back(&mut current, now);
        assert_eq!(current.content, before.content);
        assert_eq!(current.protected_wording, Some("b".into()));
    }

    #[test]
    fn spec_4_1_every_action_has_its_wire_name() {
        for action in Action::ALL {
            assert_eq!(serde_json::to_value(action).unwrap(), action.as_str());
            assert_eq!(Action::from_name(action.as_str()), Some(action));
        }
    }
}
