//! The labels of things for people: one table, for the command line, the console and the documentation
//! (`docs/words.md`).
//!
//! Each function covers one noun and names every wire name of it, so that a new one does not compile without a label.
//! Nouns without a function (kinds, origins, roles, drivers) need no labels. Programs read the wire name, everywhere.

use std::borrow::Cow;

use crate::{
    access::{AccessKindName, AccessScopeName, AccessState, RequestOver},
    agent::{LossGuard, Mode, ReasoningEffort, schedule::Trigger},
    log::{audit::Action, core_size::Cause},
    session::{
        EndReason, FAILURE, FailureClass, State,
        tools::{RefusalCode, Tool},
    },
    text::DuplicateMatch,
};

/// The action of a record.
pub fn action(action: Action) -> &'static str {
    match action {
        Action::MemoryRefinementConsolidate => "consolidated",
        Action::MemoryRefinementUpdate => "rewritten",
        Action::MemoryRefinementDelete => "moved to the archive",
        Action::MemoryRefinementProtect => "protected",
        Action::MemoryRefinementComplete => "session completed",
        Action::MemoryRefinementRollback => "session rolled back",
        Action::MemoryRefinementDeclined => "session declined",
        Action::MemoryRefinementAbandoned => "session abandoned",
        Action::MemoryRefinementFailed => "session failed",
        Action::MemorySaved => "saved",
        Action::MemoryDeduplicated => "duplicates joined",
        Action::MemoryProtected => "made constitutional",
        Action::MemoryUnprotected => "no longer constitutional",
        Action::MemoryDiscarded => "discarded",
        Action::MemoryEdited => "edited by hand",
        Action::MemoryReplaced => "replaced",
        Action::MemoryRestored => "restored",
        Action::MemoryShredded => "shredded",
        Action::MemoryPromoted => "promoted",
        Action::ReflectionCompleted => "reflection completed",
        Action::ReflectionFailed => "reflection failed",
        Action::TranscriptAbsorbed => "conversation absorbed",
        Action::TranscriptFailed => "reading a conversation failed",
        Action::AgentConfigured => "settings changed",
        Action::AgentConfigureQuestioned => "change of settings questioned",
        Action::TimesCorrected => "times corrected",
        Action::AgentRewound => "rewound",
        Action::AgentErased => "agent erased",
        Action::AgentImported => "agent imported",
        Action::MemoriesImported => "memories imported",
        Action::ImportUndone => "import undone",
        Action::SessionUndone => "session undone",
        Action::TokenCreated => "token created",
        Action::TokenRevoked => "token revoked",
        Action::AccessRequested => "access asked for",
        Action::AccessGranted => "access granted",
        Action::AccessRefused => "access refused",
        Action::AccessUsed => "access used",
        Action::AccessRevoked => "access revoked",
        Action::AccessExpired => "access over",
        Action::AccountCreated => "account created",
        Action::InstallationClosed => "installation closed",
        Action::InstallationOpened => "installation opened",
        Action::UserCreated => "administrator added",
        Action::UserRemoved => "administrator removed",
        Action::PasswordChanged => "password changed",
        Action::SecondFactorSet => "second factor set",
        Action::SecondFactorRemoved => "second factor removed",
        Action::RecoveryCodesRenewed => "recovery codes renewed",
        Action::RecoveryCodeUsed => "recovery code used",
        Action::SignedIn => "signed in",
        Action::SignInFailed => "sign-in failed",
        Action::SignInsEnded => "sign-ins ended",
    }
}

/// The state of a session.
pub fn state(state: State) -> &'static str {
    match state {
        State::Queued => "queued",
        State::Asking => "asking the agent",
        State::Open => "running",
        State::Completed => "completed",
        State::RolledBack => "rolled back",
        State::Declined => "declined",
        State::Abandoned => "abandoned",
        State::Failed => "failed",
    }
}

/// Which tools a session has.
pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Full => "all six tools",
        Mode::DedupOnly => "duplicates only",
    }
}

/// Which texts are one text.
pub fn duplicate_match(matching: DuplicateMatch) -> &'static str {
    match matching {
        DuplicateMatch::Exact => "exact",
        DuplicateMatch::IgnoreCase => "upper and lower case alike",
    }
}

/// What may leave the prompt by an edit of a session.
pub fn loss_guard(guard: LossGuard) -> &'static str {
    match guard {
        LossGuard::Off => "off",
        LossGuard::Archive => "to the archive, within limits",
        LossGuard::Refuse => "duplicates only",
    }
}

/// How much a model is to think, as providers call it.
pub fn reasoning_effort(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None => "none",
        ReasoningEffort::Minimal => "minimal",
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
        ReasoningEffort::Xhigh => "very high",
    }
}

/// Why a session was begun, or is due.
pub fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Request => "asked for",
        Trigger::Weekly => "weekly slot",
        Trigger::Budget => "over budget",
    }
}

/// Why a session ended, to follow `since`.
pub fn end_reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Refused => "the agent did not consent",
        EndReason::BreakerCoreSize => "the breaker tripped: too few tokens were left",
        EndReason::BreakerRemoved => "the breaker tripped: too much was removed",
        EndReason::RolledBackOnRequest => "a rollback was requested",
        EndReason::Stopped => "the model stopped without completing",
        EndReason::CallsAsText => "the model wrote its calls as text",
        EndReason::NoAnswer => "the model answered nothing",
        EndReason::TurnLimit => "the limit of turns was reached",
        EndReason::TimeLimit => "the limit of time was reached",
        EndReason::TokenLimit => "the limit of tokens was reached",
        EndReason::CostLimit => "the limit of cost was reached",
        EndReason::Idle => "the agent made no call for too long",
        EndReason::LeaseExpired => "its worker died",
        EndReason::Cancelled => "it was cancelled",
        EndReason::Provider => "the model's provider failed",
    }
}

/// Why a session's model gave no usable response, to follow `since`.
pub fn failure(failure: FailureClass) -> &'static str {
    match failure {
        FailureClass::KeyRefused => "the key for its model is missing or refused",
        FailureClass::Quota => "its model's provider has no credit left, or limits the rate",
        FailureClass::Unreachable => "its model's provider cannot be reached",
        FailureClass::Timeout => "its model did not respond in time",
        FailureClass::ServerError => "its model's provider reported an error",
        FailureClass::UnreadableResponse => "its model's response could not be read",
    }
}

/// A call of a session tool, before its memories.
pub fn tool(tool: Tool) -> &'static str {
    match tool {
        Tool::Search => "search",
        Tool::Consolidate => "consolidate",
        Tool::Update => "rewrite",
        Tool::Delete => "archive",
        Tool::Protect => "protect",
        Tool::Complete => "complete",
    }
}

/// Why a session tool refused a call.
pub fn refusal(code: RefusalCode) -> &'static str {
    match code {
        RefusalCode::UnknownTool => "there is no such tool",
        RefusalCode::InvalidArgument => "an argument is not what it may be",
        RefusalCode::TooLong => "the text is too long",
        RefusalCode::NotFound => "there is no active memory of that number",
        RefusalCode::NotCore => "it is no core memory",
        RefusalCode::Constitutional => "it is constitutional, or cannot become it",
        RefusalCode::Immutable => "it has an immutable tag",
        RefusalCode::EditCap => "the session has made all its edits",
        RefusalCode::Mode => "the session's mode does not permit it",
        RefusalCode::Unsupported => "the text has what no source has",
        RefusalCode::NotShorter => "the text is not short enough",
        RefusalCode::Guard => "the loss guard lets only duplicates leave",
        RefusalCode::WithinBudget => "the budget rule does not permit it",
        RefusalCode::SummaryLimit => "all summaries together would take too much",
        RefusalCode::AgeLimit => "the age rule does not permit it",
        RefusalCode::SessionOver => "the session is over",
    }
}

/// Why the core size changed.
pub fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Saved => "saved",
        Cause::Promoted => "promoted",
        Cause::Replaced => "replaced",
        Cause::Refined => "edited in sessions",
        Cause::Deduplicated => "duplicates joined",
        Cause::TakenBack => "rolled back or undone",
        Cause::Rewound => "rewound",
        Cause::Discarded => "discarded",
        Cause::Restored => "restored",
        Cause::Shredded => "shredded",
        Cause::Other => "other",
    }
}

/// The state of an access request.
pub fn access_state(state: AccessState) -> &'static str {
    match state {
        AccessState::Asked => "waiting",
        AccessState::Granted => "granted",
        AccessState::Refused => "refused",
        AccessState::Done => "done",
        AccessState::Revoked => "revoked",
        AccessState::Expired => "over",
    }
}

/// The requested access, by its kind and, for read access, its scope.
pub fn access(kind: AccessKindName, scope: Option<AccessScopeName>) -> &'static str {
    match (kind, scope) {
        (AccessKindName::Token, _) => "one more token",
        (AccessKindName::Connection, _) => "connecting a program",
        (AccessKindName::Shred, _) => "shredding",
        (AccessKindName::Embeddings, _) => "embeddings elsewhere",
        (AccessKindName::Read, Some(AccessScopeName::Core)) => "core memories",
        (AccessKindName::Read, Some(AccessScopeName::Session)) => "one session",
        (AccessKindName::Read, Some(AccessScopeName::All) | None) => "everything",
    }
}

/// Why an access request ended.
pub fn over(over: RequestOver) -> &'static str {
    match over {
        RequestOver::Time => "its time has come",
        RequestOver::ClockWentBack => "the clock was put back",
        RequestOver::RunOut => "its time has run out",
        RequestOver::Refused => "the agent refused the same",
    }
}

/// The label of a record's fact: its name with spaces, or a clearer text for some.
pub fn fact(name: &str) -> Cow<'static, str> {
    Cow::Borrowed(match name {
        "core_tokens" => "tokens",
        "core_tokens_before" => "tokens before",
        "core_tokens_after" => "tokens after",
        "pre_session_tokens" => "tokens at the beginning",
        "post_session_tokens" => "tokens at the end",
        "started_by" => "begun by",
        "to_seq" => "to record",
        "import_seq" => "record of the import",
        "taken_back" => "records undone",
        "guard" => "loss guard",
        "limit" | "reason" | "why" => "because",
        name => return Cow::Owned(name.replace('_', " ")),
    })
}

/// The label of a code in the fact of that name; a code without a label, such as a model's name, is itself.
pub fn fact_code<'a>(name: &str, code: &'a str) -> &'a str {
    let known = match name {
        "reason" | "limit" => EndReason::from_name(code).map(end_reason),
        FAILURE => FailureClass::from_name(code).map(failure),
        "why" => RequestOver::from_name(code).map(over),
        "kind" if code == "read" => Some("reading"),
        "kind" => AccessKindName::from_name(code).map(|kind| access(kind, None)),
        "scope" => {
            AccessScopeName::from_name(code).map(|scope| access(AccessKindName::Read, Some(scope)))
        }
        _ => None,
    };
    known.unwrap_or(code)
}
