//! Names of models: `provider:name`.

use std::str::FromStr;

/// Providers that need no configuration, in the order in which messages list them.
pub const KNOWN_PROVIDERS: [&str; 7] = [
    "anthropic",
    "openai",
    "openrouter",
    "ollama",
    "vllm",
    "llamacpp",
    "builtin",
];

/// A model as configured: `provider:name`, such as `openrouter:anthropic/claude-sonnet-4.5`,
/// `ollama:qwen3:8b` or `builtin:careful`. Only the first colon splits.
///
/// The provider is 1 to 50 of `a-z`, `0-9`, `-` and `_`; the name 1 to 200 characters without white
/// space or control characters. Whether the provider exists is for [`crate::Providers`] to say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{}", self.whole)]
pub struct ModelName {
    whole: String,
    colon: usize,
}

impl ModelName {
    /// A model that is part of Memoir.
    pub(crate) fn builtin(model: &str) -> Self {
        const PROVIDER: &str = "builtin";
        Self {
            whole: format!("{PROVIDER}:{model}"),
            colon: PROVIDER.len(),
        }
    }

    /// The part before the first colon.
    pub fn provider(&self) -> &str {
        &self.whole[..self.colon]
    }

    /// The part after the first colon: the name that the provider knows.
    pub fn model(&self) -> &str {
        &self.whole[self.colon + 1..]
    }

    /// `provider:name`.
    pub fn as_str(&self) -> &str {
        &self.whole
    }
}

/// Why a text is no [`ModelName`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ModelNameError {
    #[error(
        "`{given}` names no provider; write `provider:name`, such as `openrouter:{example}`; \
         providers known without configuration: {}",
        known()
    )]
    NoProvider {
        /// The text, shortened.
        given: String,
        /// The same name in a form that would be accepted.
        example: String,
    },
    #[error(
        "`{given}` cannot name a provider: 1 to 50 of `a-z`, `0-9`, `-` and `_`; \
         providers known without configuration: {}",
        known()
    )]
    BadProvider {
        /// The part before the colon, shortened.
        given: String,
    },
    #[error("`{provider}:` names no model; write the model's name after the colon")]
    NoName { provider: String },
    #[error(
        "the model's name after `{provider}:` must be 1 to 200 characters without white space; \
         it has {characters}"
    )]
    BadName { provider: String, characters: usize },
}

/// The providers that need no configuration, for messages.
fn known() -> String {
    KNOWN_PROVIDERS
        .map(|provider| format!("`{provider}`"))
        .join(", ")
}

/// The first 60 characters, printable: what a person typed, quoted in an error.
fn shortened(text: &str) -> String {
    let printable = text.chars().filter(|character| !character.is_control());
    printable.take(60).collect()
}

pub(crate) fn is_provider_name(text: &str) -> bool {
    (1..=50).contains(&text.len())
        && text
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

impl FromStr for ModelName {
    type Err = ModelNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let Some(colon) = text.find(':') else {
            let given = shortened(text);
            let example = if given.is_empty() {
                "vendor/model"
            } else {
                &given
            }
            .to_owned();
            return Err(ModelNameError::NoProvider { given, example });
        };
        let (provider, name) = (&text[..colon], &text[colon + 1..]);
        if !is_provider_name(provider) {
            return Err(ModelNameError::BadProvider {
                given: shortened(provider),
            });
        }
        if name.is_empty() {
            return Err(ModelNameError::NoName {
                provider: provider.to_owned(),
            });
        }
        let characters = name.chars().count();
        if characters > 200 || name.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(ModelNameError::BadName {
                provider: provider.to_owned(),
                characters,
            });
        }
        Ok(Self {
            whole: text.to_owned(),
            colon,
        })
    }
}

memoir_domain::serde_as_text!(ModelName);
