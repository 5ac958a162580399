//! The built-in model of embeddings: computed in this process from one file (SPEC 6.5). Nothing leaves the process.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use async_trait::async_trait;
use memoir_domain::{PrivateText, recall::Vector};
use memoir_embedder::{E5, KNOWN_FILES, KnownFile, ModelFileError, TextInProgress};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use zeroize::Zeroizing;

use crate::{
    Embedder, EmbedderPlace, Embeddings, ModelError, ModelName, Purpose, message::TokenUsage,
};

/// What the configuration calls it, whichever file it is run from.
pub const BUILTIN_EMBEDDINGS: &str = "builtin:e5-small";

/// The name of the built-in model of embeddings. It identifies the file, so that vectors of files that differ are never
/// compared.
pub fn builtin_embeddings() -> ModelName {
    name_of(&KNOWN_FILES[0])
}

fn name_of(file: &KnownFile) -> ModelName {
    ModelName::builtin(&file.model_name())
}

/// A model's file, opened at the first text of the process, and the turns of its texts.
#[derive(Debug)]
pub(crate) struct ModelFile {
    path: PathBuf,
    known: &'static [KnownFile],
    opened: Mutex<Option<Arc<E5>>>,
    turns: Turns,
}

impl ModelFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self::one_of(&KNOWN_FILES, path)
    }

    fn one_of(known: &'static [KnownFile], path: PathBuf) -> Self {
        Self {
            path,
            known,
            opened: Mutex::new(None),
            turns: Turns::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether that is the name of a model that such a file holds.
    pub(crate) fn is_named(&self, name: &ModelName) -> bool {
        self.known.iter().any(|known| name_of(known) == *name)
    }

    /// The model. A file that could not be used is tried again, since one may be installed meanwhile.
    fn model(&self) -> Result<Arc<E5>, ModelFileError> {
        let mut opened = self.opened.lock();
        if let Some(model) = &*opened {
            return Ok(model.clone());
        }
        let model = Arc::new(E5::open_one_of(self.known, &self.path)?);
        *opened = Some(model.clone());
        Ok(model)
    }

    /// Begins to open it beside the caller. The first text waits for the rest, and is given what is wrong with the file.
    pub(crate) fn begin_opening(self: Arc<Self>) {
        let _ = thread::Builder::new().spawn(move || drop(self.model()));
    }
}

/// Whose turn it is: one text's at a time, and a memory's only while no question waits. A turn is one window of a text, so
/// that a question waits for one window of a memory at most.
#[derive(Debug)]
struct Turns {
    one: Arc<Semaphore>,
    /// How many questions wait or are computed.
    questions: watch::Sender<usize>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            one: Arc::new(Semaphore::new(1)),
            questions: watch::Sender::new(0),
        }
    }
}

/// Counts a question until it is dropped.
struct Asked<'a>(&'a watch::Sender<usize>);

impl<'a> Asked<'a> {
    fn new(questions: &'a watch::Sender<usize>) -> Self {
        questions.send_modify(|count| *count += 1);
        Self(questions)
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Turns {
    /// The next turn; `None` where there are none any more, which does not happen.
    async fn next(&self, is_question: bool) -> Option<OwnedSemaphorePermit> {
        loop {
            if !is_question {
                let mut questions = self.questions.subscribe();
                questions.wait_for(|count| *count == 0).await.ok()?;
            }
            let turn = self.one.clone().acquire_owned().await.ok()?;
            // A question may have come while this waited for the one before.
            if is_question || *self.questions.borrow() == 0 {
                return Some(turn);
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct BuiltinEmbedder {
    pub(crate) name: ModelName,
    pub(crate) file: Arc<ModelFile>,
}

enum Work {
    Begins(Zeroizing<String>),
    GoesOn(TextInProgress),
}

enum Turn {
    GoesOn(TextInProgress),
    Ended { vector: Option<Vector>, tokens: u64 },
}

impl BuiltinEmbedder {
    fn turn(file: &ModelFile, work: Work) -> Result<Turn, ModelFileError> {
        let model = file.model()?;
        let mut text = match work {
            Work::Begins(text) => model.start(&text),
            Work::GoesOn(text) => text,
        };
        if model.advance(&mut text)? {
            return Ok(Turn::GoesOn(text));
        }
        let tokens = text.tokens() as u64;
        Ok(Turn::Ended {
            vector: Vector::of(&model.finish(text)),
            tokens,
        })
    }

    async fn vector(&self, is_question: bool, text: String) -> Result<(Vector, u64), ModelError> {
        let mut work = Work::Begins(Zeroizing::new(text));
        loop {
            let turn = self.file.turns.next(is_question).await;
            let file = self.file.clone();
            let done = tokio::task::spawn_blocking(move || {
                // Held until the window is computed, also where the caller stops waiting.
                let _turn = turn;
                Self::turn(&file, work)
            });
            let broken = |what: String| ModelError::ModelFile { what };
            let done = done
                .await
                .map_err(|_| broken("the built-in model failed".to_owned()))?;
            match done.map_err(|error| broken(error.to_string()))? {
                Turn::GoesOn(text) => work = Work::GoesOn(text),
                Turn::Ended {
                    vector: Some(vector),
                    tokens,
                } => return Ok((vector, tokens)),
                Turn::Ended { vector: None, .. } => {
                    let path = self.file.path.display();
                    return Err(broken(format!("the model file `{path}` makes no vectors")));
                }
            }
        }
    }
}

#[async_trait]
impl Embedder for BuiltinEmbedder {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn place(&self) -> &EmbedderPlace {
        &EmbedderPlace::ThisProcess
    }

    async fn embed(
        &self,
        purpose: Purpose<'_>,
        texts: &[PrivateText],
    ) -> Result<Embeddings, ModelError> {
        let is_question = matches!(purpose, Purpose::Question(_));
        let _asked = is_question.then(|| Asked::new(&self.file.turns.questions));
        let mut vectors = Vec::with_capacity(texts.len());
        let mut input_tokens = 0;
        for text in texts {
            let text = format!("{}{}", purpose.before(), text.expose());
            let (vector, tokens) = self.vector(is_question, text).await?;
            vectors.push(vector);
            input_tokens += tokens;
        }
        Ok(Embeddings {
            vectors,
            usage: TokenUsage::counted(input_tokens, 0),
        })
    }
}

#[cfg(test)]
#[path = "../../memoir-embedder/tests/it/tiny.rs"]
mod tiny;

#[cfg(test)]
mod tests {
    use std::{sync::LazyLock, time::Duration};

    use super::*;

    static TINY: LazyLock<[KnownFile; 1]> = LazyLock::new(|| [tiny::known(&tiny::bytes())]);

    fn embedder() -> (tempfile::TempDir, BuiltinEmbedder) {
        let (folder, path) = tiny::written(&tiny::bytes());
        let file = ModelFile::one_of(TINY.as_slice(), path);
        let name = name_of(&TINY[0]);
        assert!(file.is_named(&name) && !file.is_named(&builtin_embeddings()));
        let file = Arc::new(file);
        (folder, BuiltinEmbedder { name, file })
    }

    #[test]
    fn spec_6_5_the_name_of_the_model_identifies_the_file() {
        let name = builtin_embeddings();
        assert_eq!(name.as_str(), "builtin:e5-small-q4-1571fc98");
        let before = crate::EmbeddingModel::of(name);
        assert_eq!(before.before_questions, "query: ");
        assert_eq!(before.before_memories, "passage: ");
    }

    #[tokio::test]
    async fn spec_6_5_the_built_in_model_makes_a_vector_of_each_text_in_its_order() {
        let (_folder, embedder) = embedder();
        assert_eq!(embedder.place(), &EmbedderPlace::ThisProcess);
        let long = "honey ".repeat(40);
        let texts = ["bees", &long, "кот"].map(PrivateText::from);
        let made = embedder.embed(Purpose::Memories(""), &texts).await.unwrap();
        assert_eq!(made.vectors.len(), 3);
        assert_eq!(made.usage.input_tokens, 2 + 41 + 1);
        for (text, vector) in texts.iter().zip(&made.vectors) {
            let alone = std::slice::from_ref(text);
            let alone = embedder.embed(Purpose::Question(""), alone).await.unwrap();
            assert_eq!(alone.vectors[0].to_bytes(), vector.to_bytes());
        }
        let before = embedder
            .embed(Purpose::Question("honey "), &texts[..1])
            .await;
        assert_ne!(
            before.unwrap().vectors[0].to_bytes(),
            made.vectors[0].to_bytes()
        );
    }

    #[tokio::test]
    async fn spec_6_5_a_question_goes_before_the_memories_that_wait() {
        let (_folder, embedder) = embedder();
        let embedder = Arc::new(embedder);
        // The turn is taken, so that all that follow wait for it.
        let turn = embedder.file.turns.next(true).await.unwrap();
        let ended = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for is_question in [false, false, true] {
            let (embedder, ended) = (embedder.clone(), ended.clone());
            tasks.push(tokio::spawn(async move {
                let purpose = match is_question {
                    true => Purpose::Question("query: "),
                    false => Purpose::Memories("passage: "),
                };
                let texts = [PrivateText::from("bees"), PrivateText::from("honey")];
                embedder
                    .embed(purpose, &texts[usize::from(is_question)..])
                    .await
                    .unwrap();
                ended.lock().push(is_question);
            }));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(turn);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*ended.lock(), [true, false, false]);
        assert_eq!(*embedder.file.turns.questions.borrow(), 0);
    }

    #[tokio::test]
    async fn spec_6_5_a_question_that_is_given_up_lets_memories_go_on() {
        let (_folder, embedder) = embedder();
        let turn = embedder.file.turns.next(true).await.unwrap();
        let texts = [PrivateText::from("bees")];
        let asked = embedder.embed(Purpose::Question(""), &texts);
        assert!(
            tokio::time::timeout(Duration::from_millis(5), asked)
                .await
                .is_err()
        );
        drop(turn);
        embedder.embed(Purpose::Memories(""), &texts).await.unwrap();
    }

    #[tokio::test]
    async fn spec_6_5_another_file_is_refused_by_name_and_used_once_it_is_right() {
        let (folder, embedder) = embedder();
        let path = folder.path().join("tiny-q4.bin");
        let good = std::fs::read(&path).unwrap();
        let mut bad = good.clone();
        bad[good.len() / 2] ^= 4;
        std::fs::write(&path, bad).unwrap();
        let texts = [PrivateText::from("canary-vow")];
        let refused = embedder.embed(Purpose::Question(""), &texts).await;
        let refused = refused.unwrap_err();
        assert!(!refused.is_retryable() && !refused.is_about_request());
        let refused = format!("{refused} {refused:?}");
        assert!(
            refused.contains("tiny-q4.bin") && !refused.contains("canary"),
            "{refused}"
        );
        std::fs::write(&path, good).unwrap();
        assert!(embedder.embed(Purpose::Question(""), &texts).await.is_ok());
    }
}
