//! Administrators: their second factor, their sign-ins, and rows that were tampered with (SPEC 5.5).

use std::{sync::Arc, time::Duration};

use data_encoding::BASE32_NOPAD;
use memoir_app::{
    Account, Error, Memoir, Proof, Provision, SignIn, SignInSecret, SignedInUser, TokenWithSecret,
    VerifiedUser,
};
use memoir_domain::{
    PrivateText, Timestamp,
    access::{AccessKind, AccessState},
    audit::Actor,
};
use memoir_store_sqlite::{CommitFault, SqliteStore};
use memoir_testkit::{InstallationFolder, input, tamper};
use memoir_vault::{password::Password, second_factor::FactorSecret};

use crate::installation::{OWNER, agent_of, draft, new_folder, request_by, save_by};

const PASSWORD: &str = "correct horse battery";
const OTHER: &str = "another horse battery";
const IDLE_SECONDS: i64 = 7_200;

fn password(text: &str) -> Password {
    Password::from_text(text).unwrap()
}

struct Site {
    folder: InstallationFolder,
    memoir: Memoir,
    account: Account,
}

/// A user's second factor.
struct Device {
    secret: FactorSecret,
    recovery: Vec<String>,
}

impl Device {
    fn code(&self, at: Timestamp) -> PrivateText {
        self.secret
            .code_at(at.microseconds() / 1_000_000)
            .as_str()
            .into()
    }
}

/// The secret that a page shows for typing.
fn typed(text: &str) -> FactorSecret {
    let bytes = BASE32_NOPAD.decode(text.as_bytes()).unwrap();
    FactorSecret::from_bytes(&bytes).unwrap()
}

impl Site {
    async fn new() -> Self {
        let folder = new_folder();
        let memoir = folder.open().memoir;
        let account = memoir.account("default").await.unwrap();
        let site = Self {
            folder,
            memoir,
            account,
        };
        for name in ["Ada", "Grace"] {
            let made = site.account.create_user(name, password(PASSWORD), &OWNER);
            made.await.unwrap();
        }
        site
    }

    /// With the store, to be disturbed.
    async fn on_store() -> (Self, Arc<SqliteStore>) {
        let Self { folder, .. } = Self::new().await;
        let store = Arc::new(SqliteStore::open(&folder.database()).unwrap());
        let memoir = folder.open_store(store.clone()).memoir;
        let account = memoir.account("default").await.unwrap();
        let site = Self {
            folder,
            memoir,
            account,
        };
        (site, store)
    }

    fn ends(&self) -> Timestamp {
        self.folder.now().plus_seconds(3_600)
    }

    fn wait(&self) {
        self.folder.clock.advance(Duration::from_secs(30));
    }

    async fn by_browser(&self, name: &str, with: &str) -> SignIn {
        let attempt = self.memoir.sign_in(
            None,
            name,
            password(with),
            SignInSecret::Cookie,
            self.ends(),
        );
        attempt.await.unwrap()
    }

    async fn by_rest(&self, name: &str, with: &str, code: Option<&PrivateText>) -> SignIn {
        let secret = SignInSecret::Token(code);
        let attempt = self
            .memoir
            .sign_in(None, name, password(with), secret, self.ends());
        attempt.await.unwrap()
    }

    async fn enters(&self, token: &TokenWithSecret) -> Option<SignedInUser> {
        let entered = self
            .memoir
            .enter_with_browser(token.secret.expose(), IDLE_SECONDS);
        entered.await.unwrap()
    }

    /// Ada, signed in by a password alone.
    async fn ada(&self) -> SignedInUser {
        let SignIn::In(made) = self.by_browser("Ada", PASSWORD).await else {
            panic!("no code is needed");
        };
        self.enters(&made).await.unwrap()
    }

    /// Sets a second factor up for the signed-in user, which signs the user in anew.
    async fn set_up(&self, visitor: &SignedInUser) -> (Device, SignedInUser) {
        let offer = visitor.offer_second_factor().await.unwrap();
        let secret = typed(&offer.typed);
        let code = secret.code_at(self.folder.now().microseconds() / 1_000_000);
        let (proven, code) = (proven(visitor, "").await, code.as_str().into());
        let turned = visitor.turn_on_second_factor(proven, &offer.sealed, &code);
        let (made, codes) = turned.await.unwrap().unwrap();
        let recovery = codes.expose().map(|code| code.to_string()).collect();
        let device = Device { secret, recovery };
        (device, self.enters(&made).await.unwrap())
    }
}

async fn proven(visitor: &SignedInUser, code: &str) -> VerifiedUser {
    match visitor.prove(password(PASSWORD), &code.into()).await {
        Ok(Proof::Right(proven)) => *proven,
        _ => panic!("the proof is right"),
    }
}

fn is_in(came_to: &SignIn) -> bool {
    matches!(came_to, SignIn::In(_))
}

fn is_refused(came_to: &SignIn) -> bool {
    matches!(came_to, SignIn::Refused)
}

#[tokio::test]
async fn with_a_second_factor_a_password_alone_signs_in_by_no_interface() {
    let site = Site::new().await;
    let (device, _) = site.set_up(&site.ada().await).await;
    site.wait();
    let code = device.code(site.folder.now());
    assert!(matches!(
        site.by_rest("Ada", PASSWORD, None).await,
        SignIn::CodeNeeded(_)
    ));
    assert!(matches!(
        site.by_browser("ada", PASSWORD).await,
        SignIn::CodeNeeded(_)
    ));
    // Without the password, the response reveals nothing of the code.
    assert!(is_refused(&site.by_rest("Ada", OTHER, Some(&code)).await));
    assert!(is_refused(
        &site.by_rest("Ada", PASSWORD, Some(&"000000".into())).await
    ));
    assert!(is_in(&site.by_rest("Ada", PASSWORD, Some(&code)).await));
    // Others are as they were, and a code is no hindrance.
    assert!(is_in(&site.by_rest("Grace", PASSWORD, None).await));
    assert!(is_in(&site.by_rest("Grace", PASSWORD, Some(&code)).await));
}

/// How many of four simultaneous sign-ins with the same code succeed, by two processes.
async fn sign_in_together(site: &Site, code: &PrivateText) -> u32 {
    let other = site.folder.open().memoir;
    let attempts = [&site.memoir, &other, &site.memoir, &other].map(|memoir| {
        let (memoir, code, ends) = (memoir.clone(), code.clone(), site.ends());
        tokio::spawn(async move {
            let secret = SignInSecret::Token(Some(&code));
            let attempt = memoir.sign_in(None, "Ada", password(PASSWORD), secret, ends);
            is_in(&attempt.await.unwrap())
        })
    });
    let mut let_in = 0;
    for attempt in attempts {
        let_in += u32::from(attempt.await.unwrap());
    }
    let_in
}

#[tokio::test]
async fn a_code_counts_once_in_all_processes_and_at_the_same_time() {
    let site = Site::new().await;
    let (device, _) = site.set_up(&site.ada().await).await;
    // The code of the set-up.
    let code = device.code(site.folder.now());
    assert!(is_refused(
        &site.by_rest("Ada", PASSWORD, Some(&code)).await
    ));
    site.wait();
    let code = device.code(site.folder.now());
    assert_eq!(sign_in_together(&site, &code).await, 1);
    // Nor the one before it.
    let older = device.code(site.folder.now().plus_seconds(-30));
    assert!(is_refused(
        &site.by_rest("Ada", PASSWORD, Some(&older)).await
    ));
}

#[tokio::test]
async fn each_recovery_code_lets_in_once() {
    let site = Site::new().await;
    let (device, visitor) = site.set_up(&site.ada().await).await;
    let code: PrivateText = device.recovery[0].as_str().into();
    assert_eq!(sign_in_together(&site, &code).await, 1);
    assert!(is_refused(
        &site.by_rest("Ada", PASSWORD, Some(&code)).await
    ));
    assert_eq!(visitor.second_factor().await.unwrap(), Some((9, 4)));
    let proven = proven(&visitor, &device.recovery[1]).await;
    let fresh = visitor.renew_recovery_codes(proven).await.unwrap().unwrap();
    let old: PrivateText = device.recovery[2].as_str().into();
    assert!(is_refused(&site.by_rest("Ada", PASSWORD, Some(&old)).await));
    let fresh: PrivateText = fresh.expose().next().unwrap().as_str().into();
    assert!(is_in(&site.by_rest("Ada", PASSWORD, Some(&fresh)).await));
}

#[tokio::test]
async fn guessing_codes_is_slowed_down_for_good_and_a_recovery_code_helps() {
    let site = Site::new().await;
    let (device, _) = site.set_up(&site.ada().await).await;
    let wrong: PrivateText = "000000".into();
    for _ in 0..10 {
        assert!(is_refused(
            &site.by_rest("Ada", PASSWORD, Some(&wrong)).await
        ));
    }
    site.wait();
    // In another process, which has no count of its own.
    let other = site.folder.open().memoir;
    let right = device.code(site.folder.now());
    let secret = SignInSecret::Token(Some(&right));
    let attempt = other.sign_in(None, "Ada", password(PASSWORD), secret, site.ends());
    let waits = attempt.await.unwrap();
    assert!(matches!(waits, SignIn::Wait { seconds: 870 }), "{waits:?}");
    let code: PrivateText = device.recovery[0].as_str().into();
    assert!(is_in(&site.by_rest("Ada", PASSWORD, Some(&code)).await));
    assert!(is_in(&site.by_rest("Ada", PASSWORD, Some(&right)).await));
}

#[tokio::test]
async fn what_a_password_alone_gives_opens_nothing_and_ends_soon() {
    let site = Site::new().await;
    let (device, _) = site.set_up(&site.ada().await).await;
    let half = async || match site.by_browser("Ada", PASSWORD).await {
        SignIn::CodeNeeded(passage) => passage.expose().to_owned(),
        other => panic!("{other:?}"),
    };
    let passage = half().await;
    let entered = site.memoir.enter_with_browser(&passage, IDLE_SECONDS);
    assert!(entered.await.unwrap().is_none());
    assert!(site.memoir.authenticate(&passage).await.unwrap().is_none());
    let resumed = site.memoir.half_signed_in(&passage).await.unwrap().unwrap();
    assert_eq!(
        (resumed.account_name(), resumed.name.as_str()),
        ("default", "Ada")
    );
    site.wait();
    let code = device.code(site.folder.now());
    let attempt = site.memoir.sign_in_with_code(&resumed, &code, site.ends());
    let SignIn::In(made) = attempt.await.unwrap() else {
        panic!("the code is right");
    };
    assert_eq!(site.enters(&made).await.unwrap().user.name, "Ada");
    // Changed in any place, or cut off.
    for place in 0..passage.len() {
        let mut other = passage.clone().into_bytes();
        other[place] = if other[place] == b'A' { b'B' } else { b'A' };
        let other = String::from_utf8(other).unwrap();
        assert!(site.memoir.half_signed_in(&other).await.unwrap().is_none());
        let cut = &passage[..place];
        assert!(site.memoir.half_signed_in(cut).await.unwrap().is_none());
    }
    site.folder.clock.advance(Duration::from_secs(300));
    assert!(
        site.memoir
            .half_signed_in(&passage)
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn whatever_ends_all_sign_ins_ends_those_by_half_too() {
    let site = Site::new().await;
    let (device, _) = site.set_up(&site.ada().await).await;
    let half = async |with: &str| match site.by_browser("Ada", with).await {
        SignIn::CodeNeeded(passage) => passage.expose().to_owned(),
        other => panic!("{other:?}"),
    };
    let enter = async |with: &str| {
        site.wait();
        let code = device.code(site.folder.now());
        let passage = half(with).await;
        let resumed = site.memoir.half_signed_in(&passage).await.unwrap().unwrap();
        let attempt = site.memoir.sign_in_with_code(&resumed, &code, site.ends());
        let SignIn::In(made) = attempt.await.unwrap() else {
            panic!("the code is right");
        };
        (site.enters(&made).await.unwrap(), made)
    };
    for what in ["everywhere", "password", "owner", "off"] {
        let with = if what == "off" { OTHER } else { PASSWORD };
        let (visitor, made) = enter(with).await;
        let waiting = half(with).await;
        let resumed = site.memoir.half_signed_in(&waiting).await.unwrap().unwrap();
        site.wait();
        let code = device.code(site.folder.now());
        match what {
            "everywhere" => {
                visitor.sign_out_everywhere().await.unwrap();
            }
            "password" => {
                let proven = proven(&visitor, code.expose()).await;
                let changed = visitor.change_password(proven, &PASSWORD.into()).await;
                changed.unwrap();
            }
            "owner" => {
                let set = site.account.set_password("ada", password(OTHER), &OWNER);
                set.await.unwrap();
            }
            _ => {
                site.account
                    .reset_second_factor("ada", &OWNER)
                    .await
                    .unwrap();
            }
        }
        assert!(site.enters(&made).await.is_none(), "{what}");
        let after = site.memoir.half_signed_in(&waiting).await.unwrap();
        assert!(after.is_none(), "{what}");
        // Nor for a proof that was read a moment before.
        site.wait();
        let code = device.code(site.folder.now());
        let late = site.memoir.sign_in_with_code(&resumed, &code, site.ends());
        assert!(is_refused(&late.await.unwrap()), "{what}");
    }
    // It was reset: the password is enough.
    assert!(is_in(&site.by_browser("Ada", OTHER).await));
}

#[tokio::test]
async fn a_token_that_was_signed_in_for_ends_with_the_generation() {
    let (site, store) = Site::on_store().await;
    let SignIn::In(token) = site.by_rest("Ada", PASSWORD, None).await else {
        panic!("no code is needed");
    };
    let theirs = site.by_rest("Grace", PASSWORD, None).await;
    let SignIn::In(theirs) = theirs else {
        panic!("no code is needed");
    };
    let enters = async |token: &TokenWithSecret| {
        let entered = site.memoir.authenticate(token.secret.expose()).await;
        entered.unwrap().is_some()
    };
    assert!(enters(&token).await);
    // One write ended it; its row is marked after it, or never.
    let visitor = site.ada().await;
    let refuse = "CREATE TEMP TRIGGER no_revoking BEFORE UPDATE OF revoked_at ON main.tokens \
         BEGIN SELECT RAISE(ABORT, 'no'); END";
    store.put_between(refuse).await.unwrap();
    visitor.sign_out_everywhere().await.unwrap();
    assert!(!enters(&token).await && enters(&theirs).await);
}

#[tokio::test]
async fn spec_6_2_a_change_of_a_user_and_the_sign_in_that_goes_on_are_one_write() {
    let (site, store) = Site::on_store().await;
    let visitor = site.ada().await;
    let proven = proven(&visitor, "").await;
    // The next decision marks the earlier sign-in.
    store.disturb_commits(&[CommitFault::Busy]);
    let changed = visitor.change_password(proven, &OTHER.into()).await;
    let next = site.enters(&changed.unwrap()).await.unwrap();
    assert!(!visitor.is_still_let_in().await.unwrap());
    assert!(is_refused(&site.by_browser("Ada", PASSWORD).await));
    store.disturb_commits(&[CommitFault::Busy]);
    next.sign_out_everywhere().await.unwrap();
    assert!(!next.is_still_let_in().await.unwrap());
    store.disturb_commits(&[CommitFault::Busy]);
    let set = site.account.set_password("Ada", password(PASSWORD), &OWNER);
    set.await.unwrap();
    store.disturb_commits(&[]);
    assert!(is_in(&site.by_browser("Ada", PASSWORD).await));
    let verified = site.memoir.verify_all().await.unwrap();
    assert!(verified.iter().all(|one| one.valid));
}

#[tokio::test]
async fn a_new_password_goes_with_this_browser_alone() {
    let site = Site::new().await;
    let (one, other) = (site.ada().await, site.ada().await);
    assert!(matches!(
        one.prove(password(OTHER), &"".into()).await.unwrap(),
        Proof::Wrong
    ));
    let short = one
        .change_password(proven(&one, "").await, &"short".into())
        .await;
    assert!(matches!(short, Err(Error::Invalid(_))));
    let made = one
        .change_password(proven(&one, "").await, &OTHER.into())
        .await
        .unwrap();
    let again = site.enters(&made).await.unwrap();
    assert_eq!(again.sign_ins().await.unwrap().len(), 1);
    assert!(!one.is_still_let_in().await.unwrap() && !other.is_still_let_in().await.unwrap());
    // Its expiry is unchanged.
    assert_eq!(again.ends_at, one.ends_at);
    assert!(is_refused(&site.by_browser("Ada", PASSWORD).await));
    assert!(is_in(&site.by_browser("Ada", OTHER).await));
    // A proof is valid for the state that it was given in.
    let (early, late) = (
        proven_with(&again, OTHER).await,
        proven_with(&again, OTHER).await,
    );
    again
        .change_password(early, &PASSWORD.into())
        .await
        .unwrap();
    let changed = again.change_password(late, &OTHER.into()).await;
    assert!(matches!(changed, Err(Error::Changed)));
}

async fn proven_with(visitor: &SignedInUser, with: &str) -> VerifiedUser {
    match visitor.prove(password(with), &"".into()).await {
        Ok(Proof::Right(proven)) => *proven,
        _ => panic!("the proof is right"),
    }
}

#[tokio::test]
async fn a_user_lists_and_ends_its_own_sign_ins_only() {
    let site = Site::new().await;
    let visitor = site.ada().await;
    site.folder.pass_a_minute();
    let SignIn::In(theirs) = site.by_browser("Grace", PASSWORD).await else {
        panic!("no code is needed");
    };
    let SignIn::In(token) = site.by_rest("Ada", PASSWORD, None).await else {
        panic!("no code is needed");
    };
    let seen = visitor.sign_ins().await.unwrap();
    let told: Vec<_> = seen
        .iter()
        .map(|sign_in| (sign_in.by_browser, sign_in.is_own))
        .collect();
    assert_eq!(told, [(false, false), (true, true)]);
    let refused = visitor.end_sign_in(theirs.view.id).await;
    assert!(matches!(refused, Err(Error::NoToken(_))));
    visitor.end_sign_in(token.view.id).await.unwrap();
    let entered = site.memoir.authenticate(token.secret.expose()).await;
    assert!(entered.unwrap().is_none());
    assert_eq!(visitor.sign_ins().await.unwrap().len(), 1);
    assert!(site.enters(&theirs).await.is_some());
}

#[tokio::test]
async fn an_offer_is_for_one_user_and_a_while() {
    let site = Site::new().await;
    let visitor = site.ada().await;
    let SignIn::In(theirs) = site.by_browser("Grace", PASSWORD).await else {
        panic!("no code is needed");
    };
    let grace = site.enters(&theirs).await.unwrap();
    let offer = visitor.offer_second_factor().await.unwrap();
    let code = typed(&offer.typed).code_at(site.folder.now().microseconds() / 1_000_000);
    let code: PrivateText = code.as_str().into();
    assert!(visitor.fits_offer(&offer.sealed, &code).await.unwrap());
    assert!(
        !visitor
            .fits_offer(&offer.sealed, &"000000".into())
            .await
            .unwrap()
    );
    assert!(!grace.fits_offer(&offer.sealed, &code).await.unwrap());
    let again = visitor.offered(&offer.sealed).await.unwrap().unwrap();
    assert_eq!(*again.typed, *offer.typed);
    // The proof of a password is no offer.
    let turned = visitor.turn_on_second_factor(proven(&visitor, "").await, "AAAA", &code);
    assert!(turned.await.unwrap().is_none());
    site.folder.clock.advance(Duration::from_secs(900));
    assert!(visitor.offered(&offer.sealed).await.unwrap().is_none());
}

#[tokio::test]
async fn the_last_administrator_stays_and_a_removed_one_is_signed_out() {
    let site = Site::new().await;
    let visitor = site.ada().await;
    let SignIn::In(token) = site.by_rest("Ada", PASSWORD, None).await else {
        panic!("no code is needed");
    };
    let unknown = site.account.remove_user("nobody", &OWNER).await;
    assert!(matches!(unknown, Err(Error::NoUser(_))));
    site.account.remove_user(" ADA ", &OWNER).await.unwrap();
    assert!(!visitor.is_still_let_in().await.unwrap());
    let entered = site.memoir.authenticate(token.secret.expose()).await;
    assert!(entered.unwrap().is_none());
    assert!(is_refused(&site.by_browser("Ada", PASSWORD).await));
    let last = site.account.remove_user("Grace", &OWNER).await;
    assert!(matches!(last, Err(Error::LastUser(_))));
    assert!(site.memoir.has_users().await.unwrap());
    let names = async || {
        let users = site.account.users().await.unwrap();
        users.into_iter().map(|user| user.name).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["Grace"]);
    // Another user of that name is another person.
    site.folder.pass_a_minute();
    let made = site.account.create_user("Ada", password(OTHER), &OWNER);
    made.await.unwrap();
    assert_eq!(names().await, ["Grace", "Ada"]);
    assert!(!visitor.is_still_let_in().await.unwrap());
    // In another account too, as long as one remains anywhere.
    site.memoir.create_account("lab", &OWNER).await.unwrap();
    let theirs = site.memoir.account("lab").await.unwrap();
    theirs
        .create_user("Ivo", password(OTHER), &OWNER)
        .await
        .unwrap();
    theirs.remove_user("Ivo", &OWNER).await.unwrap();
}

#[tokio::test]
async fn spec_6_2_a_user_is_removed_though_the_store_is_busy_afterwards() {
    let (site, store) = Site::on_store().await;
    let wren = agent_of(&site.memoir, "wren").await;
    save_by(&wren, &[input("Tea is at four.")], &wren.as_actor()).await;
    let token = draft(AccessKind::Token { expires_at: None });
    let ada = Actor::administrator("user Ada");
    let request = request_by(&wren, &token, &ada).await;
    // The next decision revokes the request.
    store.disturb_commits(&[CommitFault::Busy]);
    site.account.remove_user("Ada", &OWNER).await.unwrap();
    let state = wren.lens().access_request(request.id).await.unwrap().state;
    assert_eq!(state, AccessState::Asked);
    assert!(is_refused(&site.by_browser("Ada", PASSWORD).await));
}

/// An agent that is damaged keeps no request to another agent, and the one that is left is of no use to the next user of
/// that name.
#[tokio::test]
async fn spec_5_5_a_token_that_a_removed_user_asked_for_is_not_made_by_the_next_of_that_name() {
    let names = ["heron", "wren"];
    for damaged in names {
        let site = Site::new().await;
        let ada = Actor::administrator("user Ada");
        let token = draft(AccessKind::Token { expires_at: None });
        let mut asked = Vec::new();
        for name in names {
            let agent = agent_of(&site.memoir, name).await;
            save_by(&agent, &[input("Tea is at four.")], &agent.as_actor()).await;
            let request = request_by(&agent, &token, &ada).await;
            asked.push((name, agent, request.id));
        }
        let database = site.folder.database();
        let damage = format!("UPDATE agents SET open = '-' || open WHERE name = '{damaged}'");
        tamper(&database, &damage);
        let removed = site.account.remove_user("Ada", &OWNER).await;
        assert!(removed.is_err(), "{damaged} was not reported");
        let repair = format!("UPDATE agents SET open = substr(open, 2) WHERE name = '{damaged}'");
        tamper(&database, &repair);
        site.folder.pass_a_minute();
        let made = site.account.create_user("Ada", password(OTHER), &OWNER);
        made.await.unwrap();
        for (name, agent, id) in asked {
            let state = agent.lens().access_request(id).await.unwrap().state;
            if name != damaged {
                assert_eq!(state, AccessState::Revoked, "{name}");
                continue;
            }
            assert_eq!(state, AccessState::Asked, "{name}");
            let (grants, me) = (agent.grants(), agent.as_actor());
            grants.answer_access(id, true, None, &me).await.unwrap();
            let refused = grants.create_token(Provision::First, None, &ada).await;
            assert_eq!(refused.unwrap_err().code(), "consent_required");
            // Her own request is.
            let own = request_by(&agent, &token, &ada).await;
            grants.answer_access(own.id, true, None, &me).await.unwrap();
            let made = grants.create_token(Provision::First, None, &ada).await;
            made.unwrap();
        }
    }
}

#[tokio::test]
async fn spec_5_5_of_first_administrators_at_once_one_is_made() {
    let folder = new_folder();
    let memoirs = [folder.open().memoir, folder.open().memoir];
    let mut tasks = Vec::new();
    for number in 0..4 {
        let account = memoirs[number % 2].account("default").await.unwrap();
        tasks.push(tokio::spawn(async move {
            let name = format!("user {number}");
            let made = account.create_first_user(&name, password(PASSWORD));
            made.await.unwrap().is_some()
        }));
    }
    let mut made = 0;
    for task in tasks {
        made += u32::from(task.await.unwrap());
    }
    assert_eq!(made, 1);
    let account = memoirs[0].account("default").await.unwrap();
    assert_eq!(account.users().await.unwrap().len(), 1);
    account
        .create_user("Ada", password(PASSWORD), &OWNER)
        .await
        .unwrap();
}

/// Attempts with write access to the database, none of which signs in.
#[tokio::test]
async fn spec_5_3_a_users_row_that_was_changed_signs_no_user_in() {
    for change in [
        // The factor removed, in each possible way.
        "UPDATE users SET sealed = zeroblob(0) WHERE folded_name = 'ada'",
        "UPDATE users SET sealed = substr(sealed, 1, 41) WHERE folded_name = 'ada'",
        "UPDATE users SET sealed = (SELECT sealed FROM users WHERE folded_name = 'grace') \
             WHERE folded_name = 'ada'",
        // Another user's row as one's own.
        "UPDATE users SET sealed = (SELECT sealed FROM users WHERE folded_name = 'grace'), \
             open = (SELECT open FROM users WHERE folded_name = 'grace'), \
             version = (SELECT version FROM users WHERE folded_name = 'grace') \
             WHERE folded_name = 'ada'",
        "UPDATE users SET version = version - 1 WHERE folded_name = 'ada'",
        "UPDATE users SET version = version + 1 WHERE folded_name = 'ada'",
        // Any letter, and an equal name in other letters.
        "UPDATE users SET open = replace(open, '\"generation\":', '\"generation\":1') \
             WHERE folded_name = 'ada'",
        "UPDATE users SET open = open || ' ' WHERE folded_name = 'ada'",
        "UPDATE users SET created_at = created_at + 1 WHERE folded_name = 'ada'",
        "UPDATE users SET removed_at = created_at WHERE folded_name = 'ada'",
    ] {
        let site = Site::new().await;
        let (device, visitor) = site.set_up(&site.ada().await).await;
        site.wait();
        tamper(&site.folder.database(), change);
        let code = device.code(site.folder.now());
        assert!(
            is_refused(&site.by_rest("Ada", PASSWORD, None).await),
            "{change}"
        );
        let with = site.by_rest("Ada", PASSWORD, Some(&code)).await;
        assert!(is_refused(&with), "{change}");
        assert!(
            is_refused(&site.by_browser("Ada", PASSWORD).await),
            "{change}"
        );
        assert!(!visitor.is_still_let_in().await.unwrap(), "{change}");
        // The list names it; the untouched one is unchanged.
        let users = site.account.users().await.unwrap();
        let ada = users.iter().find(|user| user.name == "Ada");
        assert_eq!(ada.and_then(|user| user.second_factor), None, "{change}");
        assert!(is_in(&site.by_browser("Grace", PASSWORD).await), "{change}");
        let reset = site.account.reset_second_factor("Ada", &OWNER).await;
        assert!(
            matches!(reset, Err(Error::Sealed(_) | Error::NoUser(_))),
            "{change}"
        );
        // The owner of the machine can remove it, and makes another one.
        if !change.contains("removed_at") {
            site.account.remove_user("Ada", &OWNER).await.unwrap();
        }
        let made = site
            .account
            .create_user("Ada", password(OTHER), &OWNER)
            .await;
        assert_eq!(made.unwrap().second_factor, Some(false), "{change}");
        assert!(is_in(&site.by_browser("Ada", OTHER).await), "{change}");
        assert!(
            is_refused(&site.by_browser("Ada", PASSWORD).await),
            "{change}"
        );
    }
}

#[tokio::test]
async fn spec_5_3_the_files_hold_no_secret_of_a_second_factor() {
    let site = Site::new().await;
    let (device, _) = site.set_up(&site.ada().await).await;
    let typed = device.secret.base32().to_string();
    let mut secrets = vec![device.secret.expose().to_vec(), typed.into_bytes()];
    secrets.extend(device.recovery.iter().map(|code| code.clone().into_bytes()));
    let plain = device.recovery.iter().map(|code| code.replace('-', ""));
    secrets.extend(plain.map(String::into_bytes));
    for file in std::fs::read_dir(site.folder.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for secret in &secrets {
            let found = bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!found, "{}", path.display());
        }
    }
}
