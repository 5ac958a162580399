//! The configuration file, in TOML. Every key has a default; an unknown key is an error, since it is most likely a
//! typing error that would otherwise go unnoticed.

pub(crate) mod keys;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use etcetera::BaseStrategy;
use jiff::tz::TimeZone;
use memoir_app::{
    ADDRESSES_LIMIT, ClientAddress, InstallationSettings, NAME_LIMIT, OAuthClient, Price, Quota,
    Quotas, RecallSettings, SessionLimits,
};
use memoir_domain::schedule::{DailySlot, WeeklySlot, time_of_day, weekday_and_time};
use memoir_model::{
    BUILTIN_EMBEDDINGS, ModelName, ModelNameError, ProviderSettings, builtin_embeddings,
};
use memoir_service::Programs;
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::{
    failure::Failure,
    webhooks::{self, WebhookSection},
};

/// The values of the configuration file. What it leaves out has its default in `settings`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    model: Option<ModelName>,
    lease_seconds: Option<u64>,
    context_tokens: Option<u32>,
    /// The path of the master key; `None` for the default beside the database.
    pub(crate) master_key_file: Option<PathBuf>,
    /// Whether only an agent's token shows its texts on this machine, whatever the key store says. The configuration
    /// closes an installation, and opens none (SPEC 5.5).
    #[serde(deserialize_with = "closed")]
    pub(crate) closed: bool,
    pub(crate) keys: KeysSection,
    schedule: ScheduleSection,
    limits: LimitsSection,
    pub(crate) recall: RecallSection,
    /// By their keys; 0 for no limit.
    quotas: BTreeMap<String, u64>,
    pub(crate) hooks: HooksSection,
    pub(crate) telemetry: TelemetrySection,
    oauth: OauthSection,
    prices: BTreeMap<ModelName, Price>,
    pub(crate) providers: BTreeMap<String, ProviderSettings>,
    /// The webhooks that are notified when a session ends.
    pub(crate) webhooks: Vec<WebhookSection>,
    /// What the installation runs with: the values above, over the defaults.
    #[serde(skip)]
    pub(crate) settings: InstallationSettings,
    /// The file that was read; `None` where there is none.
    #[serde(skip)]
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KeysSection {
    /// The database of PostgreSQL in which the key store is; `None` for a file beside the database.
    pub(crate) url: Option<KeysUrl>,
}

/// The URL of a key store in PostgreSQL. It may hold a password: `Debug` prints its type's name only.
#[derive(Clone, Deserialize, derive_more::Debug)]
#[debug("KeysUrl")]
pub(crate) struct KeysUrl(pub(crate) String);

impl KeysUrl {
    /// Checks that it is a URL. `origin` names where it was given; the value is not repeated.
    pub(crate) fn check(&self, origin: &str) -> Result<(), String> {
        match crate::database::postgres(Some(&self.0)) {
            Some(_) => Ok(()),
            None => Err(format!(
                "{origin} must be the URL of a database of PostgreSQL, such as `postgres://USER@HOST/DATABASE`; \
                 omit it for a key store in a file"
            )),
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ScheduleSection {
    enabled: Option<bool>,
    weekly: Option<String>,
    daily: Option<String>,
    time_zone: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RecallSection {
    index_mb: Option<u32>,
    /// What recall finds by meaning with; `None`: the built-in model, where its file is there.
    pub(crate) embeddings: Option<EmbeddingsSetting>,
    /// The file of the built-in model of embeddings; `None` for the one in the user's data directory.
    pub(crate) model_file: Option<PathBuf>,
    before_questions: Option<String>,
    before_memories: Option<String>,
    question_seconds: Option<f64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LimitsSection {
    turns: Option<u32>,
    minutes: Option<f64>,
    seconds: Option<f64>,
    tokens: Option<u64>,
    cost: Option<f64>,
    answer_tokens: Option<u32>,
    attempts: Option<u32>,
    first_wait_seconds: Option<f64>,
    longest_wait_seconds: Option<f64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HooksSection {
    /// Whether programs' hooks store their conversations for the agent to read; `None`: they do.
    pub(crate) conversations: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TelemetrySection {
    /// The collector of the traces, without the path; `None` leaves that to the environment.
    pub(crate) otlp_endpoint: Option<String>,
}

/// Programs that are connected to agents by OAuth.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OauthSection {
    enabled: Option<bool>,
    address: Option<String>,
    registration: Option<bool>,
    clients: Vec<ClientSection>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientSection {
    id: String,
    name: String,
    redirect_uris: Vec<String>,
}

impl Config {
    /// Reads the named file, or else the user's own where it exists.
    ///
    /// # Errors
    /// Names the file, and the key and the limit of an invalid value.
    pub(crate) fn read(named: Option<&Path>) -> Result<Self, Failure> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => match default_path() {
                Some(path) => path,
                None => return Ok(Self::default()),
            },
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            // Only a file that the user named must exist.
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(Failure::file("read the configuration", &path, &error)),
        };
        let mut config = Self::parse(&text).map_err(|problem| {
            Failure::new(format!("the configuration `{}`: {problem}", path.display()))
        })?;
        config.path = Some(path);
        Ok(config)
    }

    /// The file's name in messages.
    pub(crate) fn origin(&self) -> String {
        self.path.as_ref().map_or_else(
            || "the configuration".to_owned(),
            |path| format!("the configuration `{}`", path.display()),
        )
    }

    fn parse(text: &str) -> Result<Self, String> {
        // The numbers first: the parser of the types names none of their limits.
        let table: toml::Table = toml::from_str(text).map_err(|error| located(&error, text))?;
        check_numbers("", &table)?;
        let mut config: Self = toml::from_str(text).map_err(|error| located(&error, text))?;
        config.settings = config.settings()?;
        check_absolute("recall.model_file", config.recall.model_file.as_deref())?;
        check_absolute("master_key_file", config.master_key_file.as_deref())?;
        if let Some(url) = &config.keys.url {
            url.check("`keys.url`")?;
        }
        webhooks::check(&config.webhooks)?;
        config.programs()?;
        if let Some(address) = &config.telemetry.otlp_endpoint {
            check_endpoint(address)?;
        }
        Ok(config)
    }

    fn settings(&self) -> Result<InstallationSettings, String> {
        let defaults = InstallationSettings::default();
        let weekly_slot = weekly_slot(&self.schedule)?;
        Ok(InstallationSettings {
            schedule: self.schedule.enabled.unwrap_or(defaults.schedule),
            daily_slot: daily_slot(&self.schedule, &weekly_slot.time_zone)?,
            weekly_slot,
            limits: limits(&self.limits)?,
            recall: recall(&self.recall)?,
            quotas: quotas(&self.quotas)?,
            prices: self.prices.clone(),
            default_model: self.model.clone(),
            context_tokens: self.context_tokens.unwrap_or(defaults.context_tokens),
            lease: self
                .lease_seconds
                .map_or(defaults.lease, Duration::from_secs),
            ..defaults
        })
    }

    /// Which programs can be connected by OAuth; `None` where that is off.
    ///
    /// # Errors
    /// The address or a client is wrong, which reading the file reports.
    pub(crate) fn programs(&self) -> Result<Option<Programs>, String> {
        programs(self.oauth.clone())
    }
}

/// `memoir/config.toml` in the user's configuration directory; `None` where that is not known.
pub(crate) fn default_path() -> Option<PathBuf> {
    default_folder().map(|folder| folder.join("config.toml"))
}

/// `memoir` in the user's configuration directory; `None` where that is not known. It is only read, so that a home
/// that is `/` has one too: what closes the installation there is never passed over.
pub(crate) fn default_folder() -> Option<PathBuf> {
    let folders = etcetera::base_strategy::Xdg::new().ok()?;
    Some(folders.config_dir().join("memoir"))
}

/// The parser's message with the line number, and without the line's text: it may hold a key by mistake.
fn located(error: &toml::de::Error, text: &str) -> String {
    let message = without_value(error.message());
    match error.span() {
        Some(span) => {
            // The parser's places lie between characters, so the default is never used.
            let before = text.get(..span.start).unwrap_or_default();
            format!("line {}: {message}", before.matches('\n').count() + 1)
        }
        None => message,
    }
}

/// The parser's message without the wrong value that it quotes: that may be a key too.
fn without_value(message: &str) -> String {
    const QUOTING: [&str; 3] = [
        "invalid type: string \"",
        "invalid value: string \"",
        "unknown variant `",
    ];
    // The text is searched from the end, since the value itself may contain these words.
    let expected = message.rsplit_once(", expected ");
    let begins = QUOTING.iter().find(|begin| message.starts_with(**begin));
    match begins.zip(expected) {
        Some((begin, (_, expected))) => {
            format!("{}, expected {expected}", &begin[..begin.len() - 2])
        }
        None => message.to_owned(),
    }
}

/// Checks every number of a table against the bounds of its key.
fn check_numbers(section: &str, table: &toml::Table) -> Result<(), String> {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    for (name, value) in table {
        let place = match name.chars().all(is_bare) {
            true => format!("{section}{name}"),
            false => format!("{section}\"{name}\""),
        };
        match value {
            toml::Value::Table(below) => check_numbers(&format!("{place}."), below)?,
            toml::Value::Integer(number) => keys::check_bounds(&place, number)?,
            toml::Value::Float(number) => keys::check_bounds(&place, number)?,
            _ => {}
        }
    }
    Ok(())
}

fn weekly_slot(section: &ScheduleSection) -> Result<WeeklySlot, String> {
    let mut slot = WeeklySlot::default();
    if let Some(weekly) = &section.weekly {
        (slot.weekday, slot.time) = weekday_and_time(weekly).ok_or_else(|| {
            format!(
                "`schedule.weekly` is `{weekly}`; it must be a weekday and a time of day, such as `Mon 04:00`"
            )
        })?;
    }
    if let Some(name) = &section.time_zone {
        slot.time_zone = TimeZone::get(name).map_err(|_| {
            format!("`time_zone` is `{name}`; it must be a name of the IANA database, such as `Europe/Berlin`")
        })?;
    }
    Ok(slot)
}

fn daily_slot(section: &ScheduleSection, time_zone: &TimeZone) -> Result<DailySlot, String> {
    let mut slot = DailySlot {
        time_zone: time_zone.clone(),
        ..DailySlot::default()
    };
    if let Some(daily) = &section.daily {
        slot.time = time_of_day(daily).ok_or_else(|| {
            format!("`schedule.daily` is `{daily}`; it must be a time of day, such as `03:00`")
        })?;
    }
    Ok(slot)
}

/// What `[recall] embeddings` says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum EmbeddingsSetting {
    /// Recall is by words alone.
    Off,
    /// The built-in model, by the file that is installed.
    Builtin,
    /// A model of a provider.
    Model(ModelName),
}

impl TryFrom<String> for EmbeddingsSetting {
    type Error = ModelNameError;

    fn try_from(text: String) -> Result<Self, ModelNameError> {
        Ok(match text.trim() {
            "off" => Self::Off,
            BUILTIN_EMBEDDINGS => Self::Builtin,
            name => Self::Model(name.parse()?),
        })
    }
}

fn recall(section: &RecallSection) -> Result<RecallSettings, String> {
    let defaults = RecallSettings::default();
    Ok(RecallSettings {
        index_bytes: match section.index_mb {
            Some(mb) => mb as usize * 1_048_576,
            None => defaults.index_bytes,
        },
        stored_from: defaults.stored_from,
        // Where nothing is set, the built-in model is used once its file is there (`embeddings.rs`).
        embeddings: match &section.embeddings {
            None | Some(EmbeddingsSetting::Off) => None,
            Some(EmbeddingsSetting::Builtin) => Some(builtin_embeddings()),
            Some(EmbeddingsSetting::Model(name)) => Some(name.clone()),
        },
        before_questions: before("recall.before_questions", section.before_questions.clone())?,
        before_memories: before("recall.before_memories", section.before_memories.clone())?,
        question_time: seconds(section.question_seconds, defaults.question_time),
    })
}

/// The prefix that is sent to a model of embeddings before a text.
fn before(field: &str, text: Option<String>) -> Result<Option<String>, String> {
    // A prefix is a few words, such as `query: `, and is sent with every text.
    const MOST: usize = 200;
    match &text {
        Some(text) if text.chars().count() > MOST || text.contains(char::is_control) => Err(
            format!("`{field}` must be at most {MOST} characters without line breaks and the like"),
        ),
        _ => Ok(text),
    }
}

fn programs(section: OauthSection) -> Result<Option<Programs>, String> {
    if section.enabled == Some(false) {
        return Ok(None);
    }
    if let Some(address) = &section.address {
        let parsed = ClientAddress::parse(address);
        // The address must match exactly, since programs compare it with theirs character by character.
        if parsed.map_or(true, |parsed| parsed.origin() != *address) {
            return Err(
                "`oauth.address` must be that by which clients know the service, with no path and no slash at the end: `https://` and a name in lower case, or `http://` on loopback"
                    .to_owned(),
            );
        }
    }
    let mut clients: Vec<OAuthClient> = Vec::new();
    for section in section.clients {
        let client = client(section)?;
        if clients.iter().any(|known| known.id == client.id) {
            return Err(format!("`oauth.clients`: `{}` is there twice", client.id));
        }
        clients.push(client);
    }
    Ok(Some(Programs {
        address: section.address,
        clients,
        takes_registrations: section.registration.unwrap_or(true),
    }))
}

fn client(section: ClientSection) -> Result<OAuthClient, String> {
    let ClientSection {
        id,
        name,
        redirect_uris,
    } = section;
    let is_id = (1..=100).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_id {
        return Err(format!(
            "`oauth.clients`: the `id` `{id}` must be 1 to 100 characters of ASCII without blanks"
        ));
    }
    let wrong = |problem: String| format!("`oauth.clients`: `{id}`: {problem}");
    let length = name.chars().count();
    if !(1..=NAME_LIMIT).contains(&length) {
        let problem = format!("`name` has {length} characters; give 1 to {NAME_LIMIT}");
        return Err(wrong(problem));
    }
    let count = redirect_uris.len();
    if !(1..=ADDRESSES_LIMIT).contains(&count) {
        let problem = format!("`redirect_uris` are {count}; give 1 to {ADDRESSES_LIMIT}");
        return Err(wrong(problem));
    }
    let parse = |text: &String| {
        ClientAddress::parse(text).map_err(|problem| wrong(format!("`{text}` {problem}")))
    };
    let addresses: Result<Vec<_>, _> = redirect_uris.iter().map(parse).collect();
    Ok(OAuthClient {
        addresses: addresses?,
        id,
        name,
        // Only programs that registered themselves have this time.
        registered_at: None,
    })
}

fn seconds(value: Option<f64>, default: Duration) -> Duration {
    value.map_or(default, Duration::from_secs_f64)
}

fn limits(section: &LimitsSection) -> Result<SessionLimits, String> {
    let defaults = SessionLimits::default();
    let time = match (section.minutes, section.seconds) {
        (Some(_), Some(_)) => {
            return Err("`limits.minutes` and `limits.seconds` are both set; keep one".to_owned());
        }
        (Some(minutes), None) => Duration::from_secs_f64(minutes * 60.0),
        (None, given) => seconds(given, defaults.time),
    };
    Ok(SessionLimits {
        time,
        turns: section.turns.unwrap_or(defaults.turns),
        tokens: section.tokens.unwrap_or(defaults.tokens),
        cost: section.cost.or(defaults.cost),
        answer_tokens: section.answer_tokens.unwrap_or(defaults.answer_tokens),
        attempts: section.attempts.unwrap_or(defaults.attempts),
        first_wait: seconds(section.first_wait_seconds, defaults.first_wait),
        longest_wait: seconds(section.longest_wait_seconds, defaults.longest_wait),
    })
}

fn quotas(section: &BTreeMap<String, u64>) -> Result<Quotas, String> {
    let mut quotas = Quotas::default();
    for (key, limit) in section {
        let quota = Quota::ALL.into_iter().find(|quota| quota.key() == key);
        let quota = quota.ok_or_else(|| {
            let known = Quota::ALL.map(|quota| format!("`{}`", quota.key()));
            format!("`quotas.{key}` is no quota; there are {}", known.join(", "))
        })?;
        // A quota of 0 would otherwise allow nothing.
        quotas.set(quota, (*limit > 0).then_some(*limit));
    }
    Ok(quotas)
}

/// `false` is refused: any user of the command line can write the configuration.
fn closed<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    match bool::deserialize(value)? {
        true => Ok(true),
        false => Err(D::Error::custom(
            "`closed` can only be true: a configuration closes an installation and opens none; omit it",
        )),
    }
}

/// The value is not repeated: an address may hold a password.
fn check_endpoint(address: &str) -> Result<(), String> {
    let is_address = ["http://", "https://"]
        .iter()
        .any(|scheme| address.len() > scheme.len() && address.starts_with(scheme));
    if is_address && !address.contains(char::is_whitespace) {
        return Ok(());
    }
    Err("`telemetry.otlp_endpoint` must be an address such as `http://localhost:4318`".to_owned())
}

/// A relative path would mean another file in each folder that a command is started from.
fn check_absolute(key: &str, path: Option<&Path>) -> Result<(), String> {
    match path {
        Some(path) if !path.is_absolute() => {
            let path = path.display();
            Err(format!("`{key}` is `{path}`; give an absolute path"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use memoir_testkit::{Corpus, TestedText, rows};
    use proptest::prelude::*;

    use super::*;

    /// Parts of the messages that repeat a name or a value.
    const REPEATED: [&str; 11] = [
        "unknown field `",
        "duplicate key",
        "is no quota",
        "schedule.",
        "time_zone",
        "oauth.clients",
        "give an absolute path",
        "names no provider",
        "cannot name a provider",
        "`prices.",
        "`providers.",
    ];

    static CORPUS: LazyLock<Corpus> =
        LazyLock::new(|| Corpus::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/config")));

    #[test]
    fn a_full_configuration_is_read() {
        let config = Config::parse(
            r#"
            model = "lab:small"
            lease_seconds = 60
            context_tokens = 64000

            [schedule]
            enabled = false
            weekly = "sunday 23:30"
            daily = "5:15"
            time_zone = "Europe/Berlin"

            [recall]
            index_mb = 8
            embeddings = "ollama:nomic-embed-text"
            before_questions = "ask: "
            before_memories = ""
            question_seconds = 0.5

            [limits]
            turns = 12
            minutes = 2.5
            tokens = 1000
            cost = 0.25
            first_wait_seconds = 0.01

            [telemetry]
            otlp_endpoint = "http://localhost:4318"

            [oauth]
            address = "https://memory.example.org:8443"
            registration = false
            clients = [{ id = "a", name = "A", redirect_uris = ["https://a.example/callback"] }]

            [prices."lab:small"]
            input_per_million = 3
            output_per_million = 15.0

            [providers.lab]
            base_url = "http://127.0.0.1:9/v1"
            concurrency = 2
            "#,
        )
        .unwrap();
        let settings = &config.settings;
        assert_eq!(settings.weekly_slot.weekday, jiff::civil::Weekday::Sunday);
        let weekly_zone = settings.weekly_slot.time_zone.iana_name();
        assert_eq!(weekly_zone, Some("Europe/Berlin"));
        let daily = &settings.daily_slot;
        assert_eq!((daily.time.hour(), daily.time.minute()), (5, 15));
        assert_eq!(daily.time_zone.iana_name(), Some("Europe/Berlin"));
        let recall = &settings.recall;
        assert_eq!(recall.index_bytes, 8 << 20);
        let model = recall.embeddings.as_ref().map(ModelName::as_str);
        assert_eq!(model, Some("ollama:nomic-embed-text"));
        let before = [&recall.before_questions, &recall.before_memories];
        assert_eq!(before.map(Option::as_deref), [Some("ask: "), Some("")]);
        assert_eq!(recall.question_time, Duration::from_millis(500));
        assert_eq!(settings.limits.time, Duration::from_secs(150));
        assert_eq!(settings.limits.first_wait, Duration::from_millis(10));
        assert_eq!(settings.lease, Duration::from_secs(60));
        assert_eq!(settings.prices.len(), 1);
        assert!(!settings.schedule);
        assert_eq!(config.providers["lab"].concurrency, Some(2));
        let endpoint = config.telemetry.otlp_endpoint.as_deref();
        assert_eq!(endpoint, Some("http://localhost:4318"));
        let programs = config.programs().unwrap().unwrap();
        let address = programs.address.as_deref();
        assert_eq!(address, Some("https://memory.example.org:8443"));
        assert_eq!(programs.clients.len(), 1);
        assert!(!programs.takes_registrations);
        let none = Config::parse("[oauth]\nenabled = false").unwrap();
        assert!(none.programs().unwrap().is_none());
        let programs = Config::default().programs().unwrap().unwrap();
        assert!(programs.takes_registrations);
        let defaults = InstallationSettings::default();
        assert_eq!(Config::parse("").unwrap().settings, defaults);
    }

    #[test]
    fn spec_6_5_embeddings_are_off_built_in_or_of_a_provider() {
        let read = |value: &str| {
            let config = Config::parse(&format!("[recall]\nembeddings = '{value}'")).unwrap();
            let model = config.settings.recall.embeddings;
            let model = model.map(|name| name.to_string());
            (config.recall.embeddings.unwrap(), model)
        };
        let lab: ModelName = "lab:small".parse().unwrap();
        let built_in = builtin_embeddings().as_str().to_owned();
        assert_eq!(read("off"), (EmbeddingsSetting::Off, None));
        let own = (EmbeddingsSetting::Builtin, Some(built_in));
        assert_eq!(read("builtin:e5-small"), own);
        let other = (EmbeddingsSetting::Model(lab), Some("lab:small".to_owned()));
        assert_eq!(read("lab:small"), other);
        let unset = Config::parse("").unwrap();
        let embeddings = (unset.recall.embeddings, unset.settings.recall.embeddings);
        assert_eq!(embeddings, (None, None));
    }

    #[test]
    fn a_key_in_a_wrong_place_is_not_echoed() {
        let cases = rows(
            "[providers]; openai = 'sk-canary' | line 2: invalid type: string, expected
            providers = 'sk-canary' | line 1: invalid type: string, expected
            [providers.lab]; key_env = ['sk-canary'] | line 2: invalid type: sequence, expected a string
            [providers.lab]; context_tokens = 'sk-canary, expected `' | line 2: invalid type: string, expected u32
            [providers.lab]; kind = 'sk-canary' | line 2: unknown variant, expected `openai` or `anthropic`
            [limits]; turns = 'sk-canary' | line 2: invalid type: string, expected u32
            [providers.lab]; key_env = sk-canary | line 2:
            [providers.lab]; key_env = 'sk-canary | line 2:",
        );
        for [text, expected] in cases {
            let problem = Config::parse(&text.replace("; ", "\n")).unwrap_err();
            assert!(
                problem.starts_with(expected) && !problem.contains("canary"),
                "{text}: {problem}"
            );
        }
    }

    #[test]
    fn the_corpus_has_what_is_read_and_what_is_refused() {
        let read = |input: &Vec<u8>| Config::parse(str::from_utf8(input).unwrap());
        let read: Vec<_> = CORPUS.inputs().iter().map(read).collect();
        let refused: Vec<_> = read.iter().filter_map(|read| read.as_ref().err()).collect();
        assert!(read.len() > 2 && refused.len() == 1, "{refused:?}");
    }

    proptest! {
        /// No value is repeated but those of keys that hold no secret.
        #[test]
        fn any_configuration_is_read_or_refused_without_its_values(seed: u64) {
            let text = CORPUS.changed(seed);
            let text = String::from_utf8_lossy(&text);
            if let Err(problem) = Config::parse(&text) {
                let is_named = REPEATED.iter().any(|part| problem.contains(part));
                prop_assert!(is_named || !problem.contains("sk-canary"), "{}\n{}", problem, text);
            }
        }
    }

    #[test]
    fn webhooks_are_read_and_a_wrong_one_is_reported_without_its_address() {
        let hook = |more: &str| format!("[[webhooks]]\nsecret_env = 'HOOK'\n{more}\n");
        let two = [
            hook("url = 'https://example.com/one'"),
            hook("url = 'http://127.0.0.1:8080/'\nallow_private = true\naccounts = ['default']"),
        ];
        assert_eq!(Config::parse(&two.concat()).unwrap().webhooks.len(), 2);
        let cases = rows(
            "url = 'http://canary.example.com/' | number 1: `url` must begin with `https://`
            url = 'https://10.0.0.1/canary' | number 1: `url` names an address that is not
            url = 'canary' | number 1: `url` must be an address
            # none | missing field `url`
            url = 'https://a.b/'; secret = 'canary' | unknown field `secret`",
        );
        let cases = cases.map(|[more, expected]| (hook(&more.replace("; ", "\n")), expected));
        let one = hook("url = 'https://example.com/canary'");
        // One receiver, of whose notices each would drop those of the other's accounts (SPEC 6.2).
        let alike = one.clone() + &hook("url = 'HTTPS://Example.com:443/canary'");
        let twice = one.repeat(2);
        let secret = "[[webhooks]]\nurl = 'https://a.b/'\nsecret_env = 'whsec_canary'".to_owned();
        for (text, expected) in cases.chain([
            (twice, "number 2: `url` is that of another"),
            (alike, "number 2: `url` is that of another"),
            (secret, "number 1: `secret_env` must be the name"),
        ]) {
            let problem = Config::parse(&text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
            assert!(!problem.contains("canary"), "{text}: {problem}");
        }
    }

    #[test]
    fn a_wrong_value_is_reported_with_its_key_and_limit() {
        let cases = rows(
            r#"modle = 'a:b' | line 1: unknown field `modle`
            ; [loss]; session_percent = 6 | line 2: unknown field `loss`
            lease_seconds = 1 | `lease_seconds` is 1; it must be 5 to 3600
            context_tokens = 10 | `context_tokens` is 10; it must be 1000
            [limits]; turns = 0 | `limits.turns` is 0; it must be 1
            [limits]; turns = -1 | `limits.turns` is -1; it must be 1 to 10000
            context_tokens = 5000000000 | `context_tokens` is 5000000000; it must be 1000 to 100000000
            [providers.lab]; concurrency = -2 | `providers.lab.concurrency` is -2; it must be 1 to 10000
            [providers.lab]; request_timeout_seconds = 3601 | is 3601; it must be 1 to 3600
            [recall]; question_seconds = 0 | `recall.question_seconds` is 0; it must be 0.01
            [recall]; before_memories = "a\nb" | `recall.before_memories` must be at most 200 characters without line breaks
            [recall]; model_file = 'models/e5.bin' | `recall.model_file` is `models/e5.bin`; give an absolute path
            [recall]; embeddings = 'on' | line 2
            [recall]; index_mb = 0 | `recall.index_mb` is 0; it must be 1
            [limits]; minutes = 1; seconds = 1 | both set
            [limits]; seconds = -1 | `limits.seconds` is -1; it must be 1
            [schedule]; weekly = 'Mon 25:00' | `schedule.weekly` is `Mon 25:00`
            [schedule]; weekly = 'Yesterday' | such as `Mon 04:00`
            [schedule]; daily = 'Mon 03:00' | `schedule.daily` is `Mon 03:00`; it must be a time of day
            [schedule]; daily = '24:00' | such as `03:00`
            [schedule]; time_zone = 'Mars/Base' | `time_zone` is `Mars/Base`
            model = 'no-colon' | line 1
            [telemetry]; otlp_endpoint = 'localhost:4318' | `telemetry.otlp_endpoint` must be an address such as `http://localhost:4318`
            [oauth]; address = 'http://memory.example.org' | `oauth.address` must be
            [oauth]; address = 'https://memory.example.org/' | `oauth.address` must be
            [oauth]; clients = [{ id = 'a b', name = 'A', redirect_uris = [] }] | the `id` `a b` must be 1 to 100
            [oauth]; clients = [{ id = 'a', name = 'A', redirect_uris = [] }] | `a`: `redirect_uris` are 0; give 1 to 5
            [oauth]; clients = [{ id = 'a', name = 'A', redirect_uris = ['http://a.example/'] }] | `http://a.example/` must be of `https`
            [prices.'a:b']; input_per_million = 1 | output_per_million
            [prices.'a:b']; input_per_million = -1; output_per_million = 1 | prices."a:b".input_per_million"#,
        );
        for [text, expected] in cases {
            let problem = Config::parse(&text.replace("; ", "\n")).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    #[test]
    fn quotas_are_read_by_their_keys_and_0_is_no_limit() {
        let config = Config::parse("[quotas]\nagent_memories = 10\nagent_streams = 0").unwrap();
        let quotas = config.settings.quotas;
        assert_eq!(quotas.limit(Quota::AgentMemories), Some(10));
        assert_eq!(quotas.limit(Quota::AgentStreams), None);
        let unset = quotas.limit(Quota::AgentTokens);
        assert_eq!(unset, Quota::AgentTokens.default());
        let problem = Config::parse("[quotas]\nagent_memory = 10").unwrap_err();
        problem.begins("`quotas.agent_memory` is no quota");
    }

    #[test]
    fn spec_6_7_every_key_is_in_the_table_with_its_default() {
        // Every default, written out, changes nothing.
        let mut text = String::new();
        for key in keys::KEYS.iter().filter(|key| !key.is_repeated()) {
            if let Some(value) = key.default {
                text += &format!("{} = {value}\n", key.name);
            }
        }
        let settings = Config::parse(&text).unwrap().settings;
        assert_eq!(settings, InstallationSettings::default());
        // What the parser names as known is in the table, and all of the table is known to it.
        let mut known: Vec<String> = Vec::new();
        for (section, text) in [
            ("", "x = 1"),
            ("keys.", "[keys]\nx = 1"),
            ("schedule.", "[schedule]\nx = 1"),
            ("recall.", "[recall]\nx = 1"),
            ("limits.", "[limits]\nx = 1"),
            ("hooks.", "[hooks]\nx = 1"),
            ("telemetry.", "[telemetry]\nx = 1"),
            ("oauth.", "[oauth]\nx = 1"),
            ("oauth.clients[].", "[[oauth.clients]]\nx = 1"),
            ("providers.NAME.", "[providers.mine]\nx = 1"),
            ("prices.MODEL.", "[prices.'a:b']\nx = 1"),
            ("webhooks[].", "[[webhooks]]\nx = 1"),
        ] {
            let problem = Config::parse(text).unwrap_err();
            let names = problem.split('`').skip(3).step_by(2);
            known.extend(names.map(|name| format!("{section}{name}")));
        }
        known.extend(Quota::ALL.map(|quota| format!("quotas.{}", quota.key())));
        // The sections themselves have no value.
        let is_section = |name: &String| {
            let below = |key: &keys::ConfigKey| {
                let rest = key.name.strip_prefix(name.as_str());
                rest.is_some_and(|rest| rest.starts_with(['.', '[']))
            };
            keys::KEYS.iter().any(below)
        };
        known.retain(|name| !is_section(name));
        known.sort();
        let mut table: Vec<&str> = keys::KEYS.iter().map(|key| key.name.as_str()).collect();
        table.sort_unstable();
        assert_eq!(table, known);
    }

    #[test]
    fn spec_6_7_the_example_is_the_reference_and_is_read_with_every_key() {
        let page = include_str!("../../../docs/configuration.md");
        assert!(page.contains(&format!("```toml\n{}```\n", keys::REFERENCE)));
        let set = keys::REFERENCE
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if !rest.starts_with(' ') => rest,
                _ => line,
            });
        // Of two keys that exclude each other one stays out.
        let set = set.filter(|line| !line.starts_with("key_file") && !line.starts_with("seconds"));
        Config::parse(&set.collect::<Vec<_>>().join("\n")).unwrap();
    }
}
