//! What requests with an idempotency key were answered. Answers may hold an agent's words: they are kept
//! sealed.

use memoir_domain::{AccountId, AgentId, AgentScope, Timestamp, text::Digester};
use memoir_store::ReplyRow;
use memoir_vault::{AgentKey, seal::SealedRow};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Memoir, Result,
    codec::{
        Sealer,
        document::{self, digest},
    },
};

/// How long answers are kept.
// Longer than a client tries again; the answers are words, and are not to lie about.
const KEPT_DAYS: i64 = 2;

/// A request with an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyKey {
    /// The tenant.
    pub account: AccountId,
    /// The agent that asks; `None` for an administrator.
    pub agent: Option<AgentId>,
    /// The digest of whoever asks and the key.
    pub key_digest: [u8; 32],
    /// The digest of the request; it is kept under a key.
    pub request_digest: [u8; 32],
}

/// What is known of a request with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptReply {
    /// The key was not used before: the request is to be carried out. It came at that time.
    New(Timestamp),
    /// The key was used for another request.
    OtherRequest,
    /// It was begun, and nobody knows what came of it.
    Unknown,
    /// It was answered so.
    Answer {
        /// The status.
        status: u16,
        /// The body.
        body: Vec<u8>,
    },
}

impl Memoir {
    /// Notes that a request is about to be carried out, unless something is known of it.
    ///
    /// # Errors
    /// The store fails.
    pub async fn begin_reply(&self, key: &ReplyKey) -> Result<KeptReply> {
        self.keys.check_there()?;
        // The digest of the request is keyed with it: a request holds words, and a plain digest of
        // a short one could be guessed from the database.
        let sealing = self.reply_key(key).await?;
        let request_digest = Digester::new(sealing.digest_key()).request(&key.request_digest);
        let row = ReplyRow {
            account: key.account,
            key_digest: key.key_digest,
            request_digest,
            recorded_at: self.now(),
            answer: None,
        };
        let Some(kept) = self.store.begin_reply(&row).await? else {
            return Ok(KeptReply::New(row.recorded_at));
        };
        if kept.request_digest != request_digest {
            return Ok(KeptReply::OtherRequest);
        }
        let Some(kept) = kept.answer else {
            // Whoever made the request died, or is still at it. It is not carried out again: what
            // it did may have been done.
            return Ok(KeptReply::Unknown);
        };
        let body = document::open_private(&sealing, row_of(key), &kept)?;
        let answer: KeptAnswer = document::read(row_of(key), &kept.open)?;
        let asked = (key.key_digest, key.request_digest);
        // The row is found by columns that nobody has sealed; what is sealed says once more which
        // request it answers.
        let answered = (answer.key_digest, answer.request_digest);
        document::check_columns(row_of(key), kept.version, &asked, &answered)?;
        Ok(KeptReply::Answer {
            status: answer.status,
            body: body.to_vec(),
        })
    }

    /// Notes what a request was answered; `None` lets it be made again. Nothing is kept of the answer where words were
    /// shredded or erased in the account since the request came at `came_at`, since it may hold them; `None` keeps one
    /// that holds no words.
    ///
    /// # Errors
    /// The store fails.
    pub async fn end_reply(
        &self,
        key: &ReplyKey,
        came_at: Option<Timestamp>,
        answer: Option<(u16, Vec<u8>)>,
    ) -> Result<()> {
        let answer = match answer {
            None => None,
            Some((status, body)) => {
                let sealer = Sealer {
                    key: &self.reply_key(key).await?,
                    random: self.random.as_ref(),
                };
                let answer = KeptAnswer {
                    status,
                    key_digest: key.key_digest,
                    request_digest: key.request_digest,
                };
                Some(sealer.document_of(row_of(key), ONLY_VERSION, &answer, &body)?)
            }
        };
        let store = &self.store;
        Ok(store
            .end_reply(key.account, &key.key_digest, came_at, answer)
            .await?)
    }

    /// Forgets answers that are old enough that nobody asks again.
    ///
    /// # Errors
    /// The store fails.
    pub async fn forget_replies(&self) -> Result<()> {
        let before = self.now().plus_days(-KEPT_DAYS);
        Ok(self.store.forget_replies(before).await?)
    }

    /// What answers are sealed with: an agent's with its own key, so that they go with it.
    async fn reply_key(&self, key: &ReplyKey) -> Result<AgentKey> {
        let account = key.account;
        match key.agent {
            None => self.account_key(account).await,
            Some(agent) => {
                let own = self.keys.of(AgentScope { account, agent }).await?;
                own.ok_or_else(|| Error::NoKey(agent.to_string()))
            }
        }
    }

    /// The account's key, for what is no agent's: that of an agent that nobody can be.
    pub(crate) async fn account_key(&self, account: AccountId) -> Result<AgentKey> {
        let scope = AgentScope {
            account,
            agent: AgentId::from_bytes([0; 16]),
        };
        match self.keys.of(scope).await? {
            Some(key) => Ok(key),
            // With the first use: an account is made without one.
            None => self.keys.create(scope, self.now()).await,
        }
    }
}

/// Answers are written once.
const ONLY_VERSION: u64 = 1;

/// What an answer says in the open. Its body is sealed as it is.
#[derive(Serialize, Deserialize)]
struct KeptAnswer {
    status: u16,
    #[serde(with = "digest")]
    key_digest: [u8; 32],
    #[serde(with = "digest")]
    request_digest: [u8; 32],
}

fn row_of(key: &ReplyKey) -> SealedRow {
    let mut row = [0; 16];
    // A name for the seal; the document holds both digests in full, and they are compared.
    row.copy_from_slice(&key.key_digest[..16]);
    SealedRow::Reply(row)
}
