//! OpenAI's embeddings, as spoken by OpenAI, Ollama, vLLM, llama.cpp and most others: texts in, a vector for each.

use async_trait::async_trait;
use memoir_domain::{PrivateText, recall::Vector};
use serde_json::{Value, json};

use crate::http::{Endpoint, retryable};
use crate::message::Usage;
use crate::{ModelError, ModelName};

/// A model that makes a vector of a text.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// `provider:name`, as configured.
    fn name(&self) -> &ModelName;

    /// Where texts are sent, as configured; it holds no secret.
    fn address(&self) -> &str;

    /// Whether what is sent stays on this machine, going by how its host is written (SPEC 6.4).
    fn is_local(&self) -> bool;

    /// A vector of each text, in their order, all of the same length. Makes one attempt: retrying is the caller's.
    ///
    /// # Errors
    ///
    /// As [`crate::Model::complete`].
    async fn embed(&self, texts: &[PrivateText]) -> Result<Embeddings, ModelError>;
}

/// What was made of some texts.
#[derive(Debug)]
pub struct Embeddings {
    /// One for each text, in their order, all of the same length.
    pub vectors: Vec<Vector>,
    /// What that used; nothing is written, so that there are no tokens of output.
    pub usage: Usage,
}

/// A model behind an endpoint of embeddings.
#[derive(Debug)]
pub(crate) struct OpenAiEmbedder {
    pub(crate) name: ModelName,
    pub(crate) address: String,
    pub(crate) is_local: bool,
    pub(crate) endpoint: Endpoint,
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn is_local(&self) -> bool {
        self.is_local
    }

    async fn embed(&self, texts: &[PrivateText]) -> Result<Embeddings, ModelError> {
        let input: Vec<&str> = texts.iter().map(PrivateText::expose).collect();
        let body = json!({"model": self.name.model(), "input": input});
        let answer = self.endpoint.post(&body).await?;
        let vectors = decode(&answer, texts.len())?;
        let told = answer.get("usage").and_then(|usage| {
            let count = |field| usage.get(field).and_then(Value::as_u64);
            count("prompt_tokens").or_else(|| count("total_tokens"))
        });
        let characters: usize = texts.iter().map(PrivateText::chars).sum();
        Ok(Embeddings {
            vectors,
            usage: Usage {
                input_tokens: told.unwrap_or((characters as u64).div_ceil(4)),
                output_tokens: 0,
                measured: told.is_some(),
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
    let mut vectors: Vec<Option<Vector>> = Vec::new();
    vectors.resize_with(texts, || None);
    for (at, one) in data.iter().enumerate() {
        // A server may answer in another order; one that tells none keeps it.
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
    let vectors: Vec<Vector> = vectors.into_iter().flatten().collect();
    let mut lengths = vectors.iter().map(Vector::dimensions);
    let first = lengths.next();
    if lengths.any(|length| Some(length) != first) {
        return Err(retryable("vectors of different lengths"));
    }
    Ok(vectors)
}

fn vector(one: &Value) -> Option<Vector> {
    let values = one.get("embedding")?.as_array()?;
    let values = values.iter().map(|value| Some(value.as_f64()? as f32));
    let values = zeroize::Zeroizing::new(values.collect::<Option<Vec<f32>>>()?);
    Vector::of(&values)
}
