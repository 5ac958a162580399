//! Errors of a model, classified for the decision about retrying (SPEC 3.16).
//!
//! An error never holds a word of a prompt, a memory or an answer, and never a key (SPEC 5.1). Of a provider's report
//! of a failure only the status and a short machine-readable code are kept, since its message may echo the prompt. For
//! the same reason no error of the HTTP client is kept as a source.

use std::time::Duration;

use memoir_domain::session::FailureClass;

/// Why a model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The provider asks for fewer requests. Retryable.
    #[error("the provider limits the rate of requests{}", after(retry_after))]
    RateLimited {
        /// How long the provider asks to wait, at most [`ModelError::LONGEST_WAIT`]; `None`: it did not say.
        retry_after: Option<Duration>,
    },
    /// The provider cannot be reached or cannot respond now. Retryable.
    #[error("{outage}{}", after(retry_after))]
    Unavailable {
        /// What stood in the way.
        outage: Outage,
        /// As in [`ModelError::RateLimited`].
        retry_after: Option<Duration>,
    },
    /// The provider refuses the request, and would refuse it again.
    #[error("the provider refused the request with status {status}{}", coded(code))]
    Rejected {
        /// HTTP status, or the number that stood in its place in an error sent with status 200.
        status: u16,
        /// The provider's machine-readable name for the reason.
        code: Option<ErrorCode>,
        /// Its class: the key, the account's credit, or any other error.
        class: FailureClass,
        /// What a person can do about it.
        hint: Option<String>,
    },
    /// The response is not one of a model.
    #[error("the answer is not one of a model: {what}")]
    BadAnswer {
        /// The fault.
        what: String,
        /// Whether another attempt may help: an empty answer yes, a web page no.
        retryable: bool,
        /// What a person can do about it.
        hint: Option<String>,
    },
    /// The file of the built-in model cannot be used.
    #[error("{what}")]
    ModelFile {
        /// The file, and what is wrong with it.
        what: String,
    },
}

/// What writes the file of the built-in model of embeddings.
pub(crate) const INSTALL: &str = "`memoir embeddings install FILE` writes it anew";

/// Why a provider is out of reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub enum Outage {
    /// An HTTP status that says so: 408, 409, 425, 5xx, 529.
    #[display("the provider answered with status {_0}")]
    Status(u16),
    /// No connection could be made: refused, no route, unknown host, no agreement on TLS.
    #[display("the provider could not be reached")]
    Connect,
    /// No program listens on this port of this machine.
    #[display("nothing listens on port {_0} of this machine")]
    NotListening(u16),
    /// The server's certificate is not trusted. Not retryable.
    #[display("the server's certificate is not trusted")]
    Certificate,
    /// No complete answer within the request's time limit.
    #[display("the provider did not answer in time")]
    Timeout,
    /// The connection ended before the answer was complete.
    #[display("the connection ended before the answer was complete")]
    Cut,
}

/// A provider's short machine-readable name for a failure, such as `context_length_exceeded`, if it is a known one:
/// anything else that a provider sends could be the key, or words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{_0}")]
pub struct ErrorCode(&'static str);

/// The names that OpenAI, Anthropic, Google, OpenRouter, vLLM, llama.cpp and Ollama give to failures.
const KNOWN_CODES: &str = "\
    INVALID_ARGUMENT FAILED_PRECONDITION PERMISSION_DENIED NOT_FOUND RESOURCE_EXHAUSTED UNAUTHENTICATED UNAVAILABLE \
    INTERNAL DEADLINE_EXCEEDED BadRequestError InternalServerError NotFoundError access_terminated \
    account_deactivated api_error authentication_error bad_request billing_error billing_hard_limit_reached \
    billing_not_active content_filter content_policy_violation context_length_exceeded exceed_context_size_error \
    insufficient_quota internal_error internal_server_error invalid_api_key invalid_model invalid_organization \
    invalid_prompt invalid_request invalid_request_error invalid_type invalid_value missing_required_parameter \
    model_not_available model_not_found model_overloaded not_found_error not_supported_error \
    organization_restricted overloaded_error payment_required permission_denied permission_error quota_exceeded \
    refusal rate_limit_error rate_limit_exceeded request_too_large requests server_error service_unavailable \
    string_above_max_length timeout timeout_error tokens too_large unavailable_error unknown_parameter \
    unsupported_country_region_territory unsupported_model unsupported_parameter unsupported_value";

/// The names that end an answer which a filter withheld, or which the model refused to give.
pub(crate) const CONTENT_FILTER: &str = "content_filter";
pub(crate) const REFUSAL: &str = "refusal";

impl ErrorCode {
    /// `None` where `text` is no name that is known.
    pub fn new(text: &str) -> Option<Self> {
        let known = KNOWN_CODES.split(' ').find(|code| *code == text);
        // The name of the list is kept, not the one that was sent: only a word of this file is printed later.
        known.map(Self)
    }

    /// The code.
    pub fn as_str(&self) -> &'static str {
        self.0
    }
}

impl ModelError {
    /// The longest wait that a provider's Retry-After is believed for: beyond it, a session's time
    /// would be over anyway.
    pub const LONGEST_WAIT: Duration = Duration::from_secs(3600);

    /// In place of an answer that says nothing, since a filter withheld it or the model refused to give it.
    pub(crate) fn withheld(status: u16, why: &'static str) -> Self {
        Self::Rejected {
            status,
            code: Some(ErrorCode(why)),
            class: FailureClass::ServerError,
            hint: Some(
                "the model, or its provider's filter, does not answer this; try another model"
                    .to_owned(),
            ),
        }
    }

    /// Whether the provider does not accept the request's content: too much of it, for instance.
    pub fn is_about_request(&self) -> bool {
        matches!(
            self,
            Self::Rejected {
                code: Some(ErrorCode(CONTENT_FILTER | REFUSAL)),
                ..
            } | Self::Rejected {
                // Providers do not agree on the status for a request that is too large: any of the three may be meant.
                status: 400 | 413 | 422,
                // Some refuse a key, or an account without credit, with one of them too.
                class: FailureClass::ServerError,
                ..
            }
        )
    }

    /// Its class, as an ended session names it (SPEC 3.16).
    pub fn class(&self) -> FailureClass {
        match self {
            Self::RateLimited { .. } => FailureClass::Quota,
            Self::Unavailable { outage, .. } => match outage {
                Outage::Timeout | Outage::Status(408 | 504) => FailureClass::Timeout,
                Outage::Status(_) => FailureClass::ServerError,
                Outage::Connect | Outage::NotListening(_) | Outage::Certificate | Outage::Cut => {
                    FailureClass::Unreachable
                }
            },
            Self::Rejected { class, .. } => *class,
            Self::BadAnswer { .. } => FailureClass::UnreadableResponse,
            Self::ModelFile { .. } => FailureClass::Unreachable,
        }
    }

    /// Whether the same request may succeed later (SPEC 3.16).
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable {
                outage: Outage::Certificate,
                ..
            } => false,
            Self::RateLimited { .. } | Self::Unavailable { .. } => true,
            Self::Rejected { .. } | Self::ModelFile { .. } => false,
            Self::BadAnswer { retryable, .. } => *retryable,
        }
    }

    /// Whether the provider's server does not run, on this machine: nothing is gained by waiting for it, unless it had
    /// responded before.
    pub fn is_not_running(&self) -> bool {
        let Self::Unavailable { outage, .. } = self else {
            return false;
        };
        matches!(outage, Outage::NotListening(_))
    }

    /// How long the provider asks to wait before the next attempt, at most
    /// [`ModelError::LONGEST_WAIT`]. `None`: it did not say.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Unavailable { retry_after, .. } => {
                *retry_after
            }
            Self::Rejected { .. } | Self::BadAnswer { .. } | Self::ModelFile { .. } => None,
        }
    }

    /// What a person can do about it, as a sentence without a full stop. `None`: nothing but wait.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Rejected { hint, .. } | Self::BadAnswer { hint, .. } => hint.clone(),
            Self::Unavailable { outage, .. } => {
                let hint = match outage {
                    Outage::Connect => "check that the server runs, and the provider's `base_url`",
                    // The port that Ollama has by default.
                    Outage::NotListening(11_434) => {
                        "start Ollama (`ollama serve`), or correct the provider's `base_url`"
                    }
                    Outage::NotListening(_) => {
                        "start the server of the model, or correct the provider's `base_url`"
                    }
                    Outage::Certificate => {
                        "check the provider's `base_url`, the clock, and the system's certificates; a \
                         certificate of one's own is named in `SSL_CERT_FILE`"
                    }
                    Outage::Timeout => "a slow model may need a larger `request_timeout_seconds`",
                    Outage::Status(_) | Outage::Cut => return None,
                };
                Some(hint.to_owned())
            }
            Self::ModelFile { .. } => Some(INSTALL.to_owned()),
            Self::RateLimited { .. } => None,
        }
    }

    /// The error with its hint, for people.
    pub fn advised(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self}; {hint}"),
            None => self.to_string(),
        }
    }
}

fn after(retry_after: &Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("; it asks to wait {} s", wait.as_secs_f64()),
        None => String::new(),
    }
}

fn coded(code: &Option<ErrorCode>) -> String {
    match code {
        Some(code) => format!(" (`{code}`)"),
        None => String::new(),
    }
}
