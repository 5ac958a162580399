//! `/v1/agents/{agent}/tokens`

use serde_json::{Value, json};

use crate::installation::{Installation, fault};

#[tokio::test]
async fn spec_5_5_an_administrator_makes_tokens_until_the_agent_has_memories() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    admin.created("/v1/agents", json!({"name": "wren"})).await;
    // The report of an administrator's setting gives it no memories of its own.
    let model = json!({"model": "builtin:careful"});
    admin.patch("/v1/agents/wren", &model).await.expect(200);
    let path = "/v1/agents/wren/tokens";
    let made = admin.created(path, Value::Null).await;
    let own = installation.made(&made);
    let number = own.save("wren", "Mine.").await;
    admin.act(path).await.refused(403, "consent_required");
    let discard = format!("/v1/agents/wren/memories/{number}/discard");
    admin.acted(&discard).await;
    admin.act(path).await.refused(403, "consent_required");
    let later = json!({"expires_at": "2027-01-01T00:00:00Z"});
    let further = installation.made(&own.created(path, later).await);
    further.shown("/v1/agents/wren").await;
    let past = json!({"expires_at": "2020-01-01"});
    fault(&own.post(path, past).await);
    // It ends, and makes none that ends later.
    let made = further.created(path, Value::Null).await;
    assert_eq!(made["expires_at"], "2027-01-01T00:00:00Z");
    let longer = json!({"expires_at": "2027-01-01T00:00:01Z"});
    fault(&further.post(path, longer).await);
}
