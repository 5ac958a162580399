//! What a turn used where the provider does not say.

use serde_json::Value;

use crate::TokenUsage;

/// Characters / 4, of the request as sent and of the message as received. Their JSON counts too,
/// since tool definitions and calls are read and written as such.
pub(crate) fn estimated(request: &Value, message: &Value) -> TokenUsage {
    let tokens = |value: &Value| (value.to_string().chars().count() as u64).div_ceil(4);
    TokenUsage {
        input_tokens: tokens(request),
        output_tokens: tokens(message),
        measured: false,
    }
}
