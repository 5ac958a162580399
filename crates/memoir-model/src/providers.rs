//! From a model's name to the model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use memoir_domain::session::FailureClass;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, NoProxy, Proxy, Url};

use crate::anthropic::{self, Anthropic};
use crate::builtin_embedder::{BuiltinEmbedder, ModelFile};
use crate::careful::Careful;
use crate::context_sizes;
use crate::embeddings::OpenAiEmbedder;
use crate::http::Endpoint;
use crate::key::{ApiKey, BadKey};
use crate::openai::{OpenAi, takes_cache_marks};
use crate::provider::{
    KeySource, Provider, ProviderKind, ProviderSettings, SettingsError, is_loopback,
};
use crate::{Embedder, EmbedderPlace, KNOWN_PROVIDERS, Model, ModelName};

/// Reads an environment variable; `None` when it is unset or no Unicode.
type Environment = dyn Fn(&str) -> Option<String> + Send + Sync;

/// All providers of an installation, and the HTTP clients that their models share.
///
/// Requests to `https` servers go through the proxy named by `HTTPS_PROXY` (or `ALL_PROXY`, each also in lower case),
/// unless `NO_PROXY` lists the host; such a proxy learns the host's name only. Requests over plain `http` never go
/// through a proxy, which could read them.
#[derive(derive_more::Debug)]
#[debug("Providers {{ providers: {providers:?}, .. }}")]
pub struct Providers {
    providers: BTreeMap<String, Provider>,
    environment: Box<Environment>,
    /// Made when first needed: reading the system's certificates is slow, and a machine with `builtin:careful` or a
    /// local server only may have none.
    encrypted: OnceLock<Result<Client, String>>,
    plain: OnceLock<Result<Client, String>>,
    /// Of the built-in model of embeddings; `None`: there is no such model.
    model_file: Option<Arc<ModelFile>>,
}

/// Why no model could be made of a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ConnectError {
    #[error("`{model}`: there is no provider `{}`; known are {known}; the provider comes first, as in `ollama:qwen3:8b`", model.provider())]
    UnknownProvider { model: ModelName, known: String },
    #[error("`{model}`: there is no such built-in model; there is only `{}:careful`", model.provider())]
    UnknownBuiltin { model: ModelName },
    #[error(
        "`{model}`: the provider `{}` makes no embeddings; name a server that speaks OpenAI's, as in \
         `ollama:nomic-embed-text`", model.provider()
    )]
    NoEmbeddings { model: ModelName },
    #[error("there is no model file `{}`; `memoir embeddings install FILE` writes one", path.display())]
    NoModelFile { path: PathBuf },
    /// The environment variable with the key, one that is built in, is unset or empty.
    #[error(
        "the provider `{provider}` needs a key: set the environment variable `{variable}`, or \
         `key_file` in `[providers.{provider}]`"
    )]
    MissingKey { provider: String, variable: String },
    /// The environment variable that the configuration names is unset or empty. Its name is left out,
    /// since many a key could be one.
    #[error(
        "the provider `{provider}` needs a key: the environment variable named by `key_env` in \
         `[providers.{provider}]` is unset or empty"
    )]
    UnsetKeyEnv { provider: String },
    /// The file with the key cannot be read. Its path is left out, since it may be the key itself.
    #[error("`key_file` of the provider `{provider}` names a file that cannot be read: {reason}")]
    KeyFile {
        provider: String,
        reason: std::io::ErrorKind,
    },
    #[error("the key of the provider `{provider}`, read from {place}, is not usable: {problem}")]
    BadKey {
        provider: String,
        place: String,
        problem: BadKey,
    },
    #[error(
        "the provider `{provider}` would send its key unencrypted to `{host}`; use `https`, or set \
         `allow_insecure = true` in `[providers.{provider}]`"
    )]
    Insecure { provider: String, host: String },
    /// The HTTP client cannot be set up, for instance without any certificate on the system.
    #[error("no client for the provider `{provider}`: {reason}")]
    Client { provider: String, reason: String },
}

impl ConnectError {
    /// Its class, as an ended session names it.
    pub fn class(&self) -> FailureClass {
        match self {
            Self::MissingKey { .. }
            | Self::UnsetKeyEnv { .. }
            | Self::KeyFile { .. }
            | Self::BadKey { .. }
            | Self::Insecure { .. } => FailureClass::KeyRefused,
            Self::UnknownProvider { .. }
            | Self::UnknownBuiltin { .. }
            | Self::NoEmbeddings { .. }
            | Self::NoModelFile { .. }
            | Self::Client { .. } => FailureClass::Unreachable,
        }
    }
}

impl Providers {
    /// The built-in providers, changed and extended by the configuration's `[providers.NAME]`.
    /// Keys and proxies are read from the process's environment.
    ///
    /// # Errors
    /// The first [`SettingsError`], in the order of the names.
    pub fn new(settings: BTreeMap<String, ProviderSettings>) -> Result<Self, SettingsError> {
        Self::with_environment(settings, |variable| std::env::var(variable).ok())
    }

    /// As [`Providers::new`], with another environment: a test's.
    ///
    /// # Errors
    /// As [`Providers::new`].
    pub fn with_environment(
        settings: BTreeMap<String, ProviderSettings>,
        environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Self, SettingsError> {
        let mut providers: BTreeMap<String, Provider> = KNOWN_PROVIDERS
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), Provider::known(name)?)))
            .collect();
        for (name, settings) in settings {
            let provider = Provider::new(&name, &settings)?;
            providers.insert(name, provider);
        }
        Ok(Self {
            providers,
            environment: Box::new(environment),
            encrypted: OnceLock::new(),
            plain: OnceLock::new(),
            model_file: None,
        })
    }

    /// With the file of the built-in model of embeddings, which need not be there. It is opened at the first text.
    #[must_use]
    pub fn with_model_file(mut self, path: PathBuf) -> Self {
        self.model_file = Some(Arc::new(ModelFile::new(path)));
        self
    }

    /// Begins to open that file beside the caller, for a process whose first question comes soon.
    pub fn begin_opening_model_file(&self) {
        if let Some(file) = &self.model_file {
            file.clone().begin_opening();
        }
    }

    /// The provider of that name.
    pub fn get(&self, name: &str) -> Option<&Provider> {
        self.providers.get(name)
    }

    /// All providers, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Provider> {
        self.providers.values()
    }

    /// The model of that name. Nothing is sent; the key is read anew, so that a changed one counts.
    ///
    /// # Errors
    /// A [`ConnectError`] that names the setting or variable to change.
    pub fn connect(&self, model: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        let provider = self.of_model(model)?;
        let context_tokens = provider.context_tokens.or_else(|| context_sizes::of(model));
        let name = model.clone();
        let base_url = match (&provider.base_url, model.model()) {
            (Some(base_url), _) => base_url,
            // Only the built-in kind has none, and no configuration can give it one.
            (None, "careful") => return Ok(Arc::new(Careful { name })),
            (None, _) => return Err(ConnectError::UnknownBuiltin { model: name }),
        };
        match provider.kind {
            ProviderKind::Anthropic => {
                // Many servers that imitate this API, and the API itself, are named with `/v1`.
                let versioned = base_url.path().trim_end_matches('/').ends_with("/v1");
                let path = if versioned { "messages" } else { "v1/messages" };
                let endpoint = self.endpoint(provider, base_url, model, path)?;
                Ok(Arc::new(Anthropic {
                    name,
                    endpoint,
                    context_tokens,
                }))
            }
            // The one that is built in has no address, and came back above.
            ProviderKind::OpenAi | ProviderKind::Builtin => {
                let endpoint = self.endpoint(provider, base_url, model, "chat/completions")?;
                let output_limit_field = provider.output_limit_field;
                let takes_cache_marks = takes_cache_marks(provider, model.model());
                Ok(Arc::new(OpenAi {
                    name,
                    endpoint,
                    context_tokens,
                    output_limit_field,
                    takes_cache_marks,
                }))
            }
        }
    }

    /// The model of embeddings of that name. As [`Providers::connect`], nothing is sent.
    ///
    /// # Errors
    /// A [`ConnectError`] that names the setting or variable to change.
    pub fn connect_embedder(&self, model: &ModelName) -> Result<Arc<dyn Embedder>, ConnectError> {
        let provider = self.of_model(model)?;
        if provider.kind == ProviderKind::Builtin
            && let Some(file) = self.model_file.as_ref().filter(|file| file.is_named(model))
        {
            let (name, file) = (model.clone(), file.clone());
            return match file.path().is_file() {
                true => Ok(Arc::new(BuiltinEmbedder { name, file })),
                false => Err(ConnectError::NoModelFile {
                    path: file.path().to_owned(),
                }),
            };
        }
        let (ProviderKind::OpenAi, Some(base_url)) = (provider.kind, &provider.base_url) else {
            let model = model.clone();
            return Err(ConnectError::NoEmbeddings { model });
        };
        let place = match is_loopback(base_url) {
            true => EmbedderPlace::ThisMachine(base_url.to_string()),
            false => EmbedderPlace::Elsewhere(base_url.to_string()),
        };
        Ok(Arc::new(OpenAiEmbedder {
            name: model.clone(),
            place,
            endpoint: self.endpoint(provider, base_url, model, "embeddings")?,
        }))
    }

    fn of_model(&self, model: &ModelName) -> Result<&Provider, ConnectError> {
        self.get(model.provider()).ok_or_else(|| {
            let known = self.providers.keys().map(|name| format!("`{name}`"));
            ConnectError::UnknownProvider {
                model: model.clone(),
                known: known.collect::<Vec<_>>().join(", "),
            }
        })
    }

    fn endpoint(
        &self,
        provider: &Provider,
        base_url: &Url,
        model: &ModelName,
        path: &str,
    ) -> Result<Endpoint, ConnectError> {
        let mut headers = HeaderMap::new();
        let (name, prefix) = match provider.kind {
            ProviderKind::Anthropic => {
                let version = HeaderValue::from_static(anthropic::VERSION);
                headers.insert("anthropic-version", version);
                (HeaderName::from_static("x-api-key"), "")
            }
            ProviderKind::OpenAi | ProviderKind::Builtin => (AUTHORIZATION, "Bearer "),
        };
        let key = self.key(provider)?;
        // The key goes over no line that others can read, unless the settings say so.
        let is_private = base_url.scheme() == "https" || is_loopback(base_url);
        // Only with a key: that an address without encryption is named at all is the owner's word for the prompts.
        if key.is_some() && !is_private && !provider.allow_insecure {
            return Err(ConnectError::Insecure {
                provider: provider.name.clone(),
                host: base_url.host_str().unwrap_or_default().to_owned(),
            });
        }
        if let Some(value) = key.and_then(|key| key.header(prefix)) {
            headers.insert(name, value);
        }
        Ok(Endpoint {
            client: self.client(provider, base_url)?,
            url: joined(base_url, path),
            headers,
            timeout: provider.request_timeout,
            model: model.model().to_owned(),
            key_place: place(provider),
        })
    }

    /// The key, where one is required or found.
    fn key(&self, provider: &Provider) -> Result<Option<ApiKey>, ConnectError> {
        let named = || provider.name.clone();
        let text = match &provider.key {
            KeySource::None => return Ok(None),
            KeySource::Environment { variable, required } => {
                // Shells and units leave a missing variable set and empty.
                let found = (self.environment)(variable).filter(|text| !text.trim().is_empty());
                match (found, required) {
                    (Some(text), _) => text,
                    (None, false) => return Ok(None),
                    (None, true) => {
                        let built_in = Provider::known(&provider.name)
                            .is_some_and(|known| known.key == provider.key);
                        let (provider, variable) = (named(), variable.clone());
                        return Err(if built_in {
                            ConnectError::MissingKey { provider, variable }
                        } else {
                            ConnectError::UnsetKeyEnv { provider }
                        });
                    }
                }
            }
            KeySource::File(path) => {
                read_key_file(path).map_err(|reason| ConnectError::KeyFile {
                    provider: named(),
                    reason,
                })?
            }
        };
        match ApiKey::new(&text) {
            Ok(key) => Ok(Some(key)),
            Err(problem) => Err(ConnectError::BadKey {
                provider: named(),
                place: place(provider),
                problem,
            }),
        }
    }

    fn client(&self, provider: &Provider, url: &Url) -> Result<Client, ConnectError> {
        let client = if url.scheme() == "https" {
            // A failure is kept too: after certificates are installed, the process is restarted.
            self.encrypted.get_or_init(|| self.encrypted_client())
        } else {
            self.plain.get_or_init(plain_client)
        };
        client.clone().map_err(|reason| ConnectError::Client {
            provider: provider.name.clone(),
            reason,
        })
    }

    fn encrypted_client(&self) -> Result<Client, String> {
        let variable = |names: [&str; 2]| {
            let value = names.iter().find_map(|name| (self.environment)(name));
            value.filter(|value| !value.is_empty())
        };
        // So that not even a wrong use of this client sends anything in the open.
        let mut builder = builder().https_only(true);
        let proxy = variable(["HTTPS_PROXY", "https_proxy"])
            .or_else(|| variable(["ALL_PROXY", "all_proxy"]));
        if let Some(address) = proxy {
            let proxy = https_proxy(&address).ok_or_else(|| {
                "`HTTPS_PROXY` or `ALL_PROXY` is no address of an HTTP proxy".to_owned()
            })?;
            let except = variable(["NO_PROXY", "no_proxy"]);
            builder =
                builder.proxy(proxy.no_proxy(except.and_then(|list| NoProxy::from_string(&list))));
        }
        builder.build().map_err(|error| {
            format!(
                "{}; are the system's certificates installed?",
                chain(&error)
            )
        })
    }
}

/// For plain `http` only: trusts no certificate, so it works where there are none.
fn plain_client() -> Result<Client, String> {
    builder()
        .tls_certs_only([])
        .build()
        .map_err(|error| chain(&error))
}

/// The clients' common settings. Redirects are not followed: they would carry the prompt, and on the same host the key,
/// to an address that is not configured.
fn builder() -> reqwest::ClientBuilder {
    // An error means that a provider of cryptography is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("memoir/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        // The client would read proxies from the environment by itself, for plain `http` too.
        .no_proxy()
        // A host that is off is reported after this, and not only after the time that an answer may take.
        .connect_timeout(Duration::from_secs(20))
}

/// The proxy of that address, if requests can go through it. The client itself would ignore an unusable one, and go to
/// the server directly. The address may hold a password, so that an error that quotes it must not be kept.
fn https_proxy(address: &str) -> Option<Proxy> {
    let address = if address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    };
    let url = Url::parse(&address)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Proxy::https(url).ok()
}

/// Set-up errors of the client, which hold neither key nor prompt.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// `path` under `base_url`, whether or not that ends with a slash.
fn joined(base_url: &Url, path: &str) -> Url {
    let mut url = base_url.clone();
    // Not `join`, which would take the last part of the path away where no slash ends it.
    url.set_path(&format!("{}/{path}", base_url.path().trim_end_matches('/')));
    url
}

/// Where the key is read, for messages.
fn place(provider: &Provider) -> String {
    match &provider.key {
        KeySource::Environment { variable, .. } => format!("the environment variable `{variable}`"),
        KeySource::File(path) => format!("the file `{}`", path.display()),
        KeySource::None => {
            format!(
                "nowhere: set `key_env` or `key_file` in `[providers.{}]`",
                provider.name
            )
        }
    }
}

/// A larger file is no key, and [`ApiKey::new`] says so for what is read of it.
const LARGEST_KEY_FILE_BYTES: u64 = 64 * 1024;

fn read_key_file(path: &Path) -> Result<String, std::io::ErrorKind> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(path)
        // A path to a device must not fill the memory.
        .and_then(|file| file.take(LARGEST_KEY_FILE_BYTES).read_to_string(&mut text))
        .map_err(|error| error.kind())?;
    Ok(text)
}
