//! Tokens and administrators with names (SPEC 5.5).

use std::time::Duration;

use memoir_app::{
    Account, Error, Handling, Memoir, Principal, Provision, TokenView, TokenWithSecret,
};
use memoir_domain::{Timestamp, audit::Actor};
use memoir_testkit::{InstallationFolder, input};
use memoir_vault::password::Password;

use crate::installation::{OWNER, agent_of, handle_by, new_folder, person, save_by};

struct Site {
    folder: InstallationFolder,
    memoir: Memoir,
    account: Account,
    agent: memoir_app::OwnAgent,
}

impl Site {
    async fn new() -> Self {
        let folder = new_folder();
        let memoir = folder.open().memoir;
        let agent = agent_of(&memoir, "wren").await;
        let account = memoir.account("default").await.unwrap();
        Self {
            folder,
            memoir,
            account,
            agent,
        }
    }

    async fn first(&self) -> TokenWithSecret {
        let made = self.made(Provision::First, None, &person()).await;
        made.unwrap()
    }

    /// A token that the agent makes itself.
    async fn another(&self) -> TokenWithSecret {
        let actor = Actor::agent("wren");
        self.made(Provision::Any, None, &actor).await.unwrap()
    }

    async fn made(
        &self,
        provision: Provision,
        end: Option<Timestamp>,
        actor: &Actor,
    ) -> Result<TokenWithSecret, Error> {
        let grants = self.agent.grants();
        grants.create_token(provision, end, actor).await
    }

    async fn enters(&self, token: &TokenWithSecret) -> Option<Principal> {
        self.memoir
            .authenticate(token.secret.expose())
            .await
            .unwrap()
    }

    async fn revoke(&self, token: &TokenWithSecret) -> TokenView {
        let (id, actor) = (token.view.id, person());
        self.account.revoke_token(id, &actor).await.unwrap()
    }

    fn in_hours(&self, hours: i64) -> Timestamp {
        self.folder.now().plus_microseconds(hours * 3_600_000_000)
    }

    async fn actions(&self) -> Vec<String> {
        let records = self
            .agent
            .lens()
            .records(&memoir_app::RecordFilter::default())
            .await;
        let records = records.unwrap();
        records
            .iter()
            .map(|record| record.action.as_str().to_owned())
            .collect()
    }
}

#[tokio::test]
async fn spec_5_5_an_administrator_makes_the_first_token_and_replaces_it_while_it_was_not_used() {
    use memoir_domain::{agent::Field, audit::Actor};
    let refused = async |site: &Site| {
        let made = site.made(Provision::First, None, &person()).await;
        matches!(made, Err(Error::ConsentNeeded(_)))
    };
    let revoke = async |site: &Site, token: &TokenWithSecret| {
        site.agent
            .grants()
            .revoke_token(token.view.id, &person())
            .await
            .unwrap();
    };
    // Only the agent can make a second one beside it.
    let site = Site::new().await;
    let first = site.first().await;
    assert!(refused(&site).await);
    revoke(&site, &first).await;
    let second = site.first().await;
    revoke(&site, &second).await;
    // An administrator's settings are not the agent's text.
    let agent = &site.agent;
    let configure = async |prompt, actor: Actor| {
        let prompt = [(Field::SystemPrompt, Some(prompt))];
        agent.settings().configure(&prompt, &actor).await.unwrap();
    };
    configure("Be brief.", person()).await;
    let third = site.first().await;
    revoke(&site, &third).await;
    // Once the agent has written a prompt, the holder of a new token could read it: in the record too, where an
    // administrator has set another one since.
    configure("I keep secrets.", Actor::agent("wren")).await;
    assert!(refused(&site).await);
    configure("Be brief.", person()).await;
    assert!(refused(&site).await);
    let site = Site::new().await;
    save_by(&site.agent, &[input("One.")], &person()).await;
    assert!(refused(&site).await);
}

#[tokio::test]
async fn spec_5_5_an_administrator_makes_tokens_only_while_there_were_never_memories() {
    let site = Site::new().await;
    let first = site.first().await;
    let second = site.another().await;
    for token in [&first, &second] {
        let principal = site.enters(token).await.unwrap();
        assert_eq!(principal.agent, Some(site.agent.scope().agent));
        assert_eq!(principal.account, site.agent.scope().account);
    }
    save_by(&site.agent, &[input("One.")], &person()).await;
    let refused = async |provision| {
        let made = site.made(provision, None, &person()).await;
        matches!(made, Err(Error::ConsentNeeded(_)))
    };
    assert!(refused(Provision::First).await);
    // A discarded memory was a memory too, and is kept.
    let number = memoir_domain::memory::Number(1);
    handle_by(&site.agent, number, Handling::Discard, &person()).await;
    assert!(refused(Provision::First).await);
    assert!(
        !refused(Provision::Any).await,
        "the agent itself can at any time"
    );
}

#[tokio::test]
async fn spec_5_5_a_refused_token_is_nowhere() {
    let site = Site::new().await;
    save_by(&site.agent, &[input("One.")], &person()).await;
    let made = site.made(Provision::First, None, &person()).await;
    assert!(made.is_err());
    assert_eq!(site.account.tokens().await.unwrap(), []);
    assert_eq!(site.actions().await, ["agent_configured", "memory_saved"]);
}

#[tokio::test]
async fn spec_5_5_a_token_opens_nothing_from_its_end_on() {
    let site = Site::new().await;
    let end = Some(site.in_hours(1));
    let of_agent = site.made(Provision::Any, end, &person()).await.unwrap();
    let of_administrator = site.account.create_token(end, &OWNER).await.unwrap();
    site.folder.clock.advance(Duration::from_secs(3_599));
    assert!(site.enters(&of_agent).await.is_some());
    assert!(site.enters(&of_administrator).await.is_some());
    site.folder.clock.advance(Duration::from_secs(1));
    assert!(site.enters(&of_agent).await.is_none());
    assert!(site.enters(&of_administrator).await.is_none());
}

#[tokio::test]
async fn spec_5_5_a_token_that_an_agent_makes_outlasts_none_that_makes_it() {
    let site = Site::new().await;
    let me = Actor::agent("wren");
    let end = site.in_hours(1);
    let maker = site.made(Provision::Any, Some(end), &OWNER).await.unwrap();
    let own = Provision::Own(maker.view.id);
    let made = site.made(own, None, &me).await.unwrap();
    assert_eq!(made.view.expires_at, Some(end), "its maker's end");
    let earlier = end.plus_seconds(-60);
    let made = site.made(own, Some(earlier), &me).await.unwrap();
    assert_eq!(made.view.expires_at, Some(earlier));
    let later = site.made(own, Some(site.in_hours(2)), &me).await;
    let refused = later.unwrap_err();
    assert_eq!(refused.code(), "invalid_argument");
    assert!(refused.to_string().contains(&end.to_string()), "{refused}");
    assert_eq!(site.account.tokens().await.unwrap().len(), 3);
    // One that never ends makes any.
    let maker = site.another().await.view.id;
    let made = site.made(Provision::Own(maker), Some(end), &me).await;
    assert_eq!(made.unwrap().view.expires_at, Some(end));
    let made = site.made(Provision::Own(maker), None, &me).await;
    assert_eq!(made.unwrap().view.expires_at, None);
}

#[tokio::test]
async fn spec_5_5_a_token_that_ends_in_the_past_is_not_made() {
    let site = Site::new().await;
    let past = Some(site.in_hours(0));
    assert!(matches!(
        site.account.create_token(past, &OWNER).await,
        Err(Error::Invalid(_))
    ));
    let made = site.made(Provision::Any, past, &person()).await;
    assert!(matches!(made, Err(Error::Invalid(_))));
}

#[tokio::test]
async fn spec_5_5_a_revoked_token_opens_nothing_at_once_in_every_process() {
    let site = Site::new().await;
    let other = site.folder.open().memoir;
    let of_agent = site.first().await;
    let of_administrator = site.account.create_token(None, &OWNER).await.unwrap();
    for token in [&of_agent, &of_administrator] {
        let secret = token.secret.expose();
        assert!(other.authenticate(secret).await.unwrap().is_some());
        let revoked = site.revoke(token).await;
        assert_eq!(revoked.revoked_at, Some(site.folder.now()));
        assert!(site.enters(token).await.is_none());
        assert!(other.authenticate(secret).await.unwrap().is_none());
        site.folder.pass_a_minute();
        let again = site.revoke(token).await;
        assert_eq!(
            again.revoked_at, revoked.revoked_at,
            "it is no error, and changes nothing"
        );
    }
    let actions = site.actions().await;
    assert_eq!(
        actions
            .iter()
            .filter(|action| *action == "token_revoked")
            .count(),
        2,
        "the repetition is on the record"
    );
}

#[tokio::test]
async fn spec_5_5_tokens_are_on_the_record_of_their_agent_and_the_log_verifies() {
    let site = Site::new().await;
    let token = site.first().await;
    let own = Actor::agent("wren");
    site.made(Provision::Any, None, &own).await.unwrap();
    site.account
        .revoke_token(token.view.id, &own)
        .await
        .unwrap();
    assert_eq!(
        site.actions().await,
        [
            "agent_configured",
            "token_created",
            "token_created",
            "token_revoked"
        ]
    );
    let records = site
        .agent
        .lens()
        .records(&memoir_app::RecordFilter::default())
        .await
        .unwrap();
    let text = serde_json::to_string(&records).unwrap();
    assert!(text.contains(&token.view.id.to_string()));
    assert!(!text.contains(token.secret.expose()));
    let verified = site.agent.log().verify().await.unwrap();
    assert!(verified.valid, "{verified:?}");
}

#[tokio::test]
async fn spec_5_5_uses_are_written_together_and_never_go_back() {
    let site = Site::new().await;
    let (one, other) = (site.first().await, site.another().await);
    let beside = site.folder.open().account("default").await;
    let used = async || {
        let tokens = beside.tokens().await.unwrap();
        let of = |token: &TokenWithSecret| {
            let found = tokens.iter().find(|view| view.id == token.view.id);
            found.unwrap().last_used_at
        };
        (of(&one), of(&other))
    };
    site.enters(&one).await.unwrap();
    site.enters(&other).await.unwrap();
    assert_eq!(used().await, (None, None), "a request does not wait for it");
    let early = site.folder.now();
    // The process that was called knows.
    let own = site.account.tokens().await.unwrap();
    assert!(own.iter().all(|token| token.last_used_at == Some(early)));
    site.memoir.write_uses().await.unwrap();
    assert_eq!(used().await, (Some(early), Some(early)));

    // A process that writes its uses late.
    let late = site.folder.open().memoir;
    late.authenticate(one.secret.expose())
        .await
        .unwrap()
        .unwrap();
    site.folder.pass_a_minute();
    site.enters(&one).await.unwrap();
    let now = site.folder.now();
    site.memoir.write_uses().await.unwrap();
    late.write_uses().await.unwrap();
    assert_eq!(used().await, (Some(now), Some(early)));
    // Revoking it reverts no use either.
    site.revoke(&one).await;
    assert_eq!(used().await.0, Some(now));
}

#[tokio::test]
async fn spec_5_5_what_is_no_token_opens_nothing_and_leaves_no_trace() {
    let site = Site::new().await;
    let token = site.first().await;
    let secret = token.secret.expose();
    let cut = &secret[..secret.len() - 1];
    let longer = format!("{secret}A");
    let id = token.view.id.to_string();
    for wrong in [
        "",
        "memoir_",
        cut,
        &longer,
        &secret.to_lowercase(),
        &id,
        "memoir_\0",
        " ",
    ] {
        assert!(site.memoir.authenticate(wrong).await.unwrap().is_none());
    }
    site.memoir.write_uses().await.unwrap();
    assert_eq!(site.account.tokens().await.unwrap()[0].last_used_at, None);
}

#[tokio::test]
async fn spec_5_5_the_files_hold_digests_of_tokens_and_no_password_or_its_hash() {
    const PASSWORD: &str = "a goldfinch at the window";
    let site = Site::new().await;
    let mut secrets = vec![PASSWORD.to_owned(), "argon2id".to_owned()];
    for token in [
        site.first().await,
        site.account.create_token(None, &OWNER).await.unwrap(),
    ] {
        site.enters(&token).await.unwrap();
        secrets.push(token.secret.expose().to_owned());
    }
    site.memoir.write_uses().await.unwrap();
    let password = Password::from_text(PASSWORD).unwrap();
    site.account
        .create_user("Ada", password, &OWNER)
        .await
        .unwrap();
    for file in std::fs::read_dir(site.folder.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for secret in &secrets {
            // Without the common prefix of tokens.
            let secret = secret.trim_start_matches("memoir_").as_bytes();
            let found = bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!found, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn spec_5_5_tokens_of_one_account_are_not_those_of_another() {
    let site = Site::new().await;
    site.memoir.create_account("lab", &OWNER).await.unwrap();
    let theirs = site.memoir.account("lab").await.unwrap();
    let token = site.first().await;
    assert_eq!(theirs.tokens().await.unwrap(), []);
    let revoked = theirs.revoke_token(token.view.id, &person()).await;
    assert!(matches!(revoked, Err(Error::NoToken(_))));
    assert!(site.enters(&token).await.is_some());
}

#[tokio::test]
async fn spec_5_6_tokens_of_one_agent_are_not_those_of_another() {
    let site = Site::new().await;
    let other = agent_of(&site.memoir, "owl").await;
    let token = site.first().await;
    site.account.create_token(None, &OWNER).await.unwrap();
    let own = site.agent.grants().tokens().await.unwrap();
    assert_eq!(own, std::slice::from_ref(&token.view));
    assert_eq!(other.grants().tokens().await.unwrap(), []);
    let revoked = other.grants().revoke_token(token.view.id, &person()).await;
    assert!(matches!(revoked, Err(Error::NoToken(_))));
    assert!(site.enters(&token).await.is_some());
    let revoke = async || {
        let revoked = site
            .agent
            .grants()
            .revoke_token(token.view.id, &person())
            .await;
        revoked.unwrap().revoked_at
    };
    let at = revoke().await;
    assert!(at.is_some());
    assert!(site.enters(&token).await.is_none());
    // Repeating it is no error, and the end does not change.
    assert_eq!(revoke().await, at);
    assert!(site.agent.log().verify().await.unwrap().valid);
}

#[tokio::test]
async fn spec_5_4_the_tokens_of_an_erased_agent_open_nothing() {
    let site = Site::new().await;
    let token = site.first().await;
    site.agent.log().erase(&person()).await.unwrap();
    assert!(site.enters(&token).await.is_none());
    let revoked = site.revoke(&token).await;
    assert!(revoked.revoked_at.is_some());
}

#[tokio::test]
async fn spec_5_5_an_administrator_has_a_name_of_its_own_and_a_password() {
    let site = Site::new().await;
    let right = || Password::from_text("correct horse battery").unwrap();
    let wrong = || Password::from_text("correct horse batterx").unwrap();
    assert!(!site.memoir.has_users().await.unwrap());
    let ada = site.account.create_user(" Ada ", right(), &OWNER).await;
    let ada = ada.unwrap();
    assert_eq!(ada.name, "Ada");
    assert!(site.memoir.has_users().await.unwrap());
    for taken in ["Ada", "ADA", "ada "] {
        let made = site.account.create_user(taken, wrong(), &OWNER).await;
        assert!(matches!(made, Err(Error::NameTaken(_))), "{taken}");
    }
    for name in ["Ada", " ada ", "ADA"] {
        assert!(
            site.account
                .with_password(name, right())
                .await
                .unwrap()
                .is_some()
        );
        assert!(
            site.account
                .with_password(name, wrong())
                .await
                .unwrap()
                .is_none()
        );
    }
    assert!(
        site.account
            .with_password("Grace", right())
            .await
            .unwrap()
            .is_none()
    );
    // In another account no user has that name, and it is free.
    site.memoir.create_account("lab", &OWNER).await.unwrap();
    let theirs = site.memoir.account("lab").await.unwrap();
    assert!(
        theirs
            .with_password("Ada", right())
            .await
            .unwrap()
            .is_none()
    );
    theirs.create_user("Ada", wrong(), &OWNER).await.unwrap();
}
