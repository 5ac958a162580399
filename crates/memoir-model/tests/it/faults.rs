//! Failures between Memoir and a model, their classification, and that they reveal no secrets.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::Duration;

use memoir_domain::session::FailureClass;
use memoir_model::{ModelError, Outage, ProviderKind};
use memoir_testkit::{ScriptedServer, ServerStep};
use serde_json::{Value, json};

use super::{KEY, WORDS, ask, delete_tool, providers, request, settings, user};

/// Asks once, with [`WORDS`] in the prompt, and checks that the error reveals neither them nor the key.
async fn failure_of(kind: ProviderKind, server: &ScriptedServer) -> ModelError {
    let prompt = format!("Begin. {WORDS}");
    let request = request(vec![user(&prompt)], vec![delete_tool()]);
    let error = ask(kind, server, &request).await.unwrap_err();
    tells_no_secret(&error);
    error
}

async fn failure(step: ServerStep) -> ModelError {
    failure_of(ProviderKind::OpenAi, &ScriptedServer::start([step])).await
}

/// As [`failure_of`], of whatever is at that address.
async fn failure_at(base_url: String) -> ModelError {
    let providers = providers(settings(ProviderKind::OpenAi, base_url));
    let model = providers.connect(&"lab:small".parse().unwrap()).unwrap();
    let request = request(vec![user(WORDS)], vec![]);
    let error = model.complete(&request).await.unwrap_err();
    tells_no_secret(&error);
    error
}

fn unavailable(outage: Outage) -> ModelError {
    ModelError::Unavailable {
        outage,
        retry_after: None,
    }
}

fn tells_no_secret(error: &ModelError) {
    let mut text = format!("{error:?} {error:#?} {error} {:?}", error.hint());
    let mut cause = error.source();
    while let Some(inner) = cause {
        text += &format!("{inner:?} {inner}");
        cause = inner.source();
    }
    assert!(!text.contains(WORDS) && !text.contains(KEY), "{text}");
}

/// An error body whose words quote the prompt and the key, as providers' do.
fn telling(status: u16, error: Value) -> ServerStep {
    let mut error = error;
    let message = error["message"].as_str().unwrap_or("bad");
    error["message"] = format!("{message} in: {WORDS} by {KEY}").into();
    ServerStep::status(status).with_body(json!({"error": error, "prompt": WORDS}).to_string())
}

/// A web page of that status.
fn page(status: u16, text: &str) -> ServerStep {
    let ServerStep::Raw { headers, .. } = ServerStep::html() else {
        unreachable!()
    };
    ServerStep::Raw {
        status,
        headers,
        body: text.into(),
    }
}

#[tokio::test]
async fn spec_3_16_rate_limits_are_retryable_and_carry_retry_after() {
    let step = telling(429, json!({"code": "rate_limit_exceeded"}));
    let error = failure(step.retry_after("1")).await;
    let retry_after = Some(Duration::from_secs(1));
    assert_eq!(error, ModelError::RateLimited { retry_after });
    assert!(error.is_retryable());
    assert_eq!(
        error.to_string(),
        "the provider limits the rate of requests; it asks to wait 1 s"
    );
    let error = failure(ServerStep::status(429)).await;
    assert_eq!((error.retry_after(), error.is_retryable()), (None, true));
}

#[tokio::test]
async fn spec_3_16_statuses_that_pass_are_retryable() {
    for status in [408, 409, 425, 500, 502, 503, 504, 529] {
        let error = failure(telling(status, json!({})).retry_after("2.5")).await;
        let retry_after = Some(Duration::from_millis(2500));
        assert_eq!(
            error,
            ModelError::Unavailable {
                outage: Outage::Status(status),
                retry_after
            }
        );
        assert!(error.is_retryable());
        let class = match status {
            408 | 504 => FailureClass::Timeout,
            _ => FailureClass::ServerError,
        };
        assert_eq!(error.class(), class, "{status}");
    }
    let error = failure(page(502, "<html>Bad gateway</html>")).await;
    assert_eq!(error, unavailable(Outage::Status(502)));
}

#[tokio::test]
async fn spec_3_16_statuses_that_stay_are_for_good_and_keep_the_code_only() {
    let kept = [
        (400, "invalid_value", ""),
        (401, "invalid_api_key", "environment variable `LAB_KEY`"),
        (404, "model_not_found", "often ends with `/v1`"),
        (413, "too_large", "set `context_tokens`"),
        (429, "insufficient_quota", "no credit left"),
    ];
    let kept = kept.map(|(status, code, hint)| {
        let told = format!("with status {status} (`{code}`)");
        (status, json!(code), told, hint)
    });
    let dropped = [
        (402, json!(402), "no credit left"),
        (403, Value::Null, "may not use the model `small`"),
        (422, json!(format!("{WORDS} and more")), ""),
    ];
    let dropped = dropped.map(|(status, code, hint)| {
        let told = format!("with status {status}");
        (status, code, told, hint)
    });
    for (status, code, told, hint) in kept.into_iter().chain(dropped) {
        let error = failure(telling(status, json!({"code": code})).retry_after("1")).await;
        let told = format!("the provider refused the request {told}");
        assert_eq!(error.to_string(), told);
        assert!(!error.is_retryable() && error.retry_after().is_none());
        let class = match status {
            401 | 403 => FailureClass::KeyRefused,
            402 | 429 => FailureClass::Quota,
            _ => FailureClass::ServerError,
        };
        assert_eq!(error.class(), class, "{status}");
        let given = error.hint().unwrap_or_default();
        assert_eq!(hint.is_empty(), given.is_empty(), "{given}");
        assert!(given.contains(hint), "{given}");
    }
}

/// What a provider says of a prompt that is too long.
const TOO_LONG: &str =
    "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens";
/// Parts of hints.
const LONGER: &str = "longer than the model's context";
const WITH_TOOLS: &str = "use a model that calls tools";
const OTHER_FIELD: &str = "the other `output_limit_field`";

#[tokio::test]
async fn spec_6_3_words_of_the_provider_choose_a_hint_and_are_dropped() {
    for (words, hint) in [
        (TOO_LONG, LONGER),
        ("registry/tiny does not support tools", WITH_TOOLS),
        ("Unsupported parameter: 'max_tokens'", OTHER_FIELD),
        (
            "Unrecognized request argument supplied: max_completion_tokens",
            OTHER_FIELD,
        ),
        ("Your credit balance is too low", "no credit left"),
    ] {
        let error = failure(telling(400, json!({"message": words}))).await;
        let is_unpaid = hint == "no credit left";
        assert_eq!(error.class() == FailureClass::Quota, is_unpaid, "{error:?}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{error:?}");
    }
}

#[tokio::test]
async fn spec_2_6_what_a_provider_says_of_key_and_account_is_not_about_the_request() {
    for (words, class, hint) in [
        (
            "Your credit balance is too low",
            FailureClass::Quota,
            "no credit left",
        ),
        // Google.
        (
            "API key not valid. Please pass a valid API key.",
            FailureClass::KeyRefused,
            "does not accept the key",
        ),
    ] {
        let error = failure(telling(400, json!({"message": words}))).await;
        assert!(!error.is_about_request(), "{error:?}");
        assert_eq!(error.class(), class, "{error:?}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{error:?}");
    }
    // OpenRouter's filter has the status of a key that may not be used.
    let metadata = json!({"reasons": ["violence"], "flagged_input": WORDS});
    let flagged = json!({"code": 403, "message": "flagged", "metadata": metadata});
    let error = failure(telling(403, flagged)).await;
    assert!(error.is_about_request(), "{error:?}");
    let told = "the provider refused the request with status 403 (`content_filter`)";
    assert_eq!(error.to_string(), told);
    // LM Studio, at an address without `/v1`.
    let sent = json!({"error": "Unexpected endpoint or method. (POST /chat/completions)"});
    let error = failure(ServerStep::Reply(sent)).await;
    assert!(!error.is_retryable(), "{error:?}");
    let hint = error.hint().unwrap_or_default();
    assert!(hint.contains("often ends with `/v1`"), "{error:?}");
}

#[tokio::test]
async fn spec_6_3_known_causes_are_reported_in_whatever_form_a_server_sends_them() {
    let no_tools =
        "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set";
    let answer = "'max_tokens' or 'max_completion_tokens' is too large: 65536. This model's maximum context length is \
        8192 tokens and your request has 300 input tokens";
    let vllm = |message: &str| json!({"object": "error", "message": message, "type": "BadRequestError", "param": null, "code": 400});
    let place = |place: &str| json!([{"type": "extra_forbidden", "loc": ["body", place], "msg": "Extra inputs are not permitted"}]);
    let both = "prompt and answer together";
    let said = |message: &str| json!({"error": {"message": message}});
    let detail = |detail: Value| json!({"detail": detail});
    let mut no_endpoint = said("No endpoints found that support tool use");
    no_endpoint["error"]["code"] = json!(404);
    for (status, body, hint) in [
        // vLLM, before and after it put the error into a field of its own.
        (400, vllm(TOO_LONG), LONGER),
        (400, json!({"error": vllm(TOO_LONG)}), LONGER),
        (400, vllm(no_tools), WITH_TOOLS),
        (400, vllm(answer), both),
        (400, said(answer), both),
        // FastAPI.
        (422, detail(place("tools")), WITH_TOOLS),
        (422, detail(place("max_tokens")), OTHER_FIELD),
        (400, detail(json!(TOO_LONG)), LONGER),
        (
            401,
            detail(json!("Unauthorized")),
            "does not accept the key",
        ),
        (404, detail(json!("Not Found")), "often ends with `/v1`"),
        (404, no_endpoint, WITH_TOOLS),
        (501, said("tools param requires --jinja flag"), WITH_TOOLS),
        (400, detail(json!({"message": TOO_LONG})), LONGER),
        // A body that is the error itself.
        (
            400,
            json!({"message": TOO_LONG, "code": "context_length_exceeded"}),
            LONGER,
        ),
    ] {
        let error = failure(ServerStep::status(status).with_body(body.to_string())).await;
        let is_rejected = matches!(error, ModelError::Rejected { .. });
        assert!(is_rejected, "{body}: {error:?}");
        let given = error.hint().unwrap_or_default();
        assert!(given.contains(hint), "{body}: {error:?}");
    }
    // With status 200 too.
    let error = failure(ServerStep::Reply(vllm(TOO_LONG))).await;
    let given = error.hint().unwrap_or_default();
    assert!(given.contains("longer than"), "{error:?}");
    let busy =
        json!({"object": "error", "message": WORDS, "type": "InternalServerError", "code": 503});
    let error = failure(ServerStep::Reply(busy)).await;
    assert_eq!(error, unavailable(Outage::Status(503)));
}

#[tokio::test]
async fn spec_5_1_what_a_provider_sends_as_a_code_or_a_type_may_be_the_key_and_is_dropped() {
    const KEY: &str = "sk-or-v1-0123456789abcdef";
    for body in [
        json!({"error": {"code": KEY}}),
        json!({"error": {"type": KEY, "status": KEY}}),
        json!({"type": KEY, "error": {"type": KEY}}),
    ] {
        for status in [200, 400, 401, 500] {
            let step = ServerStep::status(status).with_body(body.to_string());
            let error = failure(step).await;
            let told = format!("{error} {error:?} {:?}", error.hint());
            assert!(!told.contains(KEY), "{told}");
        }
    }
}

#[tokio::test]
async fn spec_6_3_error_bodies_of_every_shape_are_read() {
    for (body, expected) in [
        (
            json!({"error": {"code": "sk-or-v1-0123456789abcdef", "type": "server_error"}})
                .to_string(),
            "status 400 (`server_error`)",
        ),
        (
            json!({"error": {"code": 400, "type": "exceed_context_size_error"}}).to_string(),
            "(`exceed_context_size_error`)",
        ),
        (
            json!([{"error": {"code": 400, "status": "INVALID_ARGUMENT"}}]).to_string(),
            "(`INVALID_ARGUMENT`)",
        ),
        (
            json!({"type": "error", "error": {"type": "invalid_request_error"}}).to_string(),
            "(`invalid_request_error`)",
        ),
        (json!({"error": WORDS}).to_string(), "status 400"),
        (json!({"detail": WORDS}).to_string(), "status 400"),
        (WORDS.to_owned(), "status 400"),
        (String::new(), "status 400"),
    ] {
        let error = failure(ServerStep::status(400).with_body(body)).await;
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

#[tokio::test]
async fn spec_6_3_an_error_sent_with_status_200_is_classified_by_its_own_code() {
    let embedded = |error: Value| ServerStep::Reply(json!({"error": error}));
    let limited = ModelError::RateLimited { retry_after: None };
    let out = |status| unavailable(Outage::Status(status));
    for (error, expected) in [
        (json!({"code": 429, "message": WORDS}), limited.clone()),
        (json!({"type": "rate_limit_error"}), limited),
        (json!({"code": 502, "message": WORDS}), out(502)),
        (json!({"type": "overloaded_error"}), out(529)),
    ] {
        assert_eq!(failure(embedded(error)).await, expected);
    }
    let error = failure(embedded(json!({"code": 402, "message": WORDS}))).await;
    assert!(
        matches!(
            error,
            ModelError::Rejected {
                status: 402,
                code: None,
                class: FailureClass::Quota,
                hint: Some(_)
            }
        ),
        "{error:?}"
    );
    let error = failure(embedded(json!({"code": "content_filter"}))).await;
    assert!(
        error.is_retryable() && error.to_string().contains("(`content_filter`)"),
        "{error}"
    );
    let error = failure(embedded(json!(WORDS))).await;
    assert!(error.is_retryable(), "{error}");
    let choice =
        json!({"choices": [{"finish_reason": "error", "error": {"code": 503, "message": WORDS}}]});
    assert_eq!(failure(ServerStep::Reply(choice)).await, out(503));
}

#[tokio::test]
async fn spec_6_3_anthropic_overload_is_retryable() {
    let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": WORDS}});
    let server = ScriptedServer::start([
        ServerStep::status(529).with_body(body.to_string()),
        ServerStep::Reply(body),
    ]);
    for _ in 0..2 {
        let error = failure_of(ProviderKind::Anthropic, &server).await;
        assert_eq!(error, unavailable(Outage::Status(529)));
    }
}

#[tokio::test]
async fn spec_6_3_a_web_page_is_named_with_its_status_and_the_base_url_to_check() {
    for status in [200, 403, 404] {
        let error = failure(page(status, &format!("<html>{WORDS}</html>"))).await;
        assert_eq!(
            error.to_string(),
            format!("the answer is not one of a model: a web page (status {status}, `text/html`)")
        );
        assert!(!error.is_retryable() && error.hint().unwrap().contains("`base_url`"));
    }
    let unlabelled = ServerStep::Raw {
        status: 200,
        headers: vec![],
        body: b"\n<!doctype HTML><p>".to_vec(),
    };
    let error = failure(unlabelled).await;
    let told = "a web page (status 200, `no content type`)";
    assert!(error.to_string().ends_with(told), "{error}");
}

#[tokio::test]
async fn spec_6_3_answers_that_are_none_of_a_model_are_named() {
    let plain = |body: &str| ServerStep::status(200).with_body(body);
    let (no_choice, no_message) = ("there is no choice in it", "its choice has no message");
    let broken_off = "it was broken off";
    let choices = |choices: Value| ServerStep::Reply(json!({"choices": choices}));
    let stream = ServerStep::Raw {
        status: 200,
        headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
        body: b"data: {}\n\n".to_vec(),
    };
    let unasked = "a stream of events, though none was asked for";
    let cut = |reason: &str, message: Value| {
        choices(json!([{"message": message, "finish_reason": reason}]))
    };
    let call = json!({"id": "a", "function": {"name": "delete_memory", "arguments": "{}"}});
    let called = json!({"role": "assistant", "tool_calls": [call]});
    let none = json!({"role": "assistant", "content": null});
    let malformed = "function_call_filter: MALFORMED_FUNCTION_CALL";
    for (step, expected, retryable) in [
        (ServerStep::malformed(), "no valid JSON", true),
        (plain(""), "an empty body", true),
        (plain("[]"), "JSON, but no object", true),
        (plain("{}"), no_choice, true),
        (choices(json!([])), no_choice, true),
        (choices(json!([{}])), no_message, true),
        (choices(json!([{"message": WORDS}])), no_message, true),
        (cut("error", called.clone()), broken_off, true),
        (cut("abort", json!({"content": WORDS})), broken_off, true),
        (
            cut("insufficient_system_resource", called),
            broken_off,
            true,
        ),
        (cut(malformed, none), broken_off, true),
        (stream, unasked, false),
    ] {
        let error = failure(step).await;
        assert_eq!(
            error.to_string(),
            format!("the answer is not one of a model: {expected}")
        );
        assert_eq!(error.is_retryable(), retryable, "{expected}");
    }
    let server = ScriptedServer::start([ServerStep::Reply(json!({"role": "assistant"}))]);
    let error = failure_of(ProviderKind::Anthropic, &server).await;
    assert_eq!(
        error.to_string(),
        "the answer is not one of a model: it has no content"
    );
}

#[tokio::test]
async fn spec_6_3_redirects_are_not_followed() {
    let elsewhere = ScriptedServer::always(ServerStep::text("stolen"));
    for status in [301, 302, 303, 307, 308] {
        let error = failure(ServerStep::redirect(status, &elsewhere.base_url())).await;
        let told = format!("a redirect (status {status})");
        assert!(error.to_string().ends_with(&told), "{error}");
        assert!(!error.is_retryable() && error.hint().unwrap().contains("`base_url`"));
    }
    assert_eq!(elsewhere.received(), []);
}

#[tokio::test]
async fn spec_6_3_a_huge_answer_is_given_up_before_it_is_held() {
    let error = failure(ServerStep::status(200).with_body(vec![b' '; 8 * 1024 * 1024 + 1])).await;
    assert_eq!(
        error.to_string(),
        "the answer is not one of a model: more than 8388608 bytes"
    );
    assert!(!error.is_retryable());
    // Of a failure, the status decides.
    for status in [429, 503, 401] {
        let step = ServerStep::status(status).with_body(vec![b' '; 8 * 1024 * 1024 + 1]);
        let error = failure(step).await;
        assert_eq!(error.is_retryable(), status != 401, "{error:?}");
        let is_by_length = matches!(error, ModelError::BadAnswer { .. });
        assert!(!is_by_length, "{error:?}");
    }
}

#[tokio::test]
async fn spec_3_16_broken_connections_and_slow_servers_are_retryable() {
    for step in [ServerStep::CutConnection, ServerStep::Hangup] {
        assert_eq!(failure(step).await, unavailable(Outage::Cut));
    }
    let slow = failure(ServerStep::text("late").after(Duration::from_secs(20))).await;
    assert_eq!(slow, unavailable(Outage::Timeout));
    assert!(slow.is_retryable() && slow.hint().unwrap().contains("`request_timeout_seconds`"));

    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for base_url in [format!("http://{free}/v1"), format!("https://{free}/v1")] {
        let error = failure_at(base_url).await;
        assert_eq!(error, unavailable(Outage::NotListening(free.port())));
        assert!(error.is_not_running() && error.hint().unwrap().contains("start the server"));
    }
}

#[tokio::test]
async fn spec_3_16_a_server_that_drips_is_given_up_like_one_that_is_silent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // A byte at a time, each long before the connection would count as idle.
    let dripping = tokio::task::spawn_blocking(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // An answer that comes before the question is no answer: the client would drop it.
        let mut question = BufReader::new(stream.try_clone().unwrap()).lines();
        while question
            .next()
            .is_some_and(|line| !line.unwrap().is_empty())
        {}
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        (0..1_200)
            .take_while(|_| {
                std::thread::sleep(Duration::from_millis(50));
                stream.write_all(b" ").is_ok()
            })
            .count()
    });
    let error = failure_at(format!("http://{address}/v1")).await;
    assert_eq!(error, unavailable(Outage::Timeout));
    assert!(dripping.await.unwrap() < 1_200, "the connection was closed");
}

#[tokio::test]
async fn spec_3_16_past_the_script_the_server_fails_in_a_way_that_is_seen() {
    let server = ScriptedServer::start([]);
    let error = failure_of(ProviderKind::OpenAi, &server).await;
    assert_eq!(error, unavailable(Outage::Status(500)));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn spec_5_1_requests_and_replies_print_lengths_only() {
    let server = ScriptedServer::start([ServerStep::call("delete_memory", json!({"id": WORDS}))]);
    let request = request(vec![user(WORDS)], vec![]);
    let reply = ask(ProviderKind::OpenAi, &server, &request).await.unwrap();
    let text = format!("{request:?} {reply:?}");
    assert!(!text.contains(WORDS), "{text}");
}

/// A server with an unsigned certificate. `untrusted-key.der` is the key of that certificate and of nothing else.
fn untrusted_server() -> String {
    use rustls::pki_types::PrivatePkcs8KeyDer;
    let certificate = include_bytes!("untrusted-certificate.der").to_vec().into();
    let key = PrivatePkcs8KeyDer::from(include_bytes!("untrusted-key.der").to_vec()).into();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut session = rustls::ServerConnection::new(config.into()).unwrap();
        // Ends when the client turns away.
        while session.complete_io(&mut stream).is_ok() {}
    });
    format!("https://{address}/v1")
}

#[tokio::test]
async fn spec_6_3_a_server_with_a_certificate_of_its_own_making_is_refused_for_good() {
    let error = failure_at(untrusted_server()).await;
    assert_eq!(error.to_string(), "the server's certificate is not trusted");
    assert!(!error.is_retryable());
    assert_eq!(error.class(), FailureClass::Unreachable);
}
