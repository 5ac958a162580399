//! Labels for people beside those of single names, which are with the names (`wire_names!`): of requested access, and of
//! the facts of records.

use std::borrow::Cow;

use crate::{
    access::{AccessKindName, AccessScopeName, RequestOver},
    log::audit::UNDONE,
    session::{EndReason, FAILURE, FailureClass},
};

/// The requested access, by its kind and, for read access, its scope.
pub fn access(kind: AccessKindName, scope: Option<AccessScopeName>) -> &'static str {
    match kind {
        AccessKindName::Read => scope.unwrap_or(AccessScopeName::All).label(),
        kind => kind.label(),
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
        UNDONE => "records undone",
        "guard" => "loss guard",
        "limit" | "reason" | "why" => "because",
        name => return Cow::Owned(name.replace('_', " ")),
    })
}

/// The label of a code in the fact of that name; a code without a label, such as a model's name, is itself.
pub fn fact_code<'a>(name: &str, code: &'a str) -> &'a str {
    let known = match name {
        "reason" | "limit" => EndReason::from_name(code).map(EndReason::label),
        FAILURE => FailureClass::from_name(code).map(FailureClass::label),
        "why" => RequestOver::from_name(code).map(RequestOver::label),
        "kind" => AccessKindName::from_name(code).map(AccessKindName::label),
        "scope" => AccessScopeName::from_name(code).map(AccessScopeName::label),
        _ => None,
    };
    known.unwrap_or(code)
}
