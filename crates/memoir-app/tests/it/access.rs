//! Tokens and administrators with names (SPEC 5.5).

use std::time::Duration;

use memoir_app::{Account, Error, Handling, Memoir, Principal, Provision, TokenWithSecret};
use memoir_domain::{Timestamp, audit::Actor};
use memoir_testkit::InstallationFolder;
use memoir_vault::password::Password;

use crate::installation::{agent_of, input, new_folder, person};

struct Door {
    folder: InstallationFolder,
    memoir: Memoir,
    account: Account,
    agent: memoir_app::OwnAgent,
}

impl Door {
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
        let actor = person();
        let made = self.agent.create_token(Provision::First, None, &actor);
        made.await.unwrap()
    }

    /// One that the agent makes itself.
    async fn another(&self) -> TokenWithSecret {
        let actor = memoir_domain::audit::Actor::agent("wren");
        let made = self.agent.create_token(Provision::Any, None, &actor);
        made.await.unwrap()
    }

    async fn enters(&self, token: &TokenWithSecret) -> Option<Principal> {
        self.memoir
            .authenticate(token.secret.expose())
            .await
            .unwrap()
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
    let refused = async |door: &Door| {
        let made = door
            .agent
            .create_token(Provision::First, None, &person())
            .await;
        matches!(made, Err(Error::ConsentNeeded(_)))
    };
    let revoke = async |door: &Door, token: &TokenWithSecret| {
        door.agent
            .revoke_token(token.view.id, &person())
            .await
            .unwrap();
    };
    // A second one beside it is the agent's to make.
    let door = Door::new().await;
    let first = door.first().await;
    assert!(refused(&door).await);
    revoke(&door, &first).await;
    let second = door.first().await;
    revoke(&door, &second).await;
    // What an administrator sets is none of the agent's.
    let agent = &door.agent;
    let configure = async |prompt, actor: Actor| {
        let prompt = [(Field::SystemPrompt, Some(prompt))];
        agent.configure(&prompt, &actor).await.unwrap();
    };
    configure("Be brief.", person()).await;
    let third = door.first().await;
    revoke(&door, &third).await;
    // Once the agent has written a prompt, whoever got a token could read it: on the record too, where an
    // administrator has set another one since.
    configure("I keep secrets.", Actor::agent("wren")).await;
    assert!(refused(&door).await);
    configure("Be brief.", person()).await;
    assert!(refused(&door).await);
    let door = Door::new().await;
    door.agent.save(&[input("One.")], &person()).await.unwrap();
    assert!(refused(&door).await);
}

#[tokio::test]
async fn spec_5_5_an_administrator_makes_tokens_only_while_there_were_never_memories() {
    let door = Door::new().await;
    let first = door.first().await;
    let second = door.another().await;
    for token in [&first, &second] {
        let principal = door.enters(token).await.unwrap();
        assert_eq!(principal.agent, Some(door.agent.scope().agent));
        assert_eq!(principal.account, door.agent.scope().account);
    }
    door.agent.save(&[input("One.")], &person()).await.unwrap();
    let refused = async |provision| {
        let made = door.agent.create_token(provision, None, &person()).await;
        matches!(made, Err(Error::ConsentNeeded(_)))
    };
    assert!(refused(Provision::First).await);
    // One that is gone from sight was a memory too, and is kept.
    door.agent
        .handle(
            memoir_domain::memory::Number(1),
            Handling::Discard,
            &person(),
        )
        .await
        .unwrap();
    assert!(refused(Provision::First).await);
    assert!(
        !refused(Provision::Any).await,
        "the agent itself can at any time"
    );
}

#[tokio::test]
async fn spec_5_5_a_refused_token_is_nowhere() {
    let door = Door::new().await;
    door.agent.save(&[input("One.")], &person()).await.unwrap();
    let made = door
        .agent
        .create_token(Provision::First, None, &person())
        .await;
    assert!(made.is_err());
    assert_eq!(door.account.tokens().await.unwrap(), []);
    assert_eq!(door.actions().await, ["agent_configured", "memory_saved"]);
}

#[tokio::test]
async fn spec_5_5_a_token_opens_nothing_from_its_end_on() {
    let door = Door::new().await;
    let end = Some(door.in_hours(1));
    let of_agent = door
        .agent
        .create_token(Provision::Any, end, &person())
        .await
        .unwrap();
    let of_administrator = door
        .account
        .create_token(end, &crate::installation::OWNER)
        .await
        .unwrap();
    door.folder.clock.advance(Duration::from_secs(3_599));
    assert!(door.enters(&of_agent).await.is_some());
    assert!(door.enters(&of_administrator).await.is_some());
    door.folder.clock.advance(Duration::from_secs(1));
    assert!(door.enters(&of_agent).await.is_none());
    assert!(door.enters(&of_administrator).await.is_none());
}

#[tokio::test]
async fn spec_5_5_a_token_that_ends_in_the_past_is_not_made() {
    let door = Door::new().await;
    let past = Some(door.in_hours(0));
    assert!(matches!(
        door.account
            .create_token(past, &crate::installation::OWNER)
            .await,
        Err(Error::Invalid(_))
    ));
    let made = door
        .agent
        .create_token(Provision::Any, past, &person())
        .await;
    assert!(matches!(made, Err(Error::Invalid(_))));
}

#[tokio::test]
async fn spec_5_5_a_revoked_token_opens_nothing_at_once_in_every_process() {
    let door = Door::new().await;
    let other = door.folder.open().memoir;
    let of_agent = door.first().await;
    let of_administrator = door
        .account
        .create_token(None, &crate::installation::OWNER)
        .await
        .unwrap();
    for token in [&of_agent, &of_administrator] {
        let secret = token.secret.expose();
        assert!(other.authenticate(secret).await.unwrap().is_some());
        let revoked = door
            .account
            .revoke_token(token.view.id, &person())
            .await
            .unwrap();
        assert_eq!(revoked.revoked_at, Some(door.folder.now()));
        assert!(door.enters(token).await.is_none());
        assert!(other.authenticate(secret).await.unwrap().is_none());
        door.folder.pass_a_minute();
        let again = door
            .account
            .revoke_token(token.view.id, &person())
            .await
            .unwrap();
        assert_eq!(
            again.revoked_at, revoked.revoked_at,
            "it is no error, and changes nothing"
        );
    }
    let actions = door.actions().await;
    assert_eq!(
        actions
            .iter()
            .filter(|action| *action == "token_revoked")
            .count(),
        1
    );
}

#[tokio::test]
async fn spec_5_5_tokens_are_on_the_record_of_their_agent_and_the_log_verifies() {
    let door = Door::new().await;
    let token = door.first().await;
    let own = Actor::agent("wren");
    door.agent
        .create_token(Provision::Any, None, &own)
        .await
        .unwrap();
    door.account
        .revoke_token(token.view.id, &own)
        .await
        .unwrap();
    assert_eq!(
        door.actions().await,
        [
            "agent_configured",
            "token_created",
            "token_created",
            "token_revoked"
        ]
    );
    let records = door
        .agent
        .lens()
        .records(&memoir_app::RecordFilter::default())
        .await
        .unwrap();
    let text = serde_json::to_string(&records).unwrap();
    assert!(text.contains(&token.view.id.to_string()));
    assert!(!text.contains(token.secret.expose()));
    let verified = door.agent.verify().await.unwrap();
    assert!(verified.valid, "{verified:?}");
}

#[tokio::test]
async fn spec_5_5_uses_are_written_together_and_never_go_back() {
    let door = Door::new().await;
    let (one, other) = (door.first().await, door.another().await);
    let used = async || {
        let tokens = door.account.tokens().await.unwrap();
        let of = |token: &TokenWithSecret| {
            let found = tokens.iter().find(|view| view.id == token.view.id);
            found.unwrap().last_used_at
        };
        (of(&one), of(&other))
    };
    door.enters(&one).await.unwrap();
    door.enters(&other).await.unwrap();
    assert_eq!(used().await, (None, None), "a request does not wait for it");
    let early = door.folder.now();
    door.memoir.write_uses().await.unwrap();
    assert_eq!(used().await, (Some(early), Some(early)));

    // A process that is late with what it has seen.
    let late = door.folder.open().memoir;
    late.authenticate(one.secret.expose())
        .await
        .unwrap()
        .unwrap();
    door.folder.pass_a_minute();
    door.enters(&one).await.unwrap();
    let now = door.folder.now();
    door.memoir.write_uses().await.unwrap();
    late.write_uses().await.unwrap();
    assert_eq!(used().await, (Some(now), Some(early)));
    // Ending it takes no use back either.
    door.account
        .revoke_token(one.view.id, &person())
        .await
        .unwrap();
    assert_eq!(used().await.0, Some(now));
}

#[tokio::test]
async fn spec_5_5_what_is_no_token_opens_nothing_and_leaves_no_trace() {
    let door = Door::new().await;
    let token = door.first().await;
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
        assert!(door.memoir.authenticate(wrong).await.unwrap().is_none());
    }
    door.memoir.write_uses().await.unwrap();
    assert_eq!(door.account.tokens().await.unwrap()[0].last_used_at, None);
}

#[tokio::test]
async fn spec_5_5_the_files_hold_digests_of_tokens_and_no_password() {
    const PASSWORD: &str = "a goldfinch at the window";
    let door = Door::new().await;
    let mut secrets = vec![PASSWORD.to_owned()];
    for token in [
        door.first().await,
        door.account
            .create_token(None, &crate::installation::OWNER)
            .await
            .unwrap(),
    ] {
        door.enters(&token).await.unwrap();
        secrets.push(token.secret.expose().to_owned());
    }
    door.memoir.write_uses().await.unwrap();
    let password = Password::from_text(PASSWORD).unwrap();
    door.account
        .create_user("Ada", password, &crate::installation::OWNER)
        .await
        .unwrap();
    for file in std::fs::read_dir(door.folder.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for secret in &secrets {
            // Without what every token begins with.
            let secret = secret.trim_start_matches("memoir_").as_bytes();
            let found = bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!found, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn spec_5_5_tokens_of_one_account_are_not_those_of_another() {
    let door = Door::new().await;
    door.memoir
        .create_account("lab", &crate::installation::OWNER)
        .await
        .unwrap();
    let theirs = door.memoir.account("lab").await.unwrap();
    let token = door.first().await;
    assert_eq!(theirs.tokens().await.unwrap(), []);
    let revoked = theirs.revoke_token(token.view.id, &person()).await;
    assert!(matches!(revoked, Err(Error::NoToken(_))));
    assert!(door.enters(&token).await.is_some());
}

#[tokio::test]
async fn spec_5_6_tokens_of_one_agent_are_not_those_of_another() {
    let door = Door::new().await;
    let other = agent_of(&door.memoir, "owl").await;
    let token = door.first().await;
    door.account
        .create_token(None, &crate::installation::OWNER)
        .await
        .unwrap();
    let own = door.agent.tokens().await.unwrap();
    assert_eq!(own, std::slice::from_ref(&token.view));
    assert_eq!(other.tokens().await.unwrap(), []);
    let revoked = other.revoke_token(token.view.id, &person()).await;
    assert!(matches!(revoked, Err(Error::NoToken(_))));
    assert!(door.enters(&token).await.is_some());
    let revoke = async || {
        let revoked = door.agent.revoke_token(token.view.id, &person()).await;
        revoked.unwrap().revoked_at
    };
    let at = revoke().await;
    assert!(at.is_some());
    assert!(door.enters(&token).await.is_none());
    // Once more is no error, and no other end.
    assert_eq!(revoke().await, at);
    assert!(door.agent.verify().await.unwrap().valid);
}

#[tokio::test]
async fn spec_5_4_the_tokens_of_an_erased_agent_open_nothing() {
    let door = Door::new().await;
    let token = door.first().await;
    door.agent.erase(&person()).await.unwrap();
    assert!(door.enters(&token).await.is_none());
    let revoked = door
        .account
        .revoke_token(token.view.id, &person())
        .await
        .unwrap();
    assert!(revoked.revoked_at.is_some());
}

#[tokio::test]
async fn spec_5_5_an_administrator_has_a_name_of_its_own_and_a_password() {
    let door = Door::new().await;
    let right = || Password::from_text("correct horse battery").unwrap();
    let wrong = || Password::from_text("correct horse batterx").unwrap();
    assert!(!door.memoir.has_users().await.unwrap());
    let ada = door
        .account
        .create_user(" Ada ", right(), &crate::installation::OWNER)
        .await
        .unwrap();
    assert_eq!(ada.name, "Ada");
    assert!(door.memoir.has_users().await.unwrap());
    for taken in ["Ada", "ADA", "ada "] {
        let made = door
            .account
            .create_user(taken, wrong(), &crate::installation::OWNER)
            .await;
        assert!(matches!(made, Err(Error::NameTaken(_))), "{taken}");
    }
    for name in ["Ada", " ada ", "ADA"] {
        assert!(
            door.account
                .with_password(name, right())
                .await
                .unwrap()
                .is_some()
        );
        assert!(
            door.account
                .with_password(name, wrong())
                .await
                .unwrap()
                .is_none()
        );
    }
    assert!(
        door.account
            .with_password("Grace", right())
            .await
            .unwrap()
            .is_none()
    );
    // Elsewhere nobody has that name, and it is free.
    door.memoir
        .create_account("lab", &crate::installation::OWNER)
        .await
        .unwrap();
    let theirs = door.memoir.account("lab").await.unwrap();
    assert!(
        theirs
            .with_password("Ada", right())
            .await
            .unwrap()
            .is_none()
    );
    theirs
        .create_user("Ada", wrong(), &crate::installation::OWNER)
        .await
        .unwrap();
}

#[tokio::test]
async fn spec_5_5_the_hash_of_a_password_is_sealed() {
    let door = Door::new().await;
    let password = Password::from_text("correct horse battery").unwrap();
    door.account
        .create_user("Ada", password, &crate::installation::OWNER)
        .await
        .unwrap();
    for file in std::fs::read_dir(door.folder.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let is_found = bytes.windows(8).any(|window| window == b"argon2id");
        assert!(!is_found, "{}", path.display());
    }
}
