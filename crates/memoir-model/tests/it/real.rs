//! A real model behind a real server, if there is one: `MEMOIR_TEST_BASE_URL=http://127.0.0.1:8080/v1
//! MEMOIR_TEST_MODEL=any cargo test -p memoir-model -- --ignored --nocapture`

use std::collections::BTreeMap;

use memoir_domain::PrivateText;
use memoir_model::{ModelMessage, ProviderSettings, Providers};

use super::{delete_tool, request, user};

#[tokio::test]
#[ignore = "needs a real model"]
async fn spec_6_3_a_real_model_talks_and_takes_results() {
    let settings = ProviderSettings {
        base_url: Some(std::env::var("MEMOIR_TEST_BASE_URL").unwrap()),
        ..ProviderSettings::default()
    };
    let name = std::env::var("MEMOIR_TEST_MODEL").unwrap_or("any".to_owned());
    let providers = Providers::new(BTreeMap::from([("real".to_owned(), settings)])).unwrap();
    let model = providers
        .connect(&format!("real:{name}").parse().unwrap())
        .unwrap();
    let mut request = request(
        vec![user("Delete memory 17, then memory 18.")],
        vec![delete_tool()],
    );
    request.max_output_tokens = 200;
    for turn in 0..4 {
        let reply = match model.complete(&request).await {
            Ok(reply) => reply,
            Err(error) => panic!("turn {turn}: {error}; {:?}", error.hint()),
        };
        println!(
            "turn {turn}: {:?} {:?} {} calls",
            reply.finish,
            reply.usage,
            reply.tool_calls.len()
        );
        request
            .messages
            .push(ModelMessage::Assistant(reply.message));
        if reply.tool_calls.is_empty() {
            request.messages.push(user("Go on."));
        }
        for call in reply.tool_calls {
            request.messages.push(ModelMessage::ToolResult {
                call_id: call.id,
                content: PrivateText::new("{\"type\":\"deleted\",\"number\":17}"),
            });
        }
    }
}
