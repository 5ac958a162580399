//! What a handle and an account give by themselves of a record has no field for a word.

use memoir_app::{Account, AgentHandle, RecordFilter, RecordOrder};

pub async fn read(account: &Account, agent: &AgentHandle) -> memoir_app::Result<()> {
    let query = RecordFilter::default();
    for record in agent.views().search_records(&query, None, 10).await? {
        let _ = record.before;
        let _ = record.after;
        let _ = record.words;
    }
    let order = RecordOrder::OldestFirst;
    for (_, record) in account.record_page(&query, order, None, 10).await? {
        let _ = record.words;
    }
    Ok(())
}

fn main() {}
