//! Neither an account nor an installation gives what is an agent's.

use memoir_app::{Account, Memoir, RecordFilter};

pub async fn read_all(memoir: &Memoir, account: &Account) {
    let _ = account.memories(true).await;
    let _ = account.records(&RecordFilter::default()).await;
    let _ = account.export().await;
    let _ = memoir.memories(true).await;
    let _ = memoir.records(&RecordFilter::default()).await;
    let _ = memoir.export().await;
}

fn main() {}
