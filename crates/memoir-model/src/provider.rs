//! Providers as configured: the settings of `[providers.NAME]`, and their defaults.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use serde::Deserialize;

use crate::name::is_provider_name;

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// OpenAI's chat completions, which most servers speak.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// The rule-based refiner inside Memoir; no network. No configuration can name it.
    #[serde(skip)]
    Builtin,
}

/// The field that bounds the output of a chat completion. OpenAI's newer models refuse the older
/// name; most other servers know only that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimitField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// One `[providers.NAME]` of the configuration. What is left out keeps its built-in value where `NAME` is one of
/// [`crate::KNOWN_PROVIDERS`]; `builtin` itself cannot be configured, so that it can never be given a network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderSettings {
    /// Default for a name that is not built in: `openai`.
    pub kind: Option<ProviderKind>,
    /// Where the API begins, such as `http://127.0.0.1:11434/v1`; `http` or `https`, without user,
    /// password, query or fragment. Required for a name that is not built in.
    pub base_url: Option<String>,
    /// The environment variable that holds the key, `[A-Za-z_][A-Za-z0-9_]*`, at most 100. Empty:
    /// this provider takes no key. At most one of this and `key_file`.
    pub key_env: Option<String>,
    /// A file that holds the key and nothing else.
    pub key_file: Option<PathBuf>,
    /// The context window of the provider's models in tokens, at least 1. Default: what is known of the
    /// model, if anything is.
    pub context_tokens: Option<u32>,
    /// How many sessions with its models a process runs concurrently, 1 to 10,000; default: any number.
    pub concurrency: Option<u32>,
    /// Time limit of one request, 1 to 3,600 seconds; default 120.
    pub request_timeout_seconds: Option<u32>,
    /// Sends the key over plain `http` to another host. Default: refused, since it could be read on the way.
    pub allow_insecure: bool,
    /// Default: `max_completion_tokens` for `openai`, else `max_tokens`.
    pub output_limit_field: Option<OutputLimitField>,
}

/// Where a provider's key is read, each time that a model is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
        /// `false`: without it, requests carry no key.
        required: bool,
    },
    /// A file.
    File(PathBuf),
    /// Requests carry no key.
    None,
}

/// A provider with everything decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The part of a model's name before the colon.
    pub name: String,
    /// Its wire format.
    pub kind: ProviderKind,
    /// Where its API begins; `None` for [`ProviderKind::Builtin`] only.
    pub base_url: Option<Url>,
    /// Where its key is read.
    pub key: KeySource,
    /// The context window of its models in tokens, if configured.
    pub context_tokens: Option<u32>,
    /// How many sessions with its models a process runs concurrently; `None` for any number.
    pub concurrency: Option<usize>,
    /// Time limit of one request.
    pub request_timeout: Duration,
    /// Whether the key may go over plain `http` to another host.
    pub allow_insecure: bool,
    /// The field that bounds the output of a chat completion.
    pub output_limit_field: OutputLimitField,
}

/// The fault of a `[providers.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`[providers.{provider}]`: {problem}")]
pub struct SettingsError {
    /// `NAME`, as given.
    pub provider: String,
    /// Its fault.
    pub problem: SettingsProblem,
}

/// See [`SettingsError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SettingsProblem {
    #[error("a provider's name is 1 to 50 of `a-z`, `0-9`, `-` and `_`")]
    Name,
    #[error("`base_url` is missing, and only built-in providers have a default")]
    NoBaseUrl,
    /// It is no valid URL. The text is left out, since it may hold a password.
    #[error("`base_url` is no valid URL")]
    UnreadableBaseUrl,
    #[error("`base_url` must begin with `http://` or `https://`")]
    Scheme,
    #[error("`base_url` must not hold a user or password; use `key_env` or `key_file`")]
    Credentials,
    /// It has a query or fragment, where keys are often put.
    #[error("`base_url` must not hold a query or fragment; use `key_env` or `key_file` for a key")]
    Query,
    #[error("`key_env` and `key_file` are both set; keep one")]
    TwoKeys,
    /// It is no name of an environment variable. The text is left out, since it may be a key.
    #[error(
        "`key_env` must be the name of an environment variable, not a key: letters, digits and \
         `_`, not beginning with a digit, at most {LONGEST_VARIABLE}"
    )]
    KeyEnv,
    #[error("`{field}` is {given}; it must be {range}")]
    OutOfRange {
        field: &'static str,
        given: u32,
        range: &'static str,
    },
    /// The name or the kind is that of the refiner inside Memoir.
    #[error("`builtin` is built in and cannot be configured")]
    Builtin,
}

/// The provider of the refiner inside Memoir.
const BUILTIN: &str = "builtin";
/// The slowest models on one's own machine take minutes for a long prompt; beyond an hour a session
/// is over anyway (SPEC 3.16).
const LONGEST_TIMEOUT_SECONDS: u32 = 3600;
/// More than any process drives.
const MOST_SESSIONS: u32 = 10_000;
const DEFAULT_TIMEOUT_SECONDS: u32 = 120;
/// Longer than any name in use.
const LONGEST_VARIABLE: usize = 100;

impl Provider {
    /// The built-in provider of that name, if there is one.
    pub(crate) fn known(name: &str) -> Option<Self> {
        let key = |variable: &str, required: bool| KeySource::Environment {
            variable: variable.to_owned(),
            required,
        };
        let required = |variable| key(variable, true);
        // The names that the servers themselves read their key from.
        let optional = |variable| key(variable, false);
        let (base_url, key) = match name {
            "anthropic" => ("https://api.anthropic.com", required("ANTHROPIC_API_KEY")),
            "openai" => ("https://api.openai.com/v1", required("OPENAI_API_KEY")),
            "openrouter" => (
                "https://openrouter.ai/api/v1",
                required("OPENROUTER_API_KEY"),
            ),
            // By address and not as `localhost`, which may be looked up as an address of IPv6 on which it does
            // not listen.
            "ollama" => ("http://127.0.0.1:11434/v1", KeySource::None),
            "vllm" => ("http://127.0.0.1:8000/v1", optional("VLLM_API_KEY")),
            "llamacpp" => ("http://127.0.0.1:8080/v1", optional("LLAMA_API_KEY")),
            BUILTIN => ("", KeySource::None),
            _ => return None,
        };
        let kind = match name {
            "anthropic" => ProviderKind::Anthropic,
            BUILTIN => ProviderKind::Builtin,
            _ => ProviderKind::OpenAi,
        };
        Some(Self::unset(name, kind, Url::parse(base_url).ok(), key))
    }

    /// One of which nothing else is set.
    fn unset(name: &str, kind: ProviderKind, base_url: Option<Url>, key: KeySource) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            base_url,
            key,
            context_tokens: None,
            concurrency: None,
            request_timeout: Duration::from_secs(u64::from(DEFAULT_TIMEOUT_SECONDS)),
            allow_insecure: false,
            // OpenAI's reasoning models refuse `max_tokens`, which is the only name that most other servers know.
            output_limit_field: match name {
                "openai" => OutputLimitField::MaxCompletionTokens,
                _ => OutputLimitField::MaxTokens,
            },
        }
    }

    /// The provider `name` with `settings` over the built-in ones.
    ///
    /// # Errors
    /// The first fault of the settings.
    pub fn new(name: &str, settings: &ProviderSettings) -> Result<Self, SettingsError> {
        Self::resolve(name, settings).map_err(|problem| SettingsError {
            provider: name.to_owned(),
            problem,
        })
    }

    fn resolve(name: &str, settings: &ProviderSettings) -> Result<Self, SettingsProblem> {
        if !is_provider_name(name) {
            return Err(SettingsProblem::Name);
        }
        if name == BUILTIN || settings.kind == Some(ProviderKind::Builtin) {
            return Err(SettingsProblem::Builtin);
        }
        let unknown = || Self::unset(name, ProviderKind::OpenAi, None, KeySource::None);
        let mut provider = Self::known(name).unwrap_or_else(unknown);
        provider.kind = settings.kind.unwrap_or(provider.kind);
        provider.allow_insecure = settings.allow_insecure;
        provider.output_limit_field = settings
            .output_limit_field
            .unwrap_or(provider.output_limit_field);

        let check = |field, given: Option<u32>, most: u32, range| match given {
            Some(given) if !(1..=most).contains(&given) => Err(SettingsProblem::OutOfRange {
                field,
                given,
                range,
            }),
            given => Ok(given),
        };
        let context_tokens = settings.context_tokens;
        provider.context_tokens = check("context_tokens", context_tokens, u32::MAX, "at least 1")?;
        let concurrency = settings.concurrency;
        let concurrency = check("concurrency", concurrency, MOST_SESSIONS, "1 to 10000")?;
        provider.concurrency = concurrency.and_then(|most| usize::try_from(most).ok());
        let timeout = check(
            "request_timeout_seconds",
            settings.request_timeout_seconds,
            LONGEST_TIMEOUT_SECONDS,
            "1 to 3600",
        )?;
        if let Some(seconds) = timeout {
            provider.request_timeout = Duration::from_secs(u64::from(seconds));
        }

        match (&settings.key_env, &settings.key_file) {
            (Some(_), Some(_)) => return Err(SettingsProblem::TwoKeys),
            // Empty takes the key of a built-in provider away, for a server that wants none in its place.
            (Some(variable), None) if variable.trim().is_empty() => provider.key = KeySource::None,
            (Some(variable), None) => {
                let variable = variable.trim().to_owned();
                if !is_variable_name(&variable) {
                    return Err(SettingsProblem::KeyEnv);
                }
                provider.key = KeySource::Environment {
                    variable,
                    required: true,
                };
            }
            (None, Some(path)) => provider.key = KeySource::File(path.clone()),
            (None, None) => {}
        }

        if let Some(text) = &settings.base_url {
            provider.base_url = Some(base_url(text)?);
        }
        match provider.base_url {
            Some(_) => Ok(provider),
            None => Err(SettingsProblem::NoBaseUrl),
        }
    }
}

fn base_url(text: &str) -> Result<Url, SettingsProblem> {
    let url = Url::parse(text.trim()).map_err(|_| SettingsProblem::UnreadableBaseUrl)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(SettingsProblem::Scheme);
    }
    // It would be printed with the address, and sent beside the key.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(SettingsProblem::Credentials);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(SettingsProblem::Query);
    }
    Ok(url)
}

fn is_variable_name(text: &str) -> bool {
    text.len() <= LONGEST_VARIABLE
        && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether requests to `url` stay on this machine, judged by the form of its host.
pub fn is_loopback(url: &Url) -> bool {
    // By its form: resolving the name here would not show where the later request goes.
    let host = url.host_str().unwrap_or_default();
    // An address of IPv6 has brackets in a URL.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<std::net::IpAddr>() {
        // As one of IPv6 an address of IPv4 may be written too.
        Ok(address) => address.to_canonical().is_loopback(),
        // Names that are the machine's own (RFC 6761): no server of names is to be asked for them.
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_6_3_every_known_provider_has_its_address_and_key() {
        let table: Vec<String> = crate::KNOWN_PROVIDERS
            .iter()
            .map(|name| {
                let provider = Provider::known(name).unwrap();
                let url = provider
                    .base_url
                    .map_or("-".to_owned(), |url| url.to_string());
                let key = match provider.key {
                    KeySource::Environment { variable, required } => {
                        format!("{variable}{}", if required { "" } else { "?" })
                    }
                    KeySource::File(_) | KeySource::None => "-".to_owned(),
                };
                format!("{name} {:?} {url} {key}", provider.kind)
            })
            .collect();
        assert_eq!(
            table,
            [
                "anthropic Anthropic https://api.anthropic.com/ ANTHROPIC_API_KEY",
                "openai OpenAi https://api.openai.com/v1 OPENAI_API_KEY",
                "openrouter OpenAi https://openrouter.ai/api/v1 OPENROUTER_API_KEY",
                "ollama OpenAi http://127.0.0.1:11434/v1 -",
                "vllm OpenAi http://127.0.0.1:8000/v1 VLLM_API_KEY?",
                "llamacpp OpenAi http://127.0.0.1:8080/v1 LLAMA_API_KEY?",
                "builtin Builtin - -",
            ]
        );
    }
}
