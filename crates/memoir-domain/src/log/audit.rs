//! The audit record: what changed, by whom, from what to what (SPEC 4.1).
//!
//! A record has two parts. Its facts are counts, codes and identifiers, open to an administrator. Its
//! body is text: memories before and after, summaries, reasons (SPEC 5.1).

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ids::{AccessRequestId, SessionId, TokenId, UserId},
    memory::{Memory, Number, Place, Tags, origin::SavedBy},
    text::private::{PrivateJson, PrivateText},
    time::Timestamp,
};

pub use crate::memory::origin::ActorKind;

/// The fact that lists the places in the log of the records that this one undid.
pub(crate) const UNDONE: &str = "taken_back";
/// The fact of an `agent_rewound` record: the place of the last record that stays effective.
pub(crate) const TO_SEQ: &str = "to_seq";
/// The fact of a `memory_shredded` record: the hashes of the bodies that replaced those with the text. Of memories that
/// were shredded together, the first record has all of them.
pub const REPLACED: &str = "replaced";

/// The fact of an edit's record: the memories that it names.
pub const MEMBERS: &str = "members";
/// The fact of an edit's record: the loss guard, where it is `off`.
pub(crate) const GUARD: &str = "guard";
/// The fact of a session's first record that says who began the session (SPEC 4.1).
pub const STARTED_BY: &str = "started_by";
/// The fact of every record that changes memories: the core size after it, in tokens.
pub const CORE_TOKENS: &str = "core_tokens";

wire_names! {
    /// The action.
    pub enum Action {
        MemoryRefinementConsolidate = "memory_refinement_consolidate" => "consolidated",
        MemoryRefinementUpdate = "memory_refinement_update" => "rewritten",
        MemoryRefinementDelete = "memory_refinement_delete" => "taken out of the prompt",
        MemoryRefinementProtect = "memory_refinement_protect" => "protected",
        MemoryRefinementComplete = "memory_refinement_complete" => "session completed",
        MemoryRefinementRollback = "memory_refinement_rollback" => "session rolled back",
        MemoryRefinementDeclined = "memory_refinement_declined" => "session declined",
        MemoryRefinementAbandoned = "memory_refinement_abandoned" => "session abandoned",
        MemoryRefinementFailed = "memory_refinement_failed" => "session failed",
        MemorySaved = "memory_saved" => "saved",
        MemoryDeduplicated = "memory_deduplicated" => "duplicates joined",
        MemoryProtected = "memory_protected" => "made constitutional",
        MemoryUnprotected = "memory_unprotected" => "no longer constitutional",
        MemoryDiscarded = "memory_discarded" => "discarded",
        MemoryEdited = "memory_edited" => "edited by hand",
        MemoryReplaced = "memory_replaced" => "replaced",
        MemoryRestored = "memory_restored" => "restored",
        MemoryShredded = "memory_shredded" => "shredded",
        MemoryPromoted = "memory_promoted" => "promoted",
        ReflectionCompleted = "reflection_completed" => "reflection completed",
        ReflectionFailed = "reflection_failed" => "reflection failed",
        TranscriptAbsorbed = "transcript_absorbed" => "conversation absorbed",
        TranscriptFailed = "transcript_failed" => "reading a conversation failed",
        AgentConfigured = "agent_configured" => "settings changed",
        AgentConfigureQuestioned = "agent_configure_questioned" => "change of settings questioned",
        TimesCorrected = "times_corrected" => "times corrected",
        AgentRewound = "agent_rewound" => "rewound",
        AgentErased = "agent_erased" => "agent erased",
        AgentImported = "agent_imported" => "agent imported",
        MemoriesImported = "memories_imported" => "memories imported",
        ImportUndone = "import_undone" => "import undone",
        SessionUndone = "session_undone" => "session undone",
        TokenCreated = "token_created" => "token created",
        TokenRevoked = "token_revoked" => "token revoked",
        AccessRequested = "access_requested" => "access asked for",
        AccessGranted = "access_granted" => "access granted",
        AccessRefused = "access_refused" => "access refused",
        AccessUsed = "access_used" => "access used",
        AccessRevoked = "access_revoked" => "access revoked",
        AccessExpired = "access_expired" => "access over",
        AccountCreated = "account_created" => "account created",
        InstallationClosed = "installation_closed" => "installation closed",
        InstallationOpened = "installation_opened" => "installation opened",
        UserCreated = "user_created" => "administrator added",
        UserRemoved = "user_removed" => "administrator removed",
        PasswordChanged = "password_changed" => "password changed",
        SecondFactorSet = "second_factor_set" => "second factor set",
        SecondFactorRemoved = "second_factor_removed" => "second factor removed",
        RecoveryCodesRenewed = "recovery_codes_renewed" => "recovery codes renewed",
        RecoveryCodeUsed = "recovery_code_used" => "recovery code used",
        SignedIn = "signed_in" => "signed in",
        SignInFailed = "sign_in_failed" => "sign-in failed",
        SignInsEnded = "sign_ins_ended" => "sign-ins ended",
    }
}

impl Action {
    /// Whether it ends a session.
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

    /// Whether it is an edit of a session that counts towards its cap (SPEC 3.11).
    pub fn is_capped_edit(self) -> bool {
        self.is_session_edit() && self != Self::MemoryRefinementProtect
    }

    /// Whether it returns memories to earlier states, and so decides which earlier records are effective.
    pub fn undoes(self) -> bool {
        matches!(
            self,
            Self::MemoryRefinementRollback | Self::SessionUndone | Self::AgentRewound
        )
    }

    /// Whether it changes an administrator's row.
    pub fn changes_user(self) -> bool {
        matches!(
            self,
            Self::UserCreated
                | Self::UserRemoved
                | Self::PasswordChanged
                | Self::SecondFactorSet
                | Self::SecondFactorRemoved
                | Self::RecoveryCodesRenewed
                | Self::RecoveryCodeUsed
                | Self::SignInsEnded
        )
    }

    /// Whether it is about an access request (SPEC 5.2).
    pub fn is_of_access(self) -> bool {
        matches!(
            self,
            Self::AccessRequested
                | Self::AccessGranted
                | Self::AccessRefused
                | Self::AccessUsed
                | Self::AccessRevoked
                | Self::AccessExpired
        )
    }

    /// Whether it is an edit or a protection of a session, which a rollback undoes (SPEC 3.19).
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

/// The actor.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// The role.
    pub kind: ActorKind,
    /// A name to show, never an agent's text.
    pub name: String,
}

impl Actor {
    fn new(kind: ActorKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
        }
    }

    /// Memoir itself.
    pub fn system() -> Self {
        Self::new(ActorKind::System, "memoir")
    }

    /// The agent of that name.
    pub fn agent(name: impl Into<String>) -> Self {
        Self::new(ActorKind::Agent, name)
    }

    /// The owner of the machine, by command.
    pub fn owner() -> Self {
        Self::new(ActorKind::Owner, "command line")
    }

    /// The owner of the machine, on the personal page (SPEC 6.6).
    pub fn owner_in_browser() -> Self {
        Self::new(ActorKind::Owner, "browser")
    }

    /// A user who runs agents.
    pub fn administrator(name: impl Into<String>) -> Self {
        Self::new(ActorKind::Administrator, name)
    }
}

/// The new value of a property that can be absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting<T> {
    /// It is removed.
    Clear,
    /// It is set.
    Set(T),
}

/// How a patch holds the new value of a property: as it is, or as a [`Setting`] where the property can be absent.
trait NewValue<T> {
    fn of(after: &T) -> Self;

    fn assign(&self, property: &mut T);
}

impl<T: Clone> NewValue<T> for T {
    fn of(after: &T) -> Self {
        after.clone()
    }

    fn assign(&self, property: &mut T) {
        property.clone_from(self);
    }
}

impl<T: Clone> NewValue<Option<T>> for Setting<T> {
    fn of(after: &Option<T>) -> Self {
        after.clone().map_or(Self::Clear, Self::Set)
    }

    fn assign(&self, property: &mut Option<T>) {
        *property = match self {
            Self::Clear => None,
            Self::Set(value) => Some(value.clone()),
        };
    }
}

/// Defines a patch by the properties that it can set. Each has the name that it has in a memory.
macro_rules! patch {
    ($($(#[$meta:meta])* $property:ident: $new:ty,)+) => {
        /// The changes of a memory; `None` means an unchanged property.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Patch {
            $(
                $(#[$meta])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $property: Option<$new>,
            )+
            /// When its text was shredded; never cleared.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub shredded_at: Option<Timestamp>,
        }

        impl Patch {
            /// The difference between `before` and `after`. The number never changes.
            fn between(before: &Memory, after: &Memory) -> Self {
                fn changed<T: PartialEq, N: NewValue<T>>(before: &T, after: &T) -> Option<N> {
                    (before != after).then(|| N::of(after))
                }
                Self {
                    $($property: changed(&before.$property, &after.$property),)+
                    // Never undone, so that it is never cleared.
                    shredded_at: after
                        .shredded_at
                        .filter(|_| before.shredded_at != after.shredded_at),
                }
            }

            fn apply(&self, memory: &mut Memory) {
                $(if let Some(new) = &self.$property {
                    NewValue::assign(new, &mut memory.$property);
                })+
                memory.shredded_at = self.shredded_at.or(memory.shredded_at);
            }

            /// Returns each property that it set from `before` to `after`, unless another change set it since.
            fn revert(&self, before: &Memory, after: &Memory, current: &mut Memory) {
                fn revert<T: PartialEq + Clone>(current: &mut T, set: &T, before: &T) {
                    if current == set {
                        current.clone_from(before);
                    }
                }
                $(if self.$property.is_some() {
                    revert(&mut current.$property, &after.$property, &before.$property);
                })+
            }
        }
    };
}

patch! {
    /// Its new place: kind, `under` and `archived_at` together (SPEC 3.12).
    place: Place,
    /// Its new text.
    content: PrivateText,
    /// Its new tags.
    tags: Tags,
    /// Its new source.
    source: Setting<PrivateText>,
    /// Its new origin, and the role that saved it.
    saved_by: SavedBy,
    /// Whether it is a summary now.
    is_summary: bool,
    /// The record that first made it core.
    core_seq: Setting<u64>,
    /// When it counts as saved.
    recorded_at: Timestamp,
    /// Its new origin date.
    created_at: Timestamp,
    /// Its new date of change.
    updated_at: Timestamp,
    /// The record that made it constitutional.
    protected_seq: Setting<u64>,
    /// When it was discarded.
    discarded_at: Setting<Timestamp>,
}

impl Patch {
    fn without_text(&self) -> Self {
        Self {
            // Set to an empty text: without the property, replay would keep the earlier text.
            content: self.content.as_ref().map(|_| PrivateText::default()),
            tags: self.tags.as_ref().map(|_| Tags::default()),
            source: self.source.as_ref().map(|_| Setting::Clear),
            ..self.clone()
        }
    }
}

/// One memory's part in a record: enough for replay and undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "most changes are of the larger variant"
)]
pub enum Change {
    /// It is new.
    Created(Memory),
    /// It existed and changed.
    Altered {
        /// In full, as it was.
        before: Memory,
        /// The changes.
        patch: Patch,
    },
}

impl Change {
    /// `None` where both are the same.
    pub fn between(before: Memory, after: &Memory) -> Option<Self> {
        let patch = Patch::between(&before, after);
        (patch != Patch::default()).then_some(Self::Altered { before, patch })
    }

    /// The memory as it was, or as it was made where it is new.
    pub fn earliest(&self) -> &Memory {
        match self {
            Self::Created(memory) | Self::Altered { before: memory, .. } => memory,
        }
    }

    /// The memory's number.
    pub fn number(&self) -> Number {
        self.earliest().number
    }

    /// The memory as it was; `None` where it is new.
    pub fn before(&self) -> Option<&Memory> {
        match self {
            Self::Created(_) => None,
            Self::Altered { before, .. } => Some(before),
        }
    }

    /// The memory's text afterwards.
    pub fn content(&self) -> &PrivateText {
        match self {
            Self::Created(memory) => &memory.content,
            Self::Altered { before, patch } => patch.content.as_ref().unwrap_or(&before.content),
        }
    }

    /// The memory's state afterwards.
    pub fn after(&self) -> Memory {
        match self {
            Self::Created(memory) => memory.clone(),
            Self::Altered { before, patch } => {
                let mut after = before.clone();
                patch.apply(&mut after);
                after
            }
        }
    }

    /// The same change without the memory's text. It sets the same properties, so that the log replays (SPEC 4.4).
    #[must_use]
    pub fn without_text(&self) -> Self {
        match self {
            Self::Created(memory) => Self::Created(memory.without_text()),
            Self::Altered { before, patch } => Self::Altered {
                before: before.without_text(),
                patch: patch.without_text(),
            },
        }
    }

    /// Undoes this change in `current`, property by property: a property that another change set since stays (SPEC
    /// 3.19). A new memory is discarded at `now`, unless it is constitutional by now. A shredded one stays shredded
    /// (SPEC 4.4).
    pub fn undo(&self, current: &mut Memory, now: Timestamp) {
        if current.shredded_at.is_some() {
            return;
        }
        match self {
            // A memory that was discarded since keeps that date.
            Self::Created(_) if !current.is_constitutional() => {
                current.discarded_at.get_or_insert(now);
            }
            Self::Created(_) => {}
            Self::Altered { before, patch } => patch.revert(before, &self.after(), current),
        }
    }
}

/// One setting's part in a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// The setting's wire name.
    pub field: String,
    /// Its value before; `null` means the default.
    pub before: PrivateJson,
    /// Its value afterwards.
    pub after: PrivateJson,
}

impl SettingChange {
    /// Whether the value changed. An administrator's act is recorded in any case (SPEC 4.3).
    pub fn is_different(&self) -> bool {
        self.before != self.after
    }
}

/// The part of a record that is an agent's text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordBody {
    /// The memories' parts, in the order in which they happened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The settings' parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingChange>,
    /// The agent's report on a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<PrivateText>,
    /// A reason that a model or a person gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<PrivateText>,
}

impl RecordBody {
    pub(crate) fn of_reason(reason: Option<PrivateText>) -> Self {
        Self {
            reason,
            ..Self::default()
        }
    }
}

impl From<Vec<Change>> for RecordBody {
    fn from(changes: Vec<Change>) -> Self {
        Self {
            changes,
            ..Self::default()
        }
    }
}

/// The counts, codes and identifiers of a record. No memory's text can get into it: texts must be static, but for the
/// configured name of a session's model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
#[must_use]
pub struct Facts(Map<String, Value>);

impl Facts {
    fn with<V: Into<Value>>(mut self, name: &str, value: V) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// A count or a size.
    pub fn count(self, name: &'static str, value: impl Into<u64>) -> Self {
        self.with::<u64>(name, value.into())
    }

    /// A share from 0 to 1.
    pub fn share(self, name: &'static str, value: f64) -> Self {
        self.with(name, value)
    }

    /// A code of Memoir's own.
    pub fn code(self, name: &'static str, value: &'static str) -> Self {
        self.with(name, value)
    }

    /// The configured name of a model: the configuration of the installation gives it, and no agent and no model.
    pub(crate) fn configured_model(self, name: &str) -> Self {
        self.with("model", name)
    }

    /// Several counts under one name.
    pub(crate) fn counts<const N: usize>(
        self,
        name: &'static str,
        counts: [(&'static str, u32); N],
    ) -> Self {
        let counts = counts.map(|(name, count)| (name.to_owned(), Value::from(count)));
        self.with(name, Map::from_iter(counts))
    }

    /// Numbers of memories, each with a code of Memoir's own.
    pub(crate) fn coded_numbers(
        self,
        name: &'static str,
        numbers: impl IntoIterator<Item = (Number, &'static str)>,
    ) -> Self {
        let coded = numbers
            .into_iter()
            .map(|(number, reason)| serde_json::json!({"number": number.0, "reason": reason}));
        self.with::<Value>(name, coded.collect())
    }

    /// Codes of Memoir's own.
    pub fn codes(self, name: &'static str, values: impl IntoIterator<Item = &'static str>) -> Self {
        self.with::<Value>(name, values.into_iter().collect())
    }

    /// The codes that [`Facts::codes`] put under that name; none where it put none there.
    pub fn codes_of(&self, name: &str) -> impl Iterator<Item = &str> {
        self.list(name).filter_map(Value::as_str)
    }

    /// Numbers of memories.
    pub fn numbers(self, name: &'static str, numbers: impl IntoIterator<Item = Number>) -> Self {
        self.places(name, numbers.into_iter().map(|number| number.0))
    }

    /// Places in the log.
    pub fn places(self, name: &'static str, seqs: impl IntoIterator<Item = u64>) -> Self {
        self.with::<Value>(name, seqs.into_iter().collect())
    }

    /// A point in time, as RFC 3339.
    pub fn time(self, name: &'static str, at: Timestamp) -> Self {
        self.with(name, at.to_string())
    }

    /// The identifier of a token.
    pub fn token(self, id: TokenId) -> Self {
        self.with("token", id.to_string())
    }

    /// An actor, by role and public name.
    pub fn actor(self, name: &'static str, actor: &Actor) -> Self {
        let value = serde_json::json!({"kind": actor.kind, "name": actor.name});
        self.with(name, value)
    }

    /// The identifier of an administrator with a name.
    pub fn user(self, id: UserId) -> Self {
        self.with("user", id.to_string())
    }

    /// The identifier of an access request.
    pub fn request(self, id: AccessRequestId) -> Self {
        self.with("request", id.to_string())
    }

    /// The session in the scope of an access request.
    pub fn session(self, id: SessionId) -> Self {
        self.with("session", id.to_string())
    }

    /// Hashes of bodies, each with the place in the log of the record that it belongs to.
    pub fn commitments(
        self,
        name: &'static str,
        commitments: impl IntoIterator<Item = (u64, [u8; 32])>,
    ) -> Self {
        let pairs = commitments
            .into_iter()
            .map(|(seq, hash)| serde_json::json!([seq, HEXLOWER.encode(&hash)]));
        self.with::<Value>(name, pairs.collect())
    }

    /// The same facts, with another identifier for the session in the scope of an access request.
    pub(crate) fn with_session_renamed(self, rename: impl Fn(SessionId) -> SessionId) -> Self {
        match self.code_of("session").and_then(|id| id.parse().ok()) {
            Some(id) => self.session(rename(id)),
            None => self,
        }
    }

    /// As a JSON object.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The count of that name; `None` where there is none.
    pub fn count_of(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    /// The code of that name; `None` where there is none.
    pub fn code_of(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// The time of that name; `None` where there is none.
    pub fn time_of(&self, name: &str) -> Option<Timestamp> {
        self.code_of(name)?.parse().ok()
    }

    /// The places in the log of that name; none where there are none.
    pub fn places_of(&self, name: &str) -> impl Iterator<Item = u64> {
        self.list(name).filter_map(Value::as_u64)
    }

    /// The replacements for records' bodies after a shredding: the hash of each new body, by its record's place in the
    /// log. A malformed entry is ignored, so that nothing confirms its record.
    pub fn replaced(&self) -> BTreeMap<u64, [u8; 32]> {
        self.list(REPLACED).filter_map(read_commitment).collect()
    }

    fn list(&self, name: &str) -> impl Iterator<Item = &Value> {
        let list = self.0.get(name).and_then(Value::as_array);
        list.into_iter().flatten()
    }
}

fn read_commitment(pair: &Value) -> Option<(u64, [u8; 32])> {
    let [seq, digits] = pair.as_array()?.as_slice() else {
        return None;
    };
    // Only 64 lower-case digits: each hash has one spelling.
    let hash = HEXLOWER.decode(digits.as_str()?.as_bytes()).ok()?;
    Some((seq.as_u64()?, hash.try_into().ok()?))
}

/// One entry of an agent's log, written in the transaction of the change and never altered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its place in the agent's log, from 1, without gaps.
    pub seq: u64,
    /// When it was written.
    pub recorded_at: Timestamp,
    /// The actor.
    pub actor: Actor,
    /// The action.
    pub action: Action,
    /// The session that it belongs to.
    pub session: Option<SessionId>,
    /// The memory that it is about; a consolidation names the new one.
    pub memory: Option<Number>,
    /// Counts, codes and identifiers.
    pub facts: Facts,
    /// The agent's text.
    pub body: RecordBody,
}
