//! What servers of embeddings send, and what they are sent.

use std::sync::Arc;

use memoir_domain::PrivateText;
use memoir_model::{
    ConnectError, Embedder, EmbedderPlace, EmbeddingModel, Embeddings, ModelError, ModelName,
    ProviderKind, Purpose,
};
use memoir_testkit::{ScriptedServer, ServerStep};
use serde_json::{Value, json};

use super::{KEY, WORDS, providers, settings};

fn embedder(server: &ScriptedServer) -> Arc<dyn Embedder> {
    providers(settings(ProviderKind::OpenAi, server.base_url()))
        .connect_embedder(&"lab:small".parse().unwrap())
        .unwrap()
}

async fn embedded(server: &ScriptedServer, texts: &[&str]) -> Result<Embeddings, ModelError> {
    let texts: Vec<PrivateText> = texts.iter().map(|text| (*text).into()).collect();
    embedder(server).embed(Purpose::Memories(""), &texts).await
}

#[tokio::test]
async fn spec_6_4_texts_are_sent_in_openais_form_and_vectors_come_back_in_their_order() {
    let reply = json!({
        "data": [
            {"index": 1, "embedding": [0.0, 1.0]},
            {"index": 0, "embedding": [1, -0.5]},
        ],
        "usage": {"prompt_tokens": 12},
    });
    let server = ScriptedServer::start([ServerStep::Reply(reply)]);
    let made = embedded(&server, &["One.", "Two."]).await.unwrap();
    let bytes: Vec<Vec<u8>> = made.vectors.iter().map(|one| one.to_bytes()).collect();
    assert_eq!(bytes, [vec![127, 192], vec![0, 127]]);
    assert_eq!((made.usage.input_tokens, made.usage.measured), (12, true));
    let received = &server.received()[0];
    assert_eq!(received.path, "/v1/embeddings");
    let key = received.header("authorization");
    assert_eq!(key, Some(format!("Bearer {KEY}").as_str()));
    let sent = json!({"model": "small", "input": ["One.", "Two."]});
    assert_eq!(received.body, sent);
    let embedder = embedder(&server);
    let place = EmbedderPlace::ThisMachine(server.base_url());
    assert_eq!(embedder.place(), &place);
}

#[test]
fn spec_2_8_models_whose_cards_say_so_are_told_what_a_text_is_for() {
    let nomic = ["search_query: ", "search_document: "];
    let e5 = ["query: ", "passage: "];
    let mxbai = "Represent this sentence for searching relevant passages: ";
    for (model, before) in [
        ("ollama:nomic-embed-text", nomic),
        ("ollama:nomic-embed-text:v1.5", nomic),
        ("ollama:nomic-embed-text-v2-moe", nomic),
        ("vllm:nomic-ai/nomic-embed-text-v1.5", nomic),
        ("lmstudio:text-embedding-nomic-embed-text-v1.5", nomic),
        ("vllm:intfloat/multilingual-e5-large", e5),
        ("vllm:intfloat/E5-base-v2", e5),
        ("ollama:mxbai-embed-large", [mxbai, ""]),
        ("vllm:intfloat/multilingual-e5-large-instruct", ["", ""]),
        ("vllm:intfloat/e5-mistral-7b-instruct", ["", ""]),
        ("openai:text-embedding-3-small", ["", ""]),
        ("ollama:bge-m3", ["", ""]),
    ] {
        let name: ModelName = model.parse().unwrap();
        let made = EmbeddingModel::of(name.clone());
        assert_eq!([&*made.before_questions, &*made.before_memories], before);
        let kept = made.to_string();
        assert_eq!(kept == model, before == ["", ""], "{kept:?}");
        assert_eq!(kept.parse::<EmbeddingModel>().unwrap(), made);
        // What was made with nothing before it is another's.
        let bare: EmbeddingModel = model.parse().unwrap();
        assert_eq!((&bare.name, &*bare.before_questions), (&name, ""));
        assert_eq!(bare == made, before == ["", ""]);
    }
    assert!("nothing".parse::<EmbeddingModel>().is_err());
}

#[tokio::test]
async fn spec_2_8_what_a_model_wants_stands_before_each_text() {
    let server = ScriptedServer::always(ServerStep::embeddings(|_| vec![1.0]));
    let texts = ["One.".into(), "Two.".into()];
    let embedder = embedder(&server);
    embedder
        .embed(Purpose::Question("query: "), &texts)
        .await
        .unwrap();
    let sent = json!({"model": "small", "input": ["query: One.", "query: Two."]});
    assert_eq!(server.requests(), [sent]);
}

#[tokio::test]
async fn spec_6_4_what_is_no_vector_of_each_text_is_an_error_without_their_words() {
    let data = |data: Value| ServerStep::Reply(json!({"data": data}));
    let one = json!({"index": 0, "embedding": [1.0, 2.0]});
    let other = |index: Value, embedding: Value| json!({"index": index, "embedding": embedding});
    let of_other = |embedding| data(json!([one, other(json!(1), embedding)]));
    for (step, told) in [
        (data(json!([one])), "1 vectors for 2 texts"),
        (
            ServerStep::Reply(json!({"vectors": []})),
            "no list of vectors",
        ),
        (of_other(json!([1.0])), "of different lengths"),
        (of_other(json!([])), "no list of 1 to 8192 numbers"),
        (of_other(json!([0.0, 0])), "or all of them 0"),
        (of_other(json!([1.0, null])), "no list of 1 to 8192 numbers"),
        (of_other(json!("AAAA")), "no list of 1 to 8192 numbers"),
        (
            of_other(json!([1e300, 1.0])),
            "no list of 1 to 8192 numbers",
        ),
        (
            data(json!([one, other(json!(0), json!([1.0, 1.0]))])),
            "places (`index`)",
        ),
        (
            data(json!([one, other(json!(2), json!([1.0, 1.0]))])),
            "places (`index`)",
        ),
        (
            ServerStep::status(200).with_body(r#"{"data":[{"embedding":[NaN,1]}]}"#.to_owned()),
            "no valid JSON",
        ),
        (ServerStep::html(), "a web page"),
        (ServerStep::CutConnection, "before the answer was complete"),
        (ServerStep::status(500), "status 500"),
    ] {
        let server = ScriptedServer::start([step]);
        let error = embedded(&server, &[WORDS, "Two."]).await.unwrap_err();
        let message = format!("{error} {error:?}");
        assert!(message.contains(told), "{told}: {message}");
        assert!(!message.contains(WORDS), "{message}");
    }
}

#[test]
fn spec_6_4_a_provider_without_embeddings_is_refused_by_name() {
    let server = ScriptedServer::start([]);
    let anthropic = providers(settings(ProviderKind::Anthropic, server.base_url()));
    for model in ["lab:small", "builtin:careful"] {
        let refused = anthropic.connect_embedder(&model.parse().unwrap());
        let error = refused.err().unwrap();
        assert!(matches!(error, ConnectError::NoEmbeddings { .. }));
        assert!(
            error
                .to_string()
                .starts_with(&format!("`{model}`: the provider"))
        );
    }
    let unknown = anthropic.connect_embedder(&"nowhere:small".parse().unwrap());
    assert!(matches!(
        unknown.err().unwrap(),
        ConnectError::UnknownProvider { .. }
    ));
}
