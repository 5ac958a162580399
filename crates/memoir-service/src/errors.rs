//! The stable codes, each with its status, its hint, and the page about it (`docs/errors`).

use axum::http::StatusCode;

pub(crate) struct ErrorPage {
    pub(crate) code: &'static str,
    /// The status of its responses; 200 for one that is only a tool's result.
    pub(crate) status: u16,
    /// What to do about it over this interface, for the failures of the application.
    pub(crate) hint: Option<&'static str>,
    /// The page, in Markdown.
    pub(crate) text: &'static str,
}

impl ErrorPage {
    pub(crate) fn example(&self) -> Option<serde_json::Value> {
        let example = self.text.split("```json\n").nth(1)?;
        serde_json::from_str(example.split("```").next()?).ok()
    }
}

macro_rules! pages {
    (@hint) => { None };
    (@hint $hint:literal) => { Some($hint) };
    ($($status:literal $code:ident $(: $hint:literal)?)*) => {
        &[$(ErrorPage {
            code: stringify!($code),
            status: $status,
            hint: pages!(@hint $($hint)?),
            text: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/../../docs/errors/", stringify!($code), ".md"
            )),
        }),*]
    };
}

pub(crate) const PAGES: &[ErrorPage] = pages! {
    // A refusal by a session tool is a result for the model, which continues.
    200 age_limit
    200 edit_cap
    200 guard
    200 immutable
    200 mode
    200 not_shorter
    200 summary_limit
    200 unknown_tool
    200 unsupported
    200 within_budget
    400 bad_lines
    400 invalid_argument
    400 too_long
    401 second_factor_needed
    401 unauthorized
    403 consent_required: "ask the agent with `POST /v1/agents/{agent}/access-requests`"
    403 forbidden
    403 insecure_transport
    404 not_found
    405 method_not_allowed
    408 body_too_slow
    409 confirmation_required: "send the same text again within the hour to set it all the same"
    409 access_over: "ask again where it is still needed"
    409 constitutional
    409 discarded
    409 idempotency_done
    409 idempotency_in_progress
    409 in_the_way: "`{\"cascade\": true}` undoes these changes too"
    409 inactive: "an administrator puts it into service with `active: true`"
    409 last_administrator
    409 model_unavailable: "give a `model` that the installation knows, or `builtin:careful`, which needs no network"
    409 name_taken
    409 not_applicable: "rehearse again"
    409 not_archival
    409 not_core
    409 not_due
    409 not_undoable
    409 nothing_to_refine: "save core memories first"
    409 refused_before: "wait until then, or ask for less"
    409 session_open: "wait for it to end, or end it with `POST /v1/sessions/{id}/cancel`"
    409 session_over
    409 shredded
    409 token_quota: "revoke tokens that are not in use, and wait a day for those that were made since yesterday"
    409 too_many_waiting: "`POST /v1/access-requests/{id}/revoke` takes one back"
    410 erased: "`GET /v1/agents/{agent}/audit/verify` still checks its log"
    412 precondition_failed: "read it again, and send the `ETag` of that answer"
    413 body_too_large
    422 idempotency_mismatch
    429 daily_quota: "wait as long as `Retry-After` says; the operator can raise `[quotas]` in the configuration"
    429 rate_limited
    500 internal
    500 key_unavailable
    500 tampered
    503 busy: "try again"
    503 contended: "try again"
    503 key_remains: "the service destroys it as soon as it can, and tries every minute; sending this again tries immediately"
    503 not_ready
    503 outcome_unknown: "send it again with the same `Idempotency-Key`: it is done once; without a key, check first whether it is there"
    503 read_only: "make the database writable again, or promote the server that follows another one; reading goes on meanwhile"
    503 still_running
    507 disk_full: "free some space on the host; what was there before is intact"
    507 storage_quota: "the operator can raise `[quotas]` in the configuration; what was there before is intact"
};

pub(crate) fn page(code: &str) -> Option<&'static ErrorPage> {
    PAGES.iter().find(|page| page.code == code)
}

pub(crate) fn status(code: &str) -> StatusCode {
    let status = page(code).and_then(|page| StatusCode::from_u16(page.status).ok());
    // Every code has a page, which a test holds: one without would be a fault of the service's own.
    status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    use memoir_app::Quota;
    use memoir_domain::{lifecycle::NothingToRefine, tools::RefusalCode};

    use super::*;

    #[test]
    fn the_example_on_a_page_has_the_hint_that_is_sent() {
        for page in PAGES {
            let Some(example) = page.example().filter(|example| example["type"].is_string()) else {
                continue;
            };
            if let (Some(shown), Some(hint)) = (example.get("hint"), page.hint) {
                assert_eq!(shown, hint, "{}", page.code);
            }
        }
    }

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .flat_map(|path| {
                if path.is_dir() {
                    sources(&path)
                } else {
                    vec![path]
                }
            })
            .collect()
    }

    /// The string literals in a piece of source that look like codes.
    fn literals(source: &str) -> impl Iterator<Item = String> {
        let is_code = |text: &&str| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|letter| letter.is_ascii_lowercase() || letter == '_')
        };
        let quoted = source.split('"').skip(1).step_by(2);
        quoted.filter(is_code).map(str::to_owned)
    }

    /// What `fn code` of a file can give.
    fn codes_of(file: &str) -> Vec<String> {
        let source = fs::read_to_string(root().join(file)).unwrap();
        let body = source.split("pub fn code(").nth(1).unwrap();
        let body = body.split("\n    }\n").next().unwrap();
        literals(body).collect()
    }

    /// The codes of the problems that the service makes itself.
    fn own_codes() -> BTreeSet<String> {
        let mut codes = BTreeSet::new();
        for path in sources(&root().join("crates/memoir-service/src")) {
            // In a problem's own file `Self` makes them too; in this one they are no calls.
            let calls: &[&str] = match path.file_name().and_then(|name| name.to_str()) {
                Some("errors.rs") => &[],
                Some("problem.rs") => &["Problem::new(", "Self::new("],
                _ => &["Problem::new("],
            };
            let source = fs::read_to_string(&path).unwrap();
            for call in calls.iter().flat_map(|call| source.split(call).skip(1)) {
                let code = call.split(',').next().unwrap();
                codes.extend(literals(code));
            }
        }
        codes
    }

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let mut codes = own_codes();
        let found = ["rate_limited", "forbidden"].map(|code| codes.contains(code));
        assert_eq!(found, [true; 2], "{codes:?}");
        for file in [
            "crates/memoir-app/src/core/error.rs",
            "crates/memoir-domain/src/access/mod.rs",
            "crates/memoir-domain/src/change/manage.rs",
        ] {
            let found = codes_of(file);
            assert!(found.len() > 3, "{file}: {found:?}");
            codes.extend(found);
        }
        codes.insert(NothingToRefine::CODE.to_owned());
        codes.extend(Quota::ALL.map(|quota| quota.code().to_owned()));
        codes.extend(RefusalCode::ALL.map(|code| code.as_str().to_owned()));
        let pages: BTreeSet<String> = PAGES.iter().map(|page| page.code.to_owned()).collect();
        assert_eq!(codes, pages);
        let files: BTreeSet<String> = sources(&root().join("docs/errors"))
            .iter()
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(files, pages);
    }

    #[test]
    fn every_page_says_what_it_means_why_and_what_to_do_with_an_example_that_fits() {
        for page in PAGES {
            let code = page.code;
            assert!(page.text.starts_with(&format!("# `{code}`\n")), "{code}");
            for part in ["\n## Why\n", "\n## What to do\n", "\n## Example\n"] {
                assert!(page.text.contains(part), "{code}: {part:?}");
            }
            let example = page.example().expect(code);
            assert_eq!(example["code"], code);
            if page.status == 200 {
                assert_eq!(example["type"], "error");
            } else {
                assert_eq!(example["status"], page.status, "{code}");
                assert_eq!(example["type"], format!("/docs/errors/{code}"));
            }
        }
    }
}
