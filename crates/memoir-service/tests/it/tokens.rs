//! `/v1/agents/{agent}/tokens`

use serde_json::{Value, json};

use crate::installation::Installation;

#[tokio::test]
async fn spec_5_5_an_administrator_makes_tokens_until_the_agent_has_memories() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    installation
        .created("/v1/agents", &administrator, json!({"name": "wren"}))
        .await;
    // The report of an administrator's setting gives it no memories of its own.
    let model = json!({"model": "builtin:careful"});
    installation
        .send("PATCH", "/v1/agents/wren", &administrator, &model)
        .await
        .expect(200);
    let path = "/v1/agents/wren/tokens";
    let made = installation
        .created(path, &administrator, Value::Null)
        .await;
    let own = made["token"].as_str().unwrap();
    let number = installation.save("wren", own, "Mine.").await;
    installation
        .post(path, &administrator, Value::Null)
        .await
        .refused(403, "consent_required");
    let discard = format!("/v1/agents/wren/memories/{number}/discard");
    installation.acted(&discard, &administrator).await;
    installation
        .post(path, &administrator, Value::Null)
        .await
        .refused(403, "consent_required");
    let further = installation
        .created(path, own, json!({"expires_at": "2027-01-01T00:00:00Z"}))
        .await;
    installation
        .shown("/v1/agents/wren", further["token"].as_str().unwrap())
        .await;
    installation
        .post(path, own, json!({"expires_at": "2020-01-01"}))
        .await
        .refused(400, "invalid_argument");
}
