//! Writes and signs certificates.

use chrono::{DateTime, Utc};

use crate::certificate::Certificate;
use crate::{AltNames, Error, PublicKey, Signer, der};

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usage {
    /// Sign certificates and revocation lists, one level deep.
    Authority,
    /// Speak TLS.
    Leaf { server: bool, client: bool },
}

/// A certificate before it is signed.
#[derive(Debug)]
pub(crate) struct Tbs<'a> {
    pub(crate) issuer: &'a [u8],
    /// `None` for a self-signed certificate.
    pub(crate) authority_key_id: Option<&'a [u8]>,
    pub(crate) subject: &'a [u8],
    pub(crate) public_key: &'a PublicKey,
    pub(crate) names: &'a AltNames,
    pub(crate) usage: Usage,
    pub(crate) not_before: DateTime<Utc>,
    pub(crate) not_after: DateTime<Utc>,
}

/// Signs with a fresh random 128-bit serial number.
pub(crate) fn sign(tbs: &Tbs<'_>, signer: &dyn Signer) -> Result<Certificate, Error> {
    let mut serial = [0_u8; 16];
    aws_lc_rs::rand::fill(&mut serial).map_err(|_| Error::Crypto {
        operation: "draw a serial number",
    })?;
    let algorithm = signer.scheme().identifier();
    let extensions = extensions(tbs);
    let content = der::sequence(&[
        &der::tlv(0xa0, &der::unsigned(&[2])),
        &der::unsigned(&serial),
        &algorithm,
        tbs.issuer,
        &der::sequence(&[&der::time(tbs.not_before), &der::time(tbs.not_after)]),
        tbs.subject,
        tbs.public_key.der(),
        &der::tlv(0xa3, &extensions),
    ]);
    Certificate::from_der(&sealed(&content, &algorithm, signer)?)
}

/// The outer SIGNED structure of certificates and revocation lists.
pub(crate) fn sealed(
    content: &[u8],
    algorithm: &[u8],
    signer: &dyn Signer,
) -> Result<Vec<u8>, Error> {
    let signature = signer.sign(content)?;
    Ok(der::sequence(&[
        content,
        algorithm,
        &der::bit_string(&signature),
    ]))
}

/// The keyIdentifier form of the authority key identifier extension.
pub(crate) fn authority_key_id(id: &[u8]) -> Vec<u8> {
    der::extension(
        der::oid::AUTHORITY_KEY_ID,
        false,
        &der::sequence(&[&der::tlv(0x80, id)]),
    )
}

fn extensions(tbs: &Tbs<'_>) -> Vec<u8> {
    const DIGITAL_SIGNATURE: u8 = 0x80;
    const KEY_ENCIPHERMENT: u8 = 0x20;
    const KEY_CERT_SIGN: u8 = 0x04;
    const CRL_SIGN: u8 = 0x02;
    let mut all = Vec::new();
    let mut push =
        |id, critical, value: &[u8]| all.extend_from_slice(&der::extension(id, critical, value));
    match tbs.usage {
        Usage::Authority => {
            let constraints = [der::tlv(der::tag::BOOLEAN, &[0xff]), der::unsigned(&[0])].concat();
            push(
                der::oid::BASIC_CONSTRAINTS,
                true,
                &der::sequence(&[&constraints]),
            );
            push(
                der::oid::KEY_USAGE,
                true,
                &der::named_bits(DIGITAL_SIGNATURE | KEY_CERT_SIGN | CRL_SIGN),
            );
        }
        Usage::Leaf { server, client } => {
            push(der::oid::BASIC_CONSTRAINTS, true, &der::sequence(&[]));
            // Key encipherment is a thing of RSA key exchange only.
            let bits = if tbs.public_key.is_rsa() {
                DIGITAL_SIGNATURE | KEY_ENCIPHERMENT
            } else {
                DIGITAL_SIGNATURE
            };
            push(der::oid::KEY_USAGE, true, &der::named_bits(bits));
            let mut purposes = Vec::new();
            if server {
                purposes.extend_from_slice(&der::oid(der::oid::SERVER_AUTH));
            }
            if client {
                purposes.extend_from_slice(&der::oid(der::oid::CLIENT_AUTH));
            }
            push(der::oid::EXT_KEY_USAGE, false, &der::sequence(&[&purposes]));
        }
    }
    push(
        der::oid::SUBJECT_KEY_ID,
        false,
        &der::tlv(der::tag::OCTET_STRING, &tbs.public_key.key_id()),
    );
    if !tbs.names.is_empty() {
        push(der::oid::SUBJECT_ALT_NAME, false, &tbs.names.to_der());
    }
    if let Some(id) = tbs.authority_key_id {
        all.extend_from_slice(&authority_key_id(id));
    }
    der::sequence(&[&all])
}
