//! How much a model can read, if the configuration does not say (SPEC 3.7): by provider and the beginning of the
//! model's name. Rather too little than too much: some servers refuse a longer prompt, and others cut it silently.

use crate::ModelName;

/// By provider, the beginning of the model's name, and tokens; the first that fits counts. What is not in
/// the table is unknown: llama.cpp and vLLM serve whatever they were started with.
///
/// Sources, read in November 2026:
/// - Anthropic: docs.anthropic.com, "Context windows". Larger ones exist for some models, on request.
/// - OpenAI: platform.openai.com/docs/models, model by model. Of the 400,000 of GPT-5, 128,000 are for the answer.
/// - Ollama: docs/context-length.mdx in its repository. 4k below 24 GiB of graphics memory, and it cuts silently: an
///   installation that raises it with `OLLAMA_CONTEXT_LENGTH` sets `context_tokens` too.
const SIZES: [(&str, &str, u32); 13] = [
    ("anthropic", "", 200_000),
    ("openai", "gpt-5", 272_000),
    ("openai", "gpt-4.1", 1_047_576),
    ("openai", "gpt-4o", 128_000),
    ("openai", "gpt-4-turbo", 128_000),
    ("openai", "gpt-4", 8_192),
    ("openai", "gpt-3.5", 16_385),
    ("openai", "o1-mini", 128_000),
    ("openai", "o1-preview", 128_000),
    ("openai", "o1", 200_000),
    ("openai", "o3", 200_000),
    ("openai", "o4", 200_000),
    ("ollama", "", 4_096),
];
/// OpenAI's models made for chats read less than others of their family.
const OPENAI_CHAT_TOKENS: u32 = 128_000;

/// The context of a model in tokens; `None` if unknown.
pub(crate) fn of(model: &ModelName) -> Option<u32> {
    let (provider, name) = match (model.provider(), model.model().split_once('/')) {
        // OpenRouter's names begin with that of the company: `anthropic/claude-…`, `openai/gpt-…`.
        ("openrouter", Some((company @ ("anthropic" | "openai"), name))) => (company, name),
        (provider, _) => (provider, model.model()),
    };
    if provider == "openai" && name.starts_with("gpt-5") && name.contains("-chat") {
        return Some(OPENAI_CHAT_TOKENS);
    }
    // Ollama runs these on its own servers, with the whole context of each.
    if provider == "ollama" && name.ends_with("-cloud") {
        return None;
    }
    // A longer beginning comes before the shorter one that it contains: `o1-mini` before `o1`.
    SIZES
        .into_iter()
        .find(|(of, begin, _)| *of == provider && name.starts_with(begin))
        .map(|(_, _, tokens)| tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_3_7_the_context_of_well_known_models_is_known() {
        for (model, tokens) in [
            ("anthropic:claude-sonnet-4-5", Some(200_000)),
            ("openai:gpt-5.1-mini", Some(272_000)),
            ("openai:gpt-5-chat-latest", Some(128_000)),
            ("openai:gpt-4.1-mini", Some(1_047_576)),
            ("openai:gpt-4o-mini", Some(128_000)),
            ("openai:gpt-4-0613", Some(8_192)),
            ("openai:o1-mini", Some(128_000)),
            ("openai:o3", Some(200_000)),
            ("openai:something-new", None),
            ("openrouter:anthropic/claude-haiku-4.5", Some(200_000)),
            ("openrouter:openai/gpt-4o", Some(128_000)),
            ("openrouter:qwen/qwen3-8b", None),
            ("ollama:qwen3:8b", Some(4_096)),
            ("ollama:gpt-oss:120b-cloud", None),
            ("vllm:qwen3", None),
            ("llamacpp:anything", None),
            ("lab:gpt-4o", None),
        ] {
            assert_eq!(of(&model.parse().unwrap()), tokens, "{model}");
        }
    }
}
