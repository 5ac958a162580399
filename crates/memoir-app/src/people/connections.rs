//! Programs that are connected to an agent by OAuth 2.1: hosted clients of the Model Context Protocol, which hold
//! tokens of the agent that last minutes and renew them (SPEC 5.5).
//!
//! A connection is one row among the tokens of its agent, made when an administrator agrees to it. The condition is
//! that of every token that an administrator makes: the agent is not in use, or grants it for that program alone. It is
//! recorded, reported to the agent, and revoked like every other token.
//!
//! The client first holds a code, which is valid once and for a minute; then an access token for one resource, and a
//! refresh token that is exchanged for the next two. All begin with the same random bytes, by whose digest the row is
//! found; the row's document holds the digest of each valid one. Each exchange is written over the version of the row
//! that it was decided on. So of two exchanges with the same code or token one succeeds, through any processes. An
//! exchanged token that is presented again, or one of another connection, ends the connection: it was stolen. Exchanges
//! are not recorded. A whole row that is put back from before one is valid again, like a token from before its
//! revocation; only its use shows that.
//!
//! A client that registers itself is not stored (RFC 7591, A.5.2): its identifier is the sealed registration. So
//! registering fills no table, and an unused registration expires after a week.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use memoir_domain::{
    PrivateText, Timestamp, UserId,
    access::{AccessKind, AccessKindName, ConnectedClient},
    audit::Actor,
    view,
};
use memoir_store::TokenRow;
use memoir_vault::{
    AgentKey,
    seal::{SealContext, SealedRow},
    token::{self, ConnectionHandle, ConnectionPart, PresentedPart, TokenSecret},
};
use serde::{Deserialize, Serialize};
use url::{Host, Position, Url};

use crate::{
    core::{
        Account, AgentHandle, Memoir, Result, accounts::DEFAULT_ACCOUNT, again,
        codec::document::digest,
    },
    people::{
        Grants,
        access::{HeldToken, Principal, Provision, SignedInUser},
    },
    shown::AccessRequestFacts,
};

/// How long a code is valid.
// It goes through the address of a browser, where others may see it; OAuth recommends ten minutes
// at most (RFC 6749, 4.1.2).
const CODE_SECONDS: i64 = 60;
/// How long an access token is valid.
pub const ACCESS_SECONDS: i64 = 10 * 60;
/// How long a connection lasts without being used.
// The prompt of access requests states the same number in words (`prompt::access`).
const IDLE_DAYS: i64 = 30;
/// How long after its registration a client must be connected: as long as an agent may take to decide.
const UNUSED_DAYS: i64 = 7;
/// Most characters of a client's name.
pub const NAME_LIMIT: usize = 100;
/// Most addresses of a client.
pub const ADDRESSES_LIMIT: usize = 5;
/// Most characters of each.
const ADDRESS_LIMIT: usize = 500;

/// The scope that every token of a connection has: all that the agent can.
pub const SCOPE: &str = "agent";

/// The programs that can be connected, and the address of the service for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connecting {
    /// The service as clients reach it: scheme, host and port, without a slash at the end. It names the server that
    /// makes the tokens.
    pub address: String,
    /// Clients that the configuration names.
    pub clients: Vec<OAuthClient>,
    /// Whether clients may register themselves.
    pub takes_registrations: bool,
}

impl Connecting {
    /// The resource of all tokens: the MCP interface.
    pub fn resource(&self) -> String {
        format!("{}/mcp", self.address)
    }

    /// The host of the address.
    pub fn host(&self) -> Option<String> {
        let address = ClientAddress::parse(&self.address).ok()?;
        Some(address.host().trim_matches(['[', ']']).to_owned())
    }
}

/// A client of OAuth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthClient {
    /// The identifier.
    pub id: String,
    /// The name that it chose; 1 to [`NAME_LIMIT`] characters.
    pub name: String,
    /// The addresses for codes, 1 to [`ADDRESSES_LIMIT`].
    pub addresses: Vec<ClientAddress>,
    /// When it registered itself; `None` for one from the configuration.
    pub registered_at: Option<Timestamp>,
}

/// The target of a code: an HTTPS address, or one of the browser's own machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAddress {
    /// As it was given: parsing removes the default port, for example.
    text: String,
    url: Url,
}

impl ClientAddress {
    /// Parses an address.
    ///
    /// # Errors
    /// The reason why it is refused.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > ADDRESS_LIMIT {
            return Err("has more than 500 characters");
        }
        // Texts that programs parse differently, or that users read differently from browsers, are refused.
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}#".contains(&byte);
        if !text.bytes().all(is_plain) {
            return Err("has a fragment or a character that no address has");
        }
        let url = Url::parse(text).map_err(|_| "is no address with scheme and host")?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("has a user before its host");
        }
        // A browser reads `https:a`, `http://127.1` and `ex%61mple` too; the user who agrees must not have to.
        let host = url.host_str().unwrap_or_default();
        let begin = format!("{}://{host}", url.scheme());
        let is_as_read = |begun: &str| begun.eq_ignore_ascii_case(&begin);
        if !text.get(..begin.len()).is_some_and(is_as_read) || !text.starts_with(url.scheme()) {
            return Err("is not written as browsers show it");
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            _ => return Err("must be of `https`, or of `http` on loopback"),
        }
        let text = text.to_owned();
        Ok(Self { text, url })
    }

    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its host, in lower case and without the port.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Its scheme, its host, and its port where that is not the scheme's own.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Whether a code may be sent to `other` where this one is registered: equal to the letter. A program on the
    /// browser's machine may use another port (OAuth 2.1, 2.3.1; RFC 8252, 7.3): it takes a free one.
    fn is_for(&self, other: &Self) -> bool {
        // `parse` accepts `http` on loopback only, so it is enough that both use it.
        let is_near = self.url.scheme() == "http" && other.url.scheme() == "http";
        let behind = |one: &Self| one.url[Position::BeforePath..].to_owned();
        self.text == other.text
            || is_near && self.host() == other.host() && behind(self) == behind(other)
    }

    /// With these parameters behind it.
    pub fn with(&self, parameters: &[(&str, &str)]) -> String {
        let mut url = self.url.clone();
        url.query_pairs_mut().extend_pairs(parameters);
        url.into()
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl OAuthClient {
    /// The target of a code; `None` for an address that the client did not register.
    pub fn address(&self, text: &str) -> Option<ClientAddress> {
        let address = ClientAddress::parse(text).ok()?;
        let is_given = self.addresses.iter().any(|given| given.is_for(&address));
        is_given.then_some(address)
    }

    /// Whether it registered itself so long ago that it had to be connected by now.
    fn is_over(&self, now: Timestamp) -> bool {
        let since = self.registered_at;
        since.is_some_and(|at| !at.is_plausible_at(now) || at.plus_days(UNUSED_DAYS) <= now)
    }
}

/// A client's request to be connected to an agent of the user who agrees.
#[derive(Debug, Clone)]
pub struct ConnectionWish {
    /// The client.
    pub client: OAuthClient,
    /// The target of the code.
    pub address: ClientAddress,
    /// The challenge of the method S256 (RFC 7636).
    pub challenge: String,
    /// The resource of the tokens.
    pub resource: String,
}

impl ConnectionWish {
    /// The program, as it is shown.
    pub fn shown_client(&self) -> ConnectedClient<'_> {
        ConnectedClient {
            name: &self.client.name,
            host: self.address.host(),
        }
    }
}

/// Why a request is refused: an error of the client, with its OAuth code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GrantRefusal {
    /// The client is not registered, or its registration has expired.
    #[error("there is no such client, or its registration is over; register again")]
    Client,
    /// It is invalid, or not for that client.
    #[error(
        "the code or token is invalid: it was used before, has expired, was revoked, or is of another client, address or verifier; connect again"
    )]
    Grant,
    /// It is for another resource.
    #[error("the code or token is for another resource")]
    Target,
}

impl GrantRefusal {
    /// The code of OAuth (RFC 6749, 5.2; RFC 8707, 2).
    pub fn code(self) -> &'static str {
        match self {
            Self::Client => "invalid_client",
            Self::Grant => "invalid_grant",
            Self::Target => "invalid_target",
        }
    }
}

/// The response to a code or a token.
#[derive(Debug)]
pub struct Granted {
    /// The access token, valid for [`ACCESS_SECONDS`].
    pub access: TokenSecret,
    /// The token that is exchanged for the next two.
    pub refresh: TokenSecret,
}

/// The proof that a client presents with a code.
#[derive(Clone, Copy)]
pub struct CodeProof<'a> {
    /// The address that the code was sent to; `None` where the client omits it.
    pub address: Option<&'a str>,
    /// The verifier of the earlier challenge.
    pub verifier: &'a str,
}

view! {
    /// A connected program.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct ConnectionView from connection: &ConnectionDocument;
    /// The name that it chose.
    pub client: String = connection.client.clone(),
    /// The host that its code was sent to.
    pub host: String = connection.host.clone(),
    /// The administrator who connected it, by the name of then.
    pub connected_by: String = connection.connected_by.clone(),
    /// Whether it exchanged its code for tokens.
    pub is_connected: bool = matches!(connection.stage, Stage::Connected { .. }),
}

/// The data of a connection, beside that of every token.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ConnectionDocument {
    #[serde(with = "digest")]
    client_digest: [u8; 32],
    client: String,
    host: String,
    /// The user who connected it; it ends when the user is removed.
    user: UserId,
    connected_by: String,
    resource: String,
    stage: Stage,
}

/// The valid secrets of a connection.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    /// A code that was not exchanged yet.
    Code {
        #[serde(with = "digest")]
        code: [u8; 32],
        challenge: String,
        address: String,
    },
    Connected {
        #[serde(with = "digest")]
        access: [u8; 32],
        /// From when on the first opens nothing.
        access_expires_at: Timestamp,
        #[serde(with = "digest")]
        refresh: [u8; 32],
    },
}

impl ConnectionDocument {
    pub(crate) fn client(&self) -> ConnectedClient<'_> {
        ConnectedClient {
            name: &self.client,
            host: &self.host,
        }
    }
}

struct FoundConnection {
    row: TokenRow,
    name: Option<String>,
    token: HeldToken,
    connection: ConnectionDocument,
    key: AgentKey,
}

/// The sealed contents of a client's identifier.
#[derive(Serialize, Deserialize)]
struct RegisteredClient {
    name: String,
    addresses: Vec<String>,
    at: Timestamp,
}

const CLIENT_PREFIX: &str = "memoir-client_";
/// Longer texts are no identifiers.
// Five addresses of 500 characters and a name of 100, sealed and in Base64, stay below it.
const LONGEST_ID: usize = 8 << 10;
const CLIENT_PLACE: SealContext = SealContext {
    row: SealedRow::Client,
    version: 1,
};

impl Memoir {
    /// Registers a client. Nothing is stored: its identifier holds it all.
    ///
    /// # Errors
    /// The key store fails. The caller checks name and addresses before.
    pub async fn register_client(
        &self,
        name: &str,
        addresses: Vec<ClientAddress>,
    ) -> Result<OAuthClient> {
        let now = self.now();
        let registered = RegisteredClient {
            name: name.to_owned(),
            addresses: addresses
                .iter()
                // The address is kept as the client gave it, since it is later compared letter by letter.
                .map(|address| address.text.clone())
                .collect(),
            at: now,
        };
        // Texts and a time always make JSON.
        let plain = serde_json::to_vec(&registered).unwrap_or_default();
        // Under the key of one account for all: the account of the consenting administrator is not known yet.
        let account = self.account(DEFAULT_ACCOUNT).await?;
        let key = self.account_key(account.id()).await?;
        let sealed = key.seal(&CLIENT_PLACE, &[], &plain, self.sealer(&key).nonce()?);
        Ok(OAuthClient {
            id: format!("{CLIENT_PREFIX}{}", URL_SAFE_NO_PAD.encode(sealed)),
            name: registered.name,
            addresses,
            registered_at: Some(now),
        })
    }

    /// The client of that identifier; `None` where there is none.
    ///
    /// # Errors
    /// The key store fails.
    pub async fn client(&self, connecting: &Connecting, id: &str) -> Result<Option<OAuthClient>> {
        if let Some(named) = connecting.clients.iter().find(|client| client.id == id) {
            return Ok(Some(named.clone()));
        }
        let letters = id.strip_prefix(CLIENT_PREFIX);
        // The length is checked before anything is decoded: any caller may send an identifier of any length.
        let letters = letters.filter(|_| connecting.takes_registrations && id.len() <= LONGEST_ID);
        let sealed = letters.and_then(|letters| URL_SAFE_NO_PAD.decode(letters).ok());
        let Some(sealed) = sealed else {
            return Ok(None);
        };
        let account = self.account(DEFAULT_ACCOUNT).await?;
        let key = self.account_key(account.id()).await?;
        let Ok(plain) = key.open(&CLIENT_PLACE, &[], &sealed) else {
            return Ok(None);
        };
        let Ok(registered) = serde_json::from_slice::<RegisteredClient>(&plain) else {
            return Ok(None);
        };
        let addresses = registered.addresses.iter();
        let addresses: Result<_, _> = addresses.map(|text| ClientAddress::parse(text)).collect();
        Ok(addresses.ok().map(|addresses| OAuthClient {
            id: id.to_owned(),
            name: registered.name,
            addresses,
            registered_at: Some(registered.at),
        }))
    }

    /// Exchanges a code for the first two tokens of its connection.
    ///
    /// # Errors
    /// The store fails.
    pub async fn redeem_code(
        &self,
        client: &OAuthClient,
        presented: &str,
        proof: &CodeProof<'_>,
        resource: Option<&str>,
    ) -> Result<Result<Granted, GrantRefusal>> {
        self.exchange(
            client,
            ConnectionPart::Code,
            presented,
            resource,
            |stage, digest| {
                let Stage::Code {
                    code,
                    challenge,
                    address,
                } = stage
                else {
                    return false;
                };
                // These are digests and not secrets, so the time of the comparison does not help to guess one.
                code == digest
                    && token::fits_challenge(proof.verifier, challenge)
                    && proof.address.is_none_or(|given| given == address)
            },
        )
        .await
    }

    /// Exchanges a refresh token for the next two of its connection.
    ///
    /// # Errors
    /// The store fails.
    pub async fn refresh_connection(
        &self,
        client: &OAuthClient,
        presented: &str,
        resource: Option<&str>,
    ) -> Result<Result<Granted, GrantRefusal>> {
        let part = ConnectionPart::Refresh;
        let counts = |stage: &Stage, digest: &[u8; 32]| matches!(stage, Stage::Connected { refresh, .. } if refresh == digest);
        self.exchange(client, part, presented, resource, counts)
            .await
    }

    /// Exchanges a valid code or refresh token for the next two tokens. An invalid secret of a valid connection ends
    /// it.
    async fn exchange(
        &self,
        client: &OAuthClient,
        part: ConnectionPart,
        presented: &str,
        resource: Option<&str>,
        counts: impl Fn(&Stage, &[u8; 32]) -> bool,
    ) -> Result<Result<Granted, GrantRefusal>> {
        let Some(presented) = PresentedPart::read(part, presented) else {
            return Ok(Err(GrantRefusal::Grant));
        };
        again(|| async {
            let Some(found) = self.find_connection(&presented).await? else {
                // One whose registration has expired has to register again, not only to connect.
                return Ok(Err(match client.is_over(self.now()) {
                    true => GrantRefusal::Client,
                    false => GrantRefusal::Grant,
                }));
            };
            let (mut token, mut connection) = (found.token, found.connection);
            let is_of_client = connection.client_digest == token::digest_of_client(&client.id);
            // A client that never got its response presents the same again, and is ended too: it may be a thief.
            if !is_of_client || !counts(&connection.stage, &presented.digest) {
                tracing::warn!(token = %found.row.id, "a connection ended: an invalid code or token, or one of another client, was presented");
                self.revoke(found.row, &Actor::system()).await?;
                return Ok(Err(GrantRefusal::Grant));
            }
            // The right client presents a valid secret for a wrong resource: that is an error, and ends nothing.
            if resource.is_some_and(|resource| resource != connection.resource) {
                return Ok(Err(GrantRefusal::Target));
            }
            let handle = &presented.handle;
            let access = handle.secret(ConnectionPart::Access)?;
            let refresh = handle.secret(ConnectionPart::Refresh)?;
            let now = self.now();
            connection.stage = Stage::Connected {
                access: access.digest(),
                access_expires_at: now.plus_seconds(ACCESS_SECONDS),
                refresh: refresh.digest(),
            };
            token.open.connection = Some(connection);
            token.open.expires_at = Some(now.plus_days(IDLE_DAYS));
            token.version += 1;
            // Over the version that was read: of two simultaneous exchanges one conflicts, retries, and finds that it
            // was used.
            self.store.put_token(&token.row(&self.sealer(&found.key))?).await?;
            Ok(Ok(Granted { access, refresh }))
        })
        .await
    }

    /// The holder of a connection's token that is valid for that resource now; `None` otherwise. Its use is noted.
    ///
    /// # Errors
    /// The store fails.
    pub async fn enter_connected(
        &self,
        presented: &str,
        resource: &str,
    ) -> Result<Option<(Principal, Option<AgentHandle>)>> {
        let Some(presented) = PresentedPart::read(ConnectionPart::Access, presented) else {
            return Ok(None);
        };
        let Some(found) = self.find_connection(&presented).await? else {
            return Ok(None);
        };
        let now = self.now();
        let is_open = matches!(&found.connection.stage,
            Stage::Connected { access, access_expires_at, .. }
                if *access == presented.digest && *access_expires_at > now);
        if !is_open || found.connection.resource != resource {
            return Ok(None);
        }
        Ok(Some(self.admit(&found.row, found.name, found.key, now)))
    }

    /// Ends the connection of a presented token; other texts are ignored (RFC 7009).
    ///
    /// # Errors
    /// The store fails.
    pub async fn revoke_connection(
        &self,
        client: &OAuthClient,
        presented: &str,
    ) -> Result<Result<(), GrantRefusal>> {
        // No code: RFC 7009 is about tokens, and a code expires within a minute.
        let parts = [ConnectionPart::Refresh, ConnectionPart::Access];
        let mut read = parts.into_iter();
        let Some(presented) = read.find_map(|part| PresentedPart::read(part, presented)) else {
            return Ok(Ok(()));
        };
        let Some(found) = self.find_connection(&presented).await? else {
            return Ok(Ok(()));
        };
        // An error, and nothing is ended: another client must not end a connection after having read its token.
        if found.connection.client_digest != token::digest_of_client(&client.id) {
            return Ok(Err(GrantRefusal::Client));
        }
        // By the agent: the client acts as it does.
        let actor = Actor::agent(found.name.unwrap_or_default());
        self.revoke(found.row, &actor).await?;
        Ok(Ok(()))
    }

    /// The connection of a presented secret while it is valid: neither revoked nor expired, and the administrator who
    /// made it was not removed.
    async fn find_connection(&self, presented: &PresentedPart) -> Result<Option<FoundConnection>> {
        let digest = presented.handle.digest();
        let Some((row, name)) = self.store.bearer(&digest).await? else {
            return Ok(None);
        };
        let Some((token, key)) = self.believed_token(&row).await? else {
            return Ok(None);
        };
        let Some(connection) = token.open.connection.clone() else {
            return Ok(None);
        };
        let account = self.account_at(row.account);
        if !token.counts(self.now()) || account.present_user(connection.user).await?.is_none() {
            return Ok(None);
        }
        Ok(Some(FoundConnection {
            row,
            name,
            token,
            connection,
            key,
        }))
    }
}

impl Account {
    /// Whether the client may request consent from this account's administrators. A registration that is never used
    /// expires after a week, a used one lasts while a connection of it is valid.
    ///
    /// # Errors
    /// The store fails.
    pub async fn takes_client(&self, client: &OAuthClient) -> Result<bool> {
        let now = self.memoir.now();
        if !client.is_over(now) {
            return Ok(true);
        }
        let id = token::digest_of_client(&client.id);
        let rows = self.memoir.store.tokens(self.id).await?;
        let is_used = |row: &TokenRow| {
            // One that cannot be read is invalid.
            let token = HeldToken::read(row).ok().filter(|token| token.counts(now));
            let connection = token.and_then(|token| token.open.connection);
            connection.is_some_and(|connection| connection.client_digest == id)
        };
        Ok(rows.iter().any(is_used))
    }

    /// Ends the connections that a removed user made. One that cannot be ended keeps none of the others.
    pub(crate) async fn end_connections_of(&self, gone: UserId, actor: &Actor) -> Result<()> {
        let mut ended = Ok(());
        // Any that a crash leaves open nothing: `find_connection` checks the user each time.
        for row in self.memoir.store.tokens(self.id).await? {
            let token = HeldToken::read(&row).ok();
            let connection = token.and_then(|token| token.open.connection);
            if connection.is_some_and(|connection| connection.user == gone) {
                let revoked = self.memoir.revoke(row, actor).await;
                ended = ended.and(revoked.map(drop));
            }
        }
        ended
    }
}

impl Grants<'_> {
    /// Connects a program to the agent, under the same condition as for an administrator's token. Returns the code for
    /// the client's tokens, valid for a minute.
    ///
    /// # Errors
    /// [`Error::ConsentNeeded`](crate::core::Error::ConsentNeeded) where the agent is in use and has not granted this
    /// program; the store fails.
    pub async fn connect(self, wish: &ConnectionWish, by: &SignedInUser) -> Result<TokenSecret> {
        let handle = ConnectionHandle::generate()?;
        let code = handle.secret(ConnectionPart::Code)?;
        let scope = (self.scope.account, Some(self.scope.agent));
        let ends_at = self.memoir.now().plus_seconds(CODE_SECONDS);
        let digest = handle.digest();
        let mut token = self.memoir.new_token(scope, None, Some(ends_at), digest)?;
        token.open.connection = Some(ConnectionDocument {
            client_digest: token::digest_of_client(&wish.client.id),
            client: wish.client.name.clone(),
            host: wish.address.host().to_owned(),
            user: by.user.id,
            connected_by: by.user.name.clone(),
            resource: wish.resource.clone(),
            stage: Stage::Code {
                code: code.digest(),
                challenge: wish.challenge.clone(),
                address: wish.address.as_str().to_owned(),
            },
        });
        self.note_token(token, Provision::First, &by.actor())
            .await?;
        Ok(code)
    }

    /// Requests the agent's consent to connect that program, whose name and address are stated before the purpose.
    ///
    /// # Errors
    /// As for [`Grants::request_access`].
    pub async fn request_connection(
        self,
        client: &ConnectedClient<'_>,
        purpose: &PrivateText,
        actor: &Actor,
    ) -> Result<AccessRequestFacts> {
        let (client, introduction) = (client.recipient(), client.introduction());
        let kind = AccessKind::Connection { client };
        self.request_introduced(kind, &introduction, purpose, actor)
            .await
    }

    /// The request by `actor` to connect that program, while it waits or is granted.
    ///
    /// # Errors
    /// The store fails.
    pub async fn open_connection_request(
        self,
        client: &ConnectedClient<'_>,
        actor: &Actor,
    ) -> Result<Option<AccessRequestFacts>> {
        let introduction = client.introduction();
        let open = self.open_access().await?;
        Ok(open.into_iter().find(|request| {
            let is_own = request.kind == AccessKindName::Connection && request.asked_by == *actor;
            is_own && request.purpose.expose().starts_with(&introduction)
        }))
    }
}
