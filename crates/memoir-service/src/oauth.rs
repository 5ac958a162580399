//! OAuth 2.1 for `/mcp`, as the Model Context Protocol specifies it: metadata (RFC 9728, RFC 8414), registering clients
//! (RFC 7591), exchanging codes and tokens, and revoking them (RFC 7009). An administrator consents on a page of the
//! console; `connections.rs` of `memoir_app` stores the connections and has their conditions.
//!
//! Metadata describes these endpoints, as OAuth specifies, and not the description of `/v1`.
//!
//! They are off where the service has no address for clients ([`crate::ServiceOptions`]). Errors follow OAuth: a JSON
//! object with `error`. Neither they nor any log contain a code or a token.

use std::time::Instant;

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header, request::Parts},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use memoir_app::{
    ACCESS_SECONDS, ADDRESSES_LIMIT, ClientAddress, CodeProof, Connecting, Error, GrantRefusal,
    Granted, NAME_LIMIT, OAuthClient, SCOPE,
};
use memoir_domain::{mend, quote};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Problem, Service, host, limits, routes::sign_in};

/// The largest body of a client.
// A registration of five addresses is under 4 KiB, and a form with a client of the longest identifier under 10.
const MOST_BYTES: usize = 16 << 10;

pub(crate) const RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

pub(crate) fn routes(service: &Service) -> Router<Service> {
    if service.connecting.is_none() {
        return Router::new();
    }
    let guard = middleware::from_fn_with_state(service.clone(), admit);
    Router::new()
        // Both paths: clients first use the one with the path of the resource, and some the one without.
        .route("/.well-known/oauth-protected-resource", get(resource))
        .route(RESOURCE_PATH, get(resource))
        .route("/.well-known/oauth-authorization-server", get(server))
        .route("/oauth/register", post(register))
        .route("/oauth/token", post(token))
        .route("/oauth/revoke", post(revoke))
        .route_layer(guard)
}

/// Why a request is refused: the code of OAuth, and the fault.
#[derive(Debug)]
struct Refused {
    status: StatusCode,
    code: &'static str,
    description: String,
}

impl Refused {
    fn new(code: &'static str, description: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            code,
            description: description.into(),
        }
    }

    fn request(description: impl Into<String>) -> Self {
        Self::new("invalid_request", description)
    }
}

impl From<GrantRefusal> for Refused {
    fn from(refusal: GrantRefusal) -> Self {
        // RFC 6749, 5.2 sets these statuses.
        let status = match refusal {
            GrantRefusal::Client => StatusCode::UNAUTHORIZED,
            GrantRefusal::Grant | GrantRefusal::Target => StatusCode::BAD_REQUEST,
        };
        Self {
            status,
            code: refusal.code(),
            description: refusal.to_string(),
        }
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        let (status, description, _) = problem.into_parts();
        let code = match status.is_server_error() {
            true if status == StatusCode::SERVICE_UNAVAILABLE => "temporarily_unavailable",
            true => "server_error",
            false => "invalid_request",
        };
        Self {
            status,
            code,
            description,
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Problem::from(error).into()
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = json!({"error": self.code, "error_description": self.description});
        (self.status, axum::Json(body)).into_response()
    }
}

/// Refuses names of other sites, and too frequent requests: these endpoints need no token. Their responses are not
/// cached.
async fn admit(State(service): State<Service>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let passed = pass(&service, &parts);
    let response = match passed {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refused) => refused.into_response(),
    };
    // On refusals too: the response to a request with a code must not be cached either.
    ([(header::CACHE_CONTROL, "no-store")], response).into_response()
}

fn pass(service: &Service, parts: &Parts) -> Result<(), Refused> {
    // Before counting: a page of another site must not use up the visitor's own limit.
    host::check(parts, &service.options)?;
    let address = sign_in::address(service, parts);
    if service.strangers.admits(address, Instant::now()) {
        return Ok(());
    }
    Err(Refused {
        status: StatusCode::TOO_MANY_REQUESTS,
        code: "temporarily_unavailable",
        description: "too many questions come from this address; wait a second".to_owned(),
    })
}

/// # Errors
/// Programs are not connected here; these routes are then absent.
fn connecting(service: &Service) -> Result<&Connecting, Refused> {
    let connecting = service.connecting.as_ref();
    connecting.ok_or_else(|| Refused::request("programs are not connected here"))
}

/// The metadata of the resource (RFC 9728).
async fn resource(State(service): State<Service>) -> Result<axum::Json<Value>, Refused> {
    let connecting = connecting(&service)?;
    Ok(axum::Json(json!({
        "resource": connecting.resource(),
        "resource_name": "Memoir",
        "authorization_servers": [connecting.address],
        "bearer_methods_supported": ["header"],
        "scopes_supported": [SCOPE],
    })))
}

/// The metadata of the authorization server (RFC 8414).
async fn server(State(service): State<Service>) -> Result<axum::Json<Value>, Refused> {
    let connecting = connecting(&service)?;
    let address = &connecting.address;
    let mut metadata = json!({
        "issuer": address,
        "authorization_endpoint": format!("{address}/oauth/authorize"),
        "token_endpoint": format!("{address}/oauth/token"),
        "revocation_endpoint": format!("{address}/oauth/revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        // Clients run on machines of users and can keep no secret. The code verifier (PKCE) takes its place.
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "scopes_supported": [SCOPE],
    });
    if connecting.takes_registrations {
        metadata["registration_endpoint"] = format!("{address}/oauth/register").into();
    }
    Ok(axum::Json(metadata))
}

/// The metadata of a client; other fields are ignored (RFC 7591, 2).
#[derive(Deserialize)]
struct Registration {
    #[serde(default)]
    redirect_uris: Vec<String>,
    #[serde(default)]
    client_name: Option<String>,
    #[serde(default)]
    grant_types: Option<Vec<String>>,
    #[serde(default)]
    response_types: Option<Vec<String>>,
}

async fn register(State(service): State<Service>, request: Request) -> Result<Response, Refused> {
    if !connecting(&service)?.takes_registrations {
        let description = "clients do not register themselves here; an administrator names them";
        return Err(Refused {
            status: StatusCode::FORBIDDEN,
            ..Refused::new("access_denied", description)
        });
    }
    let body = body_of(&service, request).await?;
    let wrong = |description: String| Refused::new("invalid_client_metadata", description);
    let given: Registration = serde_json::from_str(&mend::json(&body))
        .map_err(|_| wrong("the body is no JSON object as RFC 7591 has it".to_owned()))?;
    let lacks = |given: &Option<Vec<String>>, name: &str| {
        given
            .as_ref()
            .is_some_and(|given| given.iter().all(|known| known != name))
    };
    if lacks(&given.grant_types, "authorization_code") || lacks(&given.response_types, "code") {
        let description = "only `authorization_code` and its `code` are given here";
        return Err(wrong(description.to_owned()));
    }
    let addresses = addresses(&given.redirect_uris)?;
    // The host names a client without a name.
    let host = addresses.first().map(|first| first.host().to_owned());
    let host = host.as_deref().unwrap_or_default();
    let name = given.client_name.as_deref().map(str::trim);
    let name = name.filter(|name| !name.is_empty()).unwrap_or(host);
    let length = name.chars().count();
    // The displayed name must be complete: one line, no invisible characters. By the escapes of a prompt: the agent is
    // asked about this very name. `<` is escaped there too and is harmless on a page, which escapes all text.
    let is_deceptive = quote::quote(&name.replace('<', "")).contains("\\u");
    if length > NAME_LIMIT || name.chars().any(char::is_control) || is_deceptive {
        let description = format!(
            "client_name: has {length} characters; at most {NAME_LIMIT} are allowed, without control and invisible characters"
        );
        return Err(wrong(description));
    }
    let client = service.memoir.register_client(name, addresses).await?;
    let seconds = client
        .registered_at
        .map_or(0, |at| at.microseconds() / 1_000_000);
    // RFC 7591, 3.2.1.
    let registered = json!({
        "client_id": client.id,
        "client_id_issued_at": seconds,
        "client_name": client.name,
        "redirect_uris": given.redirect_uris,
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": SCOPE,
    });
    Ok((StatusCode::CREATED, axum::Json(registered)).into_response())
}

fn addresses(given: &[String]) -> Result<Vec<ClientAddress>, Refused> {
    let wrong = |description: String| Refused::new("invalid_redirect_uri", description);
    if given.is_empty() || given.len() > ADDRESSES_LIMIT {
        let count = given.len();
        return Err(wrong(format!(
            "redirect_uris: are {count}; give 1 to {ADDRESSES_LIMIT}"
        )));
    }
    let parse = |text: &String| {
        ClientAddress::parse(text)
            .map_err(|problem| wrong(format!("redirect_uris: one of them {problem}")))
    };
    given.iter().map(parse).collect()
}

/// The parameters of a form, each once.
struct FormParameters(Vec<(String, String)>);

impl FormParameters {
    async fn read(service: &Service, request: Request) -> Result<Self, Refused> {
        let body = body_of(service, request).await?;
        let pairs: Vec<(String, String)> = serde_urlencoded::from_bytes(&body)
            .map_err(|_| Refused::request("the body is no form"))?;
        let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        // Of a repeated parameter, two programs on the way may take different values (RFC 6749, 3.1).
        if names.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(Refused::request("a parameter is given more than once"));
        }
        Ok(Self(pairs))
    }

    /// `None` where it was not sent, or is blank.
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    fn need(&self, name: &str) -> Result<&str, Refused> {
        self.get(name)
            .ok_or_else(|| Refused::request(format!("{name}: is missing")))
    }

    async fn client(&self, service: &Service) -> Result<OAuthClient, Refused> {
        let id = self.need("client_id")?;
        let found = service.memoir.client(connecting(service)?, id).await?;
        Ok(found.ok_or(GrantRefusal::Client)?)
    }
}

async fn body_of(service: &Service, request: Request) -> Result<axum::body::Bytes, Refused> {
    let (parts, body) = request.into_parts();
    let time = service.options.request_time;
    Ok(limits::body_within(MOST_BYTES, time, &parts.headers, body).await?)
}

/// Exchanges a code, or a client's refresh token (RFC 6749, 4.1.3 and 6).
async fn token(State(service): State<Service>, request: Request) -> Result<Response, Refused> {
    let given = FormParameters::read(&service, request).await?;
    let memoir = &service.memoir;
    let resource = given.get("resource");
    let granted = match given.need("grant_type")? {
        "authorization_code" => {
            let proof = CodeProof {
                address: given.get("redirect_uri"),
                verifier: given.need("code_verifier")?,
            };
            let (client, code) = (given.client(&service).await?, given.need("code")?);
            memoir.redeem_code(&client, code, &proof, resource).await?
        }
        "refresh_token" => {
            let client = given.client(&service).await?;
            let presented = given.need("refresh_token")?;
            memoir
                .refresh_connection(&client, presented, resource)
                .await?
        }
        _ => {
            let description = "only `authorization_code` and `refresh_token` are taken here";
            return Err(Refused::new("unsupported_grant_type", description));
        }
    };
    let Granted { access, refresh } = granted?;
    let body = json!({
        "access_token": access.expose(),
        "token_type": "Bearer",
        "expires_in": ACCESS_SECONDS,
        "refresh_token": refresh.expose(),
        "scope": SCOPE,
    });
    Ok(axum::Json(body).into_response())
}

/// Ends the connection of a client (RFC 7009). An unknown token is no error.
async fn revoke(State(service): State<Service>, request: Request) -> Result<StatusCode, Refused> {
    let given = FormParameters::read(&service, request).await?;
    let client = given.client(&service).await?;
    let presented = given.need("token")?;
    let memoir = &service.memoir;
    memoir.revoke_connection(&client, presented).await??;
    Ok(StatusCode::OK)
}
