//! Which addresses belong to the public internet. Everything else (this machine,
//! its network, cloud metadata services, and other ways of writing them) is
//! reached only if a grant names it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether anyone on the internet could reach this address.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, d] = address.octets();
    let special = match a {
        // Carrier-grade NAT; Alibaba's metadata service lives here.
        100 => (64..128).contains(&b),
        // Link-local; the metadata service of most clouds lives here.
        169 => b == 254,
        // Azure's host, reachable from its guests only.
        168 => (b, c, d) == (63, 129, 16),
        172 => (16..32).contains(&b),
        // Protocol assignments, documentation, 6to4 relays, private.
        192 => matches!((b, c), (0, 0 | 2) | (88, 99) | (168, _)),
        // Benchmarks, documentation.
        198 => matches!((b, c), (18 | 19, _) | (51, 100)),
        203 => (b, c) == (0, 113),
        // "This network", private, loopback; multicast, reserved, broadcast.
        0 | 10 | 127 | 224.. => true,
        _ => false,
    };
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // IPv4-mapped, and NAT64's well-known prefix: as public as what they carry.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        // 6to4, likewise.
        [0x2002, high, low, ..] => embedded(high, low),
        // Teredo and other protocol assignments; documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // ISATAP carries an IPv4 address behind any prefix.
        [first, _, _, _, 0 | 0x200, 0x5efe, high, low] if is_global_unicast(first) => {
            embedded(high, low)
        }
        // All that is public so far lies in 2000::/3; loopback, unspecified,
        // unique-local, link-local and multicast lie outside.
        [first, ..] => is_global_unicast(first),
    }
}

fn is_global_unicast(first: u16) -> bool {
    first & 0xe000 == 0x2000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_internet_are_public() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "168.63.129.17",
            "169.253.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001::200e",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert!(is_public(address.parse().expect("an address")), "{address}");
        }
    }

    #[test]
    fn every_other_address_is_not() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:c0a8:101::",
            "2606:4700::5efe:10.0.0.1",
            "2606:4700::200:5efe:127.0.0.1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().expect("an address")), "{address}");
        }
    }
}
