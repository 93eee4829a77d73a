//! Mutual TLS in memory.

use std::sync::Arc;

use magnum_certs::{Certificate, Credential};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use secrecy::ExposeSecret as _;

fn roots(bundle: &str) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    for certificate in Certificate::bundle_from_pem(bundle).unwrap() {
        roots
            .add(CertificateDer::from(certificate.der().to_vec()))
            .unwrap();
    }
    roots
}

fn identity(credential: &Credential) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let key =
        PrivateKeyDer::from_pem_slice(credential.key_pem().expose_secret().as_bytes()).unwrap();
    (
        vec![CertificateDer::from(
            credential.certificate().der().to_vec(),
        )],
        key,
    )
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

pub(crate) fn server(credential: &Credential, trust: &str) -> Arc<ServerConfig> {
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(trust)), provider())
        .build()
        .unwrap();
    let (chain, key) = identity(credential);
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap();
    Arc::new(
        builder
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .unwrap(),
    )
}

pub(crate) fn client(credential: &Credential, trust: &str) -> Arc<ClientConfig> {
    let (chain, key) = identity(credential);
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap();
    Arc::new(
        builder
            .with_root_certificates(roots(trust))
            .with_client_auth_cert(chain, key)
            .unwrap(),
    )
}

/// A handshake in memory.
pub(crate) fn shake(
    server: &Arc<ServerConfig>,
    client: &Arc<ClientConfig>,
    name: &str,
) -> Result<(), rustls::Error> {
    let mut server = ServerConnection::new(Arc::clone(server))?;
    let mut client = ClientConnection::new(
        Arc::clone(client),
        ServerName::try_from(name.to_owned()).unwrap(),
    )?;
    while server.is_handshaking() || client.is_handshaking() {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        let mut rest = wire.as_slice();
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets()?;
        }
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let mut rest = wire.as_slice();
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets()?;
        }
    }
    Ok(())
}
