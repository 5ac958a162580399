//! The second factor of administrators: codes of a device, and recovery codes.

use memoir_vault::second_factor::{FactorSecret, RecoveryCodes, SecondFactor, Verdict};

/// How many recovery codes there are.
const RECOVERY_CODES: usize = 10;
/// Consecutive wrong codes that are checked without a wait.
const FREE_MISSES: u32 = 10;

/// The secret of the vectors of RFC 6238, appendix B.
fn vectors_secret() -> FactorSecret {
    FactorSecret::from_bytes(b"12345678901234567890").unwrap()
}

/// A second factor that was set up long before.
fn factor() -> (SecondFactor, RecoveryCodes) {
    let code = vectors_secret().code_at(59);
    let made = SecondFactor::of_device(vectors_secret(), &code, 59);
    made.unwrap().unwrap()
}

const LATER: i64 = 1_111_111_109;

#[test]
fn codes_are_those_of_rfc_6238() {
    // The last six of the eight digits that the vectors have.
    for (seconds, code) in [
        (59, "287082"),
        (1_111_111_109, "081804"),
        (1_111_111_111, "050471"),
        (1_234_567_890, "005924"),
        (2_000_000_000, "279037"),
        (20_000_000_000, "353130"),
    ] {
        assert_eq!(vectors_secret().code_at(seconds), code);
        let (mut factor, _) = factor();
        if seconds != 59 {
            assert_eq!(factor.check(code, seconds), Verdict::Right);
        }
    }
}

#[test]
fn a_secret_is_typed_as_base_32_and_read_from_an_address() {
    assert_eq!(
        vectors_secret().base32().as_str(),
        "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    );
    assert_eq!(
        vectors_secret().uri("Ada & Ünal").as_str(),
        "otpauth://totp/Memoir:Ada%20%26%20%C3%9Cnal?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\
         &issuer=Memoir&algorithm=SHA1&digits=6&period=30"
    );
    let (one, other) = (
        FactorSecret::generate().unwrap(),
        FactorSecret::generate().unwrap(),
    );
    assert_ne!(one.expose(), other.expose());
    assert_eq!(format!("{one:?}"), "FactorSecret");
}

#[test]
fn a_clock_may_be_one_step_off_and_no_more() {
    for (off, verdict) in [
        (-60, Verdict::Wrong),
        (-30, Verdict::Right),
        (0, Verdict::Right),
        (30, Verdict::Right),
        (60, Verdict::Wrong),
    ] {
        let (mut factor, _) = factor();
        let code = vectors_secret().code_at(LATER + off);
        assert_eq!(factor.check(&code, LATER), verdict, "{off}");
    }
    // Before 1970 there are no codes.
    let (mut factor, _) = factor();
    assert_eq!(factor.check("287082", -1), Verdict::Wrong);
}

#[test]
fn a_clock_that_was_far_ahead_keeps_no_code_out_once_it_is_put_back() {
    const YEARS: i64 = 70 * 365 * 86_400;
    let (mut factor, _) = factor();
    let code = |seconds| vectors_secret().code_at(seconds);
    let ahead = LATER + YEARS;
    assert_eq!(factor.check(&code(ahead), ahead), Verdict::Right);
    assert_eq!(factor.check(&code(LATER), LATER), Verdict::Right);
    assert_eq!(factor.check(&code(LATER), LATER), Verdict::Wrong);
}

#[test]
fn a_code_counts_once_and_makes_older_ones_count_no_more() {
    let (mut factor, _) = factor();
    let code = |seconds| vectors_secret().code_at(seconds);
    // The one that set it up.
    assert_eq!(factor.check(&code(59), 59), Verdict::Wrong);
    assert_eq!(factor.check(&code(LATER), LATER), Verdict::Right);
    assert_eq!(factor.check(&code(LATER), LATER), Verdict::Wrong);
    assert_eq!(factor.check(&code(LATER - 30), LATER), Verdict::Wrong);
    assert_eq!(factor.check(&code(LATER + 30), LATER), Verdict::Right);
    let typed = code(LATER + 60);
    let typed = format!(" {} {}\n", &typed[..3], &typed[3..]);
    assert_eq!(factor.check(&typed, LATER + 60), Verdict::Right);
}

#[test]
fn what_is_no_code_is_wrong() {
    let (mut factor, _) = factor();
    for text in ["", "0818", "0818040", "08180٤", "abcdef", "+81804"] {
        assert_eq!(factor.check(text, LATER), Verdict::Wrong, "{text:?}");
    }
}

#[test]
fn each_recovery_code_counts_once() {
    let (mut factor, codes) = factor();
    let codes: Vec<String> = codes.expose().map(|code| code.to_string()).collect();
    assert_eq!(codes.len(), RECOVERY_CODES);
    assert!(codes.iter().all(|code| code.len() == 19), "{codes:?}");
    assert_eq!(factor.check(&codes[3], LATER), Verdict::Right);
    assert_eq!(factor.check(&codes[3], LATER), Verdict::Wrong);
    let typed = codes[4].replace('-', " ").to_uppercase();
    assert_eq!(factor.check(&typed, LATER), Verdict::Right);
    assert_eq!(factor.recovery_left(), RECOVERY_CODES - 2);
    let fresh = factor.renew_recovery().unwrap();
    assert_eq!(factor.check(&codes[0], LATER), Verdict::Wrong);
    let fresh = fresh.expose().next().unwrap();
    assert_eq!(factor.check(&fresh, LATER), Verdict::Right);
}

#[test]
fn after_ten_wrong_codes_the_device_waits_and_recovery_codes_do_not() {
    let (mut factor, codes) = factor();
    for _ in 0..FREE_MISSES {
        assert_eq!(factor.check("000000", LATER), Verdict::Wrong);
    }
    assert_eq!(factor.misses(), FREE_MISSES);
    let right = |seconds| vectors_secret().code_at(seconds);
    for (seconds, left) in [(0, 900), (899, 1), (-5_000, 900)] {
        let now = LATER + seconds;
        let verdict = factor.check(&right(now), now);
        assert_eq!(verdict, Verdict::Wait { seconds: left });
    }
    // One guess, and the next one waits again.
    let now = LATER + 900;
    assert_eq!(factor.check("000000", now), Verdict::Wrong);
    let verdict = factor.check(&right(now), now);
    assert_eq!(verdict, Verdict::Wait { seconds: 900 });
    let code = codes.expose().next().unwrap();
    assert_eq!(factor.check(&code, now), Verdict::Right);
    assert_eq!(factor.check(&right(now), now), Verdict::Right);
}

#[test]
fn what_is_kept_is_what_there_was() {
    let (mut factor, codes) = factor();
    factor.check("000000", LATER);
    let bytes = factor.to_bytes();
    let mut read = SecondFactor::from_bytes(&bytes).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    assert_eq!((read.misses(), read.recovery_left()), (1, RECOVERY_CODES));
    let code = codes.expose().next().unwrap();
    assert_eq!(read.check(&code, LATER), Verdict::Right);
    for cut in 0..bytes.len() {
        let whole = (cut > 40 && (cut - 41).is_multiple_of(32)).then_some(());
        assert_eq!(SecondFactor::from_bytes(&bytes[..cut]).map(drop), whole);
    }
    let other_form = [&[2], &bytes[1..]].concat();
    assert!(SecondFactor::from_bytes(&other_form).is_none());
}
