//! The allowed addresses of webhooks: public ones, and internal ones only where the configuration says so. The rule
//! applies to the connected address, after a name was resolved, so that no name can lead inside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// The part of the network of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Realm {
    Public,
    /// This machine or its own network.
    Private,
    /// Never allowed: link-local addresses and those of the clouds' metadata services, multicast, unspecified and
    /// reserved ones, and tunnels with an unknown end.
    Nowhere,
}

/// The realm of an IPv4 address (the special-purpose registry of IANA, RFC 6890).
fn realm_of_v4(address: Ipv4Addr) -> Realm {
    match address.octets() {
        // Metadata services of clouds, on addresses that are private or public otherwise.
        // Whatever `allow_private` says: these serve credentials of the machine.
        [100, 100, 100, 200] | [168, 63, 129, 16] => Realm::Nowhere,
        [127 | 10, ..] | [192, 168, ..] => Realm::Private,
        // Addresses that providers share among customers (RFC 6598), and private networks over the public one use.
        [100, second, ..] if second & 0xC0 == 64 => Realm::Private,
        [172, second, ..] if second & 0xF0 == 16 => Realm::Private,
        // Multicast and reserved ones, link-local, protocol assignments, relays of 6to4, benchmarks, documentation.
        [0 | 224..=255, ..]
        | [169, 254, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _] => Realm::Nowhere,
        _ => Realm::Public,
    }
}

/// The realm of an IPv6 address: only 2000::/3 is public, and not all of that.
fn realm_of_v6(address: Ipv6Addr) -> Realm {
    let [first, second, ..] = address.segments();
    let last = || {
        let [.., a, b, c, d] = address.octets();
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Realm::Private,
        // An IPv4 address in another form, and one behind a translator (RFC 6052).
        [0, 0, 0, 0, 0, 0xFFFF, ..] | [0x64, 0xFF9B, 0, 0, 0, 0, ..] => realm_of_v4(last()),
        // AWS keeps its metadata service in a private range.
        [0xFD00, 0xEC2, ..] => Realm::Nowhere,
        _ if first & 0xFE00 == 0xFC00 => Realm::Private,
        _ if first & 0xE000 != 0x2000 => Realm::Nowhere,
        // Teredo, ORCHID, benchmarks; 6to4; documentation.
        _ if first == 0x2001 && second < 0x200 => Realm::Nowhere,
        _ if first == 0x2002 || (first, second) == (0x2001, 0xDB8) => Realm::Nowhere,
        // Documentation (RFC 9637), and the former 6bone.
        _ if first & 0xFFF0 == 0x3FF0 => Realm::Nowhere,
        _ => Realm::Public,
    }
}

pub(super) fn realm(address: IpAddr) -> Realm {
    match address {
        IpAddr::V4(address) => realm_of_v4(address),
        IpAddr::V6(address) => realm_of_v6(address),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Public,
    Any,
    /// Private ones: what is sent there is not encrypted.
    Private,
}

impl Rule {
    /// For a target of that scheme; `None` where the scheme is not allowed.
    pub(super) fn of(url: &Url, allow_private: bool) -> Option<Self> {
        match (url.scheme(), allow_private) {
            ("https", false) => Some(Self::Public),
            ("https", true) => Some(Self::Any),
            ("http", true) => Some(Self::Private),
            _ => None,
        }
    }

    pub(super) fn allows(self, address: IpAddr) -> bool {
        match (realm(address), self) {
            (Realm::Nowhere, _) => false,
            (Realm::Public, rule) => rule != Self::Private,
            (Realm::Private, rule) => rule != Self::Public,
        }
    }

    /// Whether an address literal in `url` is allowed. The client connects to a literal without resolving anything.
    pub(super) fn allows_literal(self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        // Anything else is a name, and is judged when it is resolved. Other notations of an address were normalized
        // when the URL was read.
        bare.parse().map_or(true, |address| self.allows(address))
    }
}

/// Resolves names, and returns only the allowed addresses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guarded(pub(super) Rule);

#[derive(Debug, derive_more::Display)]
#[display("its name leads to no address that is allowed")]
pub(super) struct NotAllowed;

impl std::error::Error for NotAllowed {}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let rule = self.0;
        let name = name.as_str().to_owned();
        Box::pin(async move {
            // The client connects to exactly these addresses, so that a name cannot resolve differently later (DNS
            // rebinding).
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|one| rule.allows(one.ip())).collect();
            if allowed.is_empty() {
                return Err(NotAllowed.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_network_are_public() {
        use Realm::{Nowhere, Private, Public};
        for (expected, addresses) in [
            (
                Public,
                "8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.0 100.63.255.255 100.128.0.0 192.0.1.1 169.253.1.1 \
                 223.255.255.255 2606:4700:4700::1111 2a00:1450:4001::1 64:ff9b::808:808 ::ffff:8.8.8.8",
            ),
            (
                Private,
                "127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 \
                 100.127.255.255 ::1 ::ffff:127.0.0.1 ::ffff:10.1.2.3 64:ff9b::7f00:1 fc00::1 fd12:3456::1",
            ),
            (
                Nowhere,
                "0.0.0.0 0.1.2.3 169.254.169.254 100.100.100.200 168.63.129.16 192.0.0.192 192.0.2.1 192.88.99.1 \
                 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 :: \
                 ::127.0.0.1 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1::1 fd00:ec2::254 fe80::1 fec0::1 \
                 ff02::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 3fff::1 4000::1",
            ),
        ] {
            for address in addresses.split(' ') {
                assert_eq!(realm(address.parse().unwrap()), expected, "{address}");
            }
        }
    }

    #[test]
    fn an_address_in_a_url_is_judged_in_every_way_of_writing_it() {
        for url in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f.0.0.1/",
            "https://0177.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:7f00:1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://10.0.0.8:8443/",
            "https://169.254.169.254/latest",
            "https://0/",
            "https://１２７.0.0.1/",
        ] {
            let url: Url = url.parse().unwrap();
            assert!(!Rule::Public.allows_literal(&url), "{url}");
        }
        for url in [
            "https://8.8.8.8/",
            "https://example.com/",
            "https://[2606:4700::1]/",
        ] {
            assert!(Rule::Public.allows_literal(&url.parse().unwrap()), "{url}");
        }
        let link_local: Url = "http://169.254.169.254/".parse().unwrap();
        assert!(!Rule::Any.allows_literal(&link_local));
        assert!(!Rule::Private.allows_literal(&link_local));
        // What leaves the installation is encrypted.
        assert!(!Rule::Private.allows_literal(&"http://8.8.8.8/".parse().unwrap()));
        assert!(Rule::Private.allows_literal(&"http://127.0.0.1/".parse().unwrap()));
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_not_allowed() {
        let resolve = async |rule| {
            let name = "localhost".parse().unwrap();
            Guarded(rule).resolve(name).await
        };
        let Err(refused) = resolve(Rule::Public).await else {
            panic!("it is looked up");
        };
        assert!(refused.is::<NotAllowed>());
        let found: Vec<SocketAddr> = resolve(Rule::Any)
            .await
            .unwrap_or_else(|_| panic!())
            .collect();
        assert!(!found.is_empty());
        assert!(found.iter().all(|found| found.ip().is_loopback()));
    }
}
