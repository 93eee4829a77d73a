//! Certificate signing requests: a hostile input, read strictly.

use std::collections::BTreeSet;
use std::fmt;

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::extensions::{ParsedExtension, X509Extension};
use x509_parser::prelude::FromDer as _;

use crate::certificate::{alt_names, attributes};
use crate::{AltNames, Error, PublicKey, der, pem};

/// Largest request that is read, in bytes of PEM text or DER. An RSA-8192 request with a hundred names has about 5 KiB.
pub const MAX_CSR_BYTES: usize = 64 * 1024;

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CsrProblem {
    /// More than [`MAX_CSR_BYTES`].
    #[error("{size} bytes; at most {MAX_CSR_BYTES} are read")]
    TooLarge {
        /// Size of the input in bytes.
        size: usize,
    },
    /// Not one PEM block `CERTIFICATE REQUEST`: nothing, several, other labels, or text around it.
    #[error("not exactly one PEM block \"CERTIFICATE REQUEST\": {0}")]
    NotOnePemBlock(&'static str),
    /// The block is not PKCS#10.
    #[error("not a PKCS#10 request")]
    NotPkcs10,
    /// Bytes after the request.
    #[error("trailing data after the request")]
    TrailingData,
    /// The signature does not verify with the request's own key.
    #[error("the signature does not verify with the request's key")]
    WrongSignature,
    /// Signed with a broken hash (MD5, SHA-1).
    #[error("signed with a broken hash ({0}); SHA-256 or better is needed")]
    WeakSignature(&'static str),
    /// Signature algorithm that is not supported (object identifier).
    #[error("signature algorithm {0} is not supported")]
    UnsupportedSignature(String),
    /// The key is too weak or of an unsupported type.
    #[error("unusable key: {0}")]
    BadKey(String),
    /// It asks for `CA:TRUE`.
    #[error("it asks for a certificate authority (CA:TRUE)")]
    AsksForAuthority,
    /// It asks for a usage that no profile has.
    #[error("it asks for key usage {0}")]
    AsksForUsage(&'static str),
    /// A critical extension that is not understood (object identifier).
    #[error("critical extension {0} is not known")]
    UnknownCriticalExtension(String),
    /// An extension twice.
    #[error("extension {0} is there twice")]
    DuplicateExtension(String),
    /// An extension whose value cannot be read.
    #[error("extension {0} cannot be read")]
    BadExtension(String),
    /// A name that is not acceptable.
    #[error("bad name: {0}")]
    BadName(String),
}

/// A request whose form, signature and key have been checked.
///
/// It grants nothing by itself: see [`crate::Authority::sign_csr`].
#[derive(Clone, PartialEq, Eq)]
pub struct Csr {
    der: Vec<u8>,
    public_key: PublicKey,
    common_name: Option<String>,
    organizations: Vec<String>,
    names: AltNames,
}

impl Csr {
    /// Reads exactly one PEM block `CERTIFICATE REQUEST` (or `NEW CERTIFICATE REQUEST`); blank lines and CRLF are fine.
    ///
    /// # Errors
    /// [`Error::BadRequest`] with a [`CsrProblem`].
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_CSR_BYTES {
            return Err(CsrProblem::TooLarge { size: text.len() }.into());
        }
        let der = pem::decode_one(&[pem::label::REQUEST, pem::label::NEW_REQUEST], text).map_err(
            |error| match error {
                Error::BadPem { reason, .. } => CsrProblem::NotOnePemBlock(reason).into(),
                other => other,
            },
        )?;
        Self::from_der(&der)
    }

    /// Reads a request in DER.
    ///
    /// # Errors
    /// [`Error::BadRequest`] with a [`CsrProblem`].
    pub fn from_der(der: &[u8]) -> Result<Self, Error> {
        if der.len() > MAX_CSR_BYTES {
            return Err(CsrProblem::TooLarge { size: der.len() }.into());
        }
        Ok(Self::read(der)?)
    }

    fn read(der: &[u8]) -> Result<Self, CsrProblem> {
        let (rest, request) =
            X509CertificationRequest::from_der(der).map_err(|_| CsrProblem::NotPkcs10)?;
        if !rest.is_empty() {
            return Err(CsrProblem::TrailingData);
        }
        let info = &request.certification_request_info;
        let public_key =
            PublicKey::from_der(info.subject_pki.raw).map_err(|error| match error {
                Error::BadKey { reason } => CsrProblem::BadKey(reason),
                _ => CsrProblem::NotPkcs10,
            })?;
        check_signature(&request)?;
        let mut common_names = attributes(&info.subject, false);
        if common_names.len() > 1 {
            return Err(CsrProblem::BadName("several common names".to_owned()));
        }
        let mut extensions: Vec<&X509Extension<'_>> = Vec::new();
        for attribute in info.iter_attributes() {
            if let ParsedCriAttribute::ExtensionRequest(requested) = attribute.parsed_attribute() {
                extensions.extend(&requested.extensions);
            }
        }
        Ok(Self {
            der: der.to_vec(),
            public_key,
            common_name: common_names.pop(),
            organizations: attributes(&info.subject, true),
            names: read_extensions(&extensions)?,
        })
    }

    /// The request in DER.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// PEM block `CERTIFICATE REQUEST`.
    #[must_use]
    pub fn to_pem(&self) -> String {
        pem::encode(pem::label::REQUEST, &self.der)
    }

    /// The key to be certified.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    /// The common name that it asks for.
    #[must_use]
    pub fn common_name(&self) -> Option<&str> {
        self.common_name.as_deref()
    }

    /// The organizations that it asks for.
    #[must_use]
    pub fn organizations(&self) -> &[String] {
        &self.organizations
    }

    /// The subject alternative names that it asks for.
    #[must_use]
    pub fn names(&self) -> &AltNames {
        &self.names
    }
}

impl fmt::Debug for Csr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Csr")
            .field("common_name", &self.common_name)
            .field("organizations", &self.organizations)
            .field("names", &self.names)
            .field("public_key", &self.public_key)
            .finish()
    }
}

fn check_signature(request: &X509CertificationRequest<'_>) -> Result<(), CsrProblem> {
    use x509_parser::error::X509Error;
    let algorithm = request.signature_algorithm.algorithm.to_id_string();
    match algorithm.as_str() {
        "1.2.840.113549.1.1.5" | "1.3.14.3.2.29" | "1.2.840.10045.4.1" => {
            return Err(CsrProblem::WeakSignature("SHA-1"));
        }
        "1.2.840.113549.1.1.4" | "1.2.840.113549.1.1.2" => {
            return Err(CsrProblem::WeakSignature("MD5 or older"));
        }
        _ => {}
    }
    // What is not signed has one form only: the DER that we would write ourselves.
    let signature = der::bit_string(&request.signature_value.data);
    let id = der::oid(request.signature_algorithm.algorithm.as_bytes());
    let canonical = [der::sequence(&[&id]), der::sequence(&[&id, &[5, 0]])];
    let signed = request.certification_request_info.raw;
    if !canonical
        .iter()
        .any(|algorithm| der::sequence(&[signed, algorithm, &signature]) == request.as_raw())
    {
        return Err(CsrProblem::UnsupportedSignature(algorithm));
    }
    request.verify_signature().map_err(|error| match error {
        X509Error::SignatureUnsupportedAlgorithm => CsrProblem::UnsupportedSignature(algorithm),
        _ => CsrProblem::WrongSignature,
    })
}

fn read_extensions(extensions: &[&X509Extension<'_>]) -> Result<AltNames, CsrProblem> {
    let mut names = AltNames::new();
    let mut seen = BTreeSet::new();
    for extension in extensions {
        let id = extension.oid.to_id_string();
        if !seen.insert(id.clone()) {
            return Err(CsrProblem::DuplicateExtension(id));
        }
        match extension.parsed_extension() {
            ParsedExtension::BasicConstraints(constraints) if constraints.ca => {
                return Err(CsrProblem::AsksForAuthority);
            }
            ParsedExtension::KeyUsage(usage) => {
                if usage.key_cert_sign() {
                    return Err(CsrProblem::AsksForUsage("keyCertSign"));
                }
                if usage.crl_sign() {
                    return Err(CsrProblem::AsksForUsage("cRLSign"));
                }
            }
            ParsedExtension::SubjectAlternativeName(list) => {
                names = alt_names(&list.general_names, true)
                    .map_err(|error| CsrProblem::BadName(error.to_string()))?;
            }
            // The profile decides all of these.
            ParsedExtension::BasicConstraints(_)
            | ParsedExtension::ExtendedKeyUsage(_)
            | ParsedExtension::SubjectKeyIdentifier(_) => {}
            ParsedExtension::ParseError { .. } => return Err(CsrProblem::BadExtension(id)),
            _ if extension.critical => return Err(CsrProblem::UnknownCriticalExtension(id)),
            _ => {}
        }
    }
    Ok(names)
}
