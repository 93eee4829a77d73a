//! The few DER productions that a certificate needs.
//!
//! Certificates are written by this crate itself, not by a builder, for three reasons: a Kubernetes
//! identity with several groups is a subject with several `O` attributes, a leaf's public key must be
//! byte-equal to the one in its request, and a leaf's issuer must be byte-equal to the subject of its
//! authority even when that one was made elsewhere.

use chrono::{DateTime, Datelike, Utc};

/// DER tags in use.
pub(crate) mod tag {
    pub(crate) const BOOLEAN: u8 = 0x01;
    pub(crate) const INTEGER: u8 = 0x02;
    pub(crate) const BIT_STRING: u8 = 0x03;
    pub(crate) const OCTET_STRING: u8 = 0x04;
    pub(crate) const OID: u8 = 0x06;
    pub(crate) const ENUMERATED: u8 = 0x0a;
    pub(crate) const UTF8: u8 = 0x0c;
    pub(crate) const UTC_TIME: u8 = 0x17;
    pub(crate) const GENERALIZED_TIME: u8 = 0x18;
    pub(crate) const SEQUENCE: u8 = 0x30;
    pub(crate) const SET: u8 = 0x31;
}

/// Encoded object identifiers (content octets).
pub(crate) mod oid {
    pub(crate) const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
    pub(crate) const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
    pub(crate) const SUBJECT_KEY_ID: &[u8] = &[0x55, 0x1d, 0x0e];
    pub(crate) const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
    pub(crate) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];
    pub(crate) const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
    pub(crate) const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 0x23];
    pub(crate) const EXT_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
    pub(crate) const CRL_NUMBER: &[u8] = &[0x55, 0x1d, 0x14];
    pub(crate) const CRL_REASON: &[u8] = &[0x55, 0x1d, 0x15];
    pub(crate) const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
    pub(crate) const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];
    pub(crate) const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    pub(crate) const ECDSA_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
    pub(crate) const RSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
    pub(crate) const CURVE_P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    pub(crate) const CURVE_P384: &[u8] = &[0x2b, 0x81, 4, 0, 0x22];
    pub(crate) const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
}

/// One tag, length, value.
pub(crate) fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 6);
    out.push(tag);
    let length = content.len();
    if length < 0x80 {
        out.push(u8::try_from(length).unwrap_or(0x7f));
    } else {
        let bytes = length.to_be_bytes();
        let skip = bytes.iter().take_while(|b| **b == 0).count();
        let digits = bytes.get(skip..).unwrap_or(&bytes);
        out.push(0x80 | u8::try_from(digits.len()).unwrap_or(8));
        out.extend_from_slice(digits);
    }
    out.extend_from_slice(content);
    out
}

/// A SEQUENCE of parts that are encoded already.
pub(crate) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tlv(tag::SEQUENCE, &parts.concat())
}

/// An OBJECT IDENTIFIER.
pub(crate) fn oid(content: &[u8]) -> Vec<u8> {
    tlv(tag::OID, content)
}

/// A non-negative INTEGER from its big-endian magnitude, in the shortest form.
pub(crate) fn unsigned(magnitude: &[u8]) -> Vec<u8> {
    let skip = magnitude.iter().take_while(|b| **b == 0).count();
    let digits = magnitude.get(skip..).unwrap_or_default();
    let mut content = Vec::with_capacity(digits.len() + 1);
    if digits.first().is_none_or(|b| b & 0x80 != 0) {
        content.push(0);
    }
    content.extend_from_slice(digits);
    tlv(tag::INTEGER, &content)
}

/// A BIT STRING of whole octets.
pub(crate) fn bit_string(content: &[u8]) -> Vec<u8> {
    let mut bits = Vec::with_capacity(content.len() + 1);
    bits.push(0);
    bits.extend_from_slice(content);
    tlv(tag::BIT_STRING, &bits)
}

/// A named-bit BIT STRING (trailing zero bits are cut, as DER wants). Bit 0 is the most significant.
pub(crate) fn named_bits(bits: u8) -> Vec<u8> {
    if bits == 0 {
        return tlv(tag::BIT_STRING, &[0]);
    }
    let unused = u8::try_from(bits.trailing_zeros()).unwrap_or(0);
    tlv(tag::BIT_STRING, &[unused, bits])
}

/// A Time: `UTCTime` up to 2049, `GeneralizedTime` afterwards (RFC 5280, 4.1.2.5), always UTC.
pub(crate) fn time(at: DateTime<Utc>) -> Vec<u8> {
    if (1950..2050).contains(&at.year()) {
        tlv(
            tag::UTC_TIME,
            at.format("%y%m%d%H%M%SZ").to_string().as_bytes(),
        )
    } else {
        tlv(
            tag::GENERALIZED_TIME,
            at.format("%Y%m%d%H%M%SZ").to_string().as_bytes(),
        )
    }
}

/// One X.509 extension.
pub(crate) fn extension(id: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let id = oid(id);
    let value = tlv(tag::OCTET_STRING, value);
    if critical {
        sequence(&[&id, &tlv(tag::BOOLEAN, &[0xff]), &value])
    } else {
        sequence(&[&id, &value])
    }
}

/// One relative distinguished name with one attribute.
pub(crate) fn rdn(id: &[u8], value: &str) -> Vec<u8> {
    tlv(
        tag::SET,
        &sequence(&[&oid(id), &tlv(tag::UTF8, value.as_bytes())]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;

    #[test]
    fn lengths_take_the_shortest_form() {
        assert_eq!(tlv(4, &[1]), [4, 1, 1]);
        assert_eq!(tlv(4, &[0; 0x80])[..3], [4, 0x81, 0x80]);
        assert_eq!(tlv(4, &[0; 0x1234])[..4], [4, 0x82, 0x12, 0x34]);
    }

    #[test]
    fn integers_are_positive_and_minimal() {
        assert_eq!(unsigned(&[0, 0, 0x7f]), [2, 1, 0x7f]);
        assert_eq!(unsigned(&[0x80]), [2, 2, 0, 0x80]);
        assert_eq!(unsigned(&[]), [2, 1, 0]);
    }

    #[test]
    fn named_bits_are_cut() {
        // keyCertSign (5) and cRLSign (6)
        assert_eq!(named_bits(0b0000_0110), [3, 2, 1, 0b0000_0110]);
        // digitalSignature (0)
        assert_eq!(named_bits(0b1000_0000), [3, 2, 7, 0x80]);
    }

    #[test]
    fn times_change_form_in_2050() {
        let early = Utc.with_ymd_and_hms(2049, 12, 31, 23, 59, 59).unwrap();
        let late = Utc.with_ymd_and_hms(2050, 1, 1, 0, 0, 0).unwrap();
        assert_eq!(&time(early)[2..], b"491231235959Z");
        assert_eq!(&time(late)[2..], b"20500101000000Z");
    }
}
