//! The addresses of connected programs (SPEC 5.5).

use memoir_app::{ClientAddress, OAuthClient};

#[test]
fn spec_5_5_codes_are_sent_by_https_or_on_the_browsers_own_machine_only() {
    for (text, host) in [
        ("https://claude.ai/api/mcp/auth_callback", "claude.ai"),
        ("https://Example.ORG:8443?x=1", "example.org"),
        ("http://127.0.0.1:8123/callback", "127.0.0.1"),
        ("http://localhost/", "localhost"),
        ("http://[::1]:80/a", "[::1]"),
    ] {
        assert_eq!(ClientAddress::parse(text).unwrap().host(), host, "{text}");
    }
    for text in [
        "",
        "claude.ai/callback",
        "http://claude.ai/callback",
        "http://127.0.0.1.evil.example/",
        "http://127.1/",
        "http://0x7f000001/",
        "https:a.example/",
        "https:/a.example/",
        "https://ａ.example/",
        "https://xn--a.example:99999/",
        "http://128.0.0.1/",
        "https://",
        "https:///path",
        "https://a@b.example/",
        "https://@b.example/",
        "https://good.example\\@evil.example/",
        "https://a.example/#x",
        "https://a.example/ x",
        "https://a.example:x/",
        "https://ex%61mple.org/",
        "https://[::1",
        "https://a.example/\u{e9}",
        "javascript://a.example/%0aalert(1)",
        "custom://a.example/",
        "HTTPS://a.example/",
    ] {
        assert!(ClientAddress::parse(text).is_err(), "{text}");
    }
}

#[test]
fn spec_5_5_a_code_is_sent_to_an_address_that_was_given_before() {
    let parse = |text: &&str| ClientAddress::parse(text).unwrap();
    let given = ["https://a.example/callback", "http://127.0.0.1/callback"];
    let client = OAuthClient {
        id: "a".to_owned(),
        name: "A".to_owned(),
        addresses: given.iter().map(parse).collect(),
        registered_at: None,
    };
    for (text, is_taken) in [
        ("https://a.example/callback", true),
        ("https://a.example/callback/", false),
        ("https://a.example/callback?x=1", false),
        ("https://a.example:443/callback", false),
        ("https://A.example/callback", false),
        ("https://b.example/callback", false),
        ("https://a.example.b.example/callback", false),
        // The port of a program on the same machine is its own choice.
        ("http://127.0.0.1:9000/callback", true),
        ("http://127.0.0.1:9000/other", false),
        ("http://localhost:9000/callback", false),
    ] {
        assert_eq!(client.address(text).is_some(), is_taken, "{text}");
    }
}

#[test]
fn parameters_stand_behind_an_address_and_nothing_breaks_out() {
    let with = |text: &str| {
        let address = ClientAddress::parse(text).unwrap();
        address.with(&[("code", "a b&c#d"), ("state", "\r\n\u{e9}")])
    };
    let tail = "code=a+b%26c%23d&state=%0D%0A%C3%A9";
    assert_eq!(
        with("https://a.example/"),
        format!("https://a.example/?{tail}")
    );
    assert_eq!(
        with("https://a.example/?x=1"),
        format!("https://a.example/?x=1&{tail}")
    );
}
