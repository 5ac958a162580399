//! OpenAI's embeddings, as spoken by OpenAI, Ollama, vLLM, llama.cpp and most others: texts in, a vector for each.

use std::{fmt, str::FromStr};

use async_trait::async_trait;
use memoir_domain::{PrivateText, recall::Vector};
use serde_json::{Value, json};

use crate::http::{Endpoint, retryable};
use crate::message::TokenUsage;
use crate::{ModelError, ModelName, ModelNameError};

/// A model that makes a vector of a text.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// `provider:name`, as configured.
    fn name(&self) -> &ModelName;

    /// Where texts go.
    fn place(&self) -> &EmbedderPlace;

    /// A vector of each text, in their order, all of the same length, each with the prefix of the purpose before it. Makes
    /// one attempt: retrying is the caller's.
    ///
    /// # Errors
    /// As [`crate::Model::complete`].
    async fn embed(
        &self,
        purpose: Purpose<'_>,
        texts: &[PrivateText],
    ) -> Result<Embeddings, ModelError>;
}

/// Where texts go for their vectors. An address is as configured; it holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbedderPlace {
    /// Nowhere: this process makes the vectors itself (SPEC 6.5).
    ThisProcess,
    /// To a server at this address, on this machine by the form of its host (SPEC 6.4).
    ThisMachine(String),
    /// To a server at this address.
    Elsewhere(String),
}

/// What texts are, with the prefix that the model expects before each of them ([`EmbeddingModel`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// A question: a recall waits for it.
    Question(&'a str),
    /// Memories: nothing waits for them.
    Memories(&'a str),
}

impl<'a> Purpose<'a> {
    /// The prefix.
    pub fn before(self) -> &'a str {
        match self {
            Self::Question(before) | Self::Memories(before) => before,
        }
    }
}

/// What vectors are made with: a model, and the prefixes by which it distinguishes the purpose of a text. Vectors that
/// were made with different ones are never compared. Its text, by which vectors are kept, is `provider:name`, and with
/// any prefix two more lines: the prefix of questions, and that of memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// The model.
    pub name: ModelName,
    /// The prefix of each question; mostly empty, without line breaks.
    pub before_questions: String,
    /// The prefix of each memory; mostly empty, without line breaks.
    pub before_memories: String,
}

/// The prefixes that some models expect before a question and before a memory, by the beginning of their names. Without
/// them they find less, and other models find less with them. From the cards of nomic-embed-text, multilingual-e5-small
/// and mxbai-embed-large; of e5-small, e5-large and multilingual-e5-large from copies or the pages of their servers;
/// the two of the size `base` use those of their families.
const WANTED: [(&str, [&str; 2]); 8] = [
    ("nomic-embed-text", ["search_query: ", "search_document: "]),
    ("multilingual-e5-small", ["query: ", "passage: "]),
    ("multilingual-e5-base", ["query: ", "passage: "]),
    ("multilingual-e5-large", ["query: ", "passage: "]),
    ("e5-small", ["query: ", "passage: "]),
    ("e5-base", ["query: ", "passage: "]),
    ("e5-large", ["query: ", "passage: "]),
    (
        "mxbai-embed-large",
        [
            "Represent this sentence for searching relevant passages: ",
            "",
        ],
    ),
];

impl EmbeddingModel {
    /// The model of that name, with what its makers say that it wants.
    pub fn of(name: ModelName) -> Self {
        // Its maker or server may precede its own name. Those that take instructions want other prefixes.
        let own = name.model().rsplit('/').next().unwrap_or_default();
        let own = own.to_lowercase();
        let own = own.strip_prefix("text-embedding-").unwrap_or(&own);
        let is_it =
            |(begins, _): &&(&str, _)| own.starts_with(*begins) && !own.contains("instruct");
        let wanted = WANTED.iter().find(is_it);
        let [questions, memories] = wanted.map_or([""; 2], |(_, wanted)| *wanted);
        Self {
            before_questions: questions.to_owned(),
            before_memories: memories.to_owned(),
            name,
        }
    }

    /// The purpose of a question.
    pub fn question(&self) -> Purpose<'_> {
        Purpose::Question(&self.before_questions)
    }

    /// The purpose of memories.
    pub fn memories(&self) -> Purpose<'_> {
        Purpose::Memories(&self.before_memories)
    }
}

impl fmt::Display for EmbeddingModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (questions, memories) = (&self.before_questions, &self.before_memories);
        match questions.is_empty() && memories.is_empty() {
            true => write!(formatter, "{}", self.name),
            false => write!(formatter, "{}\n{questions}\n{memories}", self.name),
        }
    }
}

impl FromStr for EmbeddingModel {
    type Err = ModelNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut lines = text.splitn(3, '\n');
        let mut line = || lines.next().unwrap_or_default();
        Ok(Self {
            name: line().parse()?,
            before_questions: line().to_owned(),
            before_memories: line().to_owned(),
        })
    }
}

/// The vectors of some texts.
#[derive(Debug)]
pub struct Embeddings {
    /// One for each text, in their order, all of the same length.
    pub vectors: Vec<Vector>,
    /// What that used; nothing is written, so that there are no tokens of output.
    pub usage: TokenUsage,
}

/// A model behind an endpoint of embeddings.
#[derive(Debug)]
pub(crate) struct OpenAiEmbedder {
    pub(crate) name: ModelName,
    pub(crate) place: EmbedderPlace,
    pub(crate) endpoint: Endpoint,
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn place(&self) -> &EmbedderPlace {
        &self.place
    }

    async fn embed(
        &self,
        purpose: Purpose<'_>,
        texts: &[PrivateText],
    ) -> Result<Embeddings, ModelError> {
        let before = purpose.before();
        let input = texts
            .iter()
            .map(|text| format!("{before}{}", text.expose()));
        let input: Vec<String> = input.collect();
        let body = json!({"model": self.name.model(), "input": input});
        let answer = self.endpoint.post(&body).await?;
        let vectors = decode(&answer, texts.len())?;
        let reported = answer.get("usage").and_then(|usage| {
            let count = |field| usage.get(field).and_then(Value::as_u64);
            count("prompt_tokens").or_else(|| count("total_tokens"))
        });
        // Where a provider reports no usage, it is estimated from the characters, as for other requests.
        let characters: usize = texts.iter().map(PrivateText::chars).sum();
        Ok(Embeddings {
            vectors,
            usage: TokenUsage {
                input_tokens: reported.unwrap_or((characters as u64).div_ceil(4)),
                output_tokens: 0,
                measured: reported.is_some(),
            },
        })
    }
}

fn decode(answer: &Value, texts: usize) -> Result<Vec<Vector>, ModelError> {
    let Some(data) = answer.get("data").and_then(Value::as_array) else {
        return Err(retryable("no list of vectors (`data`)"));
    };
    if data.len() != texts {
        let what = format!("{} vectors for {texts} texts", data.len());
        return Err(retryable(&what));
    }
    let mut vectors: Vec<Option<Vector>> = (0..texts).map(|_| None).collect();
    for (at, one) in data.iter().enumerate() {
        // A server may return another order; one without an index keeps the order.
        let place = match one.get("index") {
            None | Some(Value::Null) => Some(at),
            Some(index) => index.as_u64().and_then(|index| usize::try_from(index).ok()),
        };
        let place = place.and_then(|place| vectors.get_mut(place));
        let Some(place) = place.filter(|place| place.is_none()) else {
            return Err(retryable(
                "vectors whose places (`index`) are not those of the texts",
            ));
        };
        *place = Some(vector(one).ok_or_else(|| {
            retryable(
                "a vector (`embedding`) that is no list of 1 to 8192 numbers, or all of them 0",
            )
        })?);
    }
    // Nothing falls out here: as many places as texts, each filled once.
    let vectors: Vec<Vector> = vectors.into_iter().flatten().collect();
    let mut lengths = vectors.iter().map(Vector::dimensions);
    let first = lengths.next();
    // Vectors of different lengths cannot be compared, and which of them is wrong is unknown.
    if lengths.any(|length| Some(length) != first) {
        return Err(retryable("vectors of different lengths"));
    }
    Ok(vectors)
}

fn vector(one: &Value) -> Option<Vector> {
    let values = one.get("embedding")?.as_array()?;
    // What is too large becomes infinite, which is no direction.
    let values = values.iter().map(|value| Some(value.as_f64()? as f32));
    // Numbers reveal much of the text that they were made of.
    let values = zeroize::Zeroizing::new(values.collect::<Option<Vec<f32>>>()?);
    Vector::of(&values)
}
