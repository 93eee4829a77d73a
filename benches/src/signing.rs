//! Signing of requests: ours, and what others do in the same time.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use chrono::Utc;
use magnum_certs::{Authority, AuthorityKind, ClusterPki, Csr, KeyAlgorithm, PkiOptions, Profile};
use secrecy::ExposeSecret as _;

use crate::Error;

/// One key type's authority and request, on disk for other programs.
pub struct Signing {
    /// The key type of authority and requester.
    pub algorithm: KeyAlgorithm,
    authority: Authority,
    csr: String,
    folder: tempfile::TempDir,
}

impl std::fmt::Debug for Signing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signing")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// A script that signs the same request for a number of seconds, with Python's `cryptography`, and prints signatures per second.
const PYTHON: &str = r"
import datetime, sys, time
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
ca = x509.load_pem_x509_certificate(open('ca.pem', 'rb').read())
key = serialization.load_pem_private_key(open('ca.key', 'rb').read(), None)
text = open('csr.pem', 'rb').read()
digest = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
end, count, began = float(sys.argv[1]), 0, time.perf_counter()
now = datetime.datetime.now(datetime.timezone.utc)
while time.perf_counter() - began < end:
    csr = x509.load_pem_x509_csr(text)
    assert csr.is_signature_valid
    (x509.CertificateBuilder().subject_name(csr.subject).issuer_name(ca.subject).public_key(csr.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(False, None), True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.public_key()), False)
        .sign(key, digest).public_bytes(serialization.Encoding.PEM))
    count += 1
print(count / (time.perf_counter() - began))
";

impl Signing {
    /// Makes an authority and a request of a key type.
    ///
    /// # Errors
    /// Where `openssl`, which makes the request, is not there.
    pub fn prepare(algorithm: KeyAlgorithm, key_options: &[&str]) -> Result<Self, Error> {
        let life = Duration::from_secs(3600 * 24);
        let kind = AuthorityKind::Kubernetes;
        let authority = Authority::create(kind, "bench", algorithm, life, Utc::now())?;
        let folder = tempfile::tempdir()?;
        let mut request = Command::new("openssl");
        request.current_dir(folder.path());
        request.args(["req", "-new", "-nodes", "-subj", "/CN=alice"]);
        request
            .args(["-keyout", "user.key", "-out", "csr.pem"])
            .args(key_options);
        quietly(&mut request)?;
        let key = authority.key_pem().ok_or("the key is here")?;
        std::fs::write(
            folder.path().join("ca.pem"),
            authority.certificate().to_pem(),
        )?;
        std::fs::write(folder.path().join("ca.key"), key.expose_secret())?;
        Ok(Self {
            algorithm,
            authority,
            csr: std::fs::read_to_string(folder.path().join("csr.pem"))?,
            folder,
        })
    }

    /// Reads the request, checks its signature, signs it and writes the certificate as PEM, once.
    ///
    /// # Errors
    /// None that is expected.
    pub fn sign(&self) -> Result<String, Error> {
        let profile = Profile::User {
            user: "alice".to_owned(),
            groups: Vec::new(),
        };
        let csr = Csr::from_pem(&self.csr)?;
        let signed = self.authority.sign_csr(&csr, &profile, None, Utc::now())?;
        Ok(signed.to_pem())
    }

    /// Our signatures per second on one thread.
    ///
    /// # Errors
    /// As [`sign`](Self::sign).
    pub fn ours(&self, time: Duration) -> Result<f64, Error> {
        rate(time, || self.sign().map(drop))
    }

    /// Runs of `openssl x509 -req` per second, one after the other, each a process of its own.
    ///
    /// # Errors
    /// Where it is not there or fails.
    pub fn openssl(&self, time: Duration) -> Result<f64, Error> {
        rate(time, || {
            let mut sign = self.command("openssl");
            sign.args(["x509", "-req", "-in", "csr.pem", "-CA", "ca.pem", "-CAkey"]);
            sign.args(["ca.key", "-days", "1", "-out", "signed.pem"]);
            quietly(&mut sign)
        })
    }

    /// Signatures per second of Python's `cryptography` in one process, its start not counted.
    ///
    /// # Errors
    /// Where it is not there or fails.
    pub fn python(&self, time: Duration) -> Result<f64, Error> {
        let mut sign = self.command("python3");
        sign.args(["-c", PYTHON, &time.as_secs_f64().to_string()]);
        let output = sign.output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(text.lines().last().unwrap_or("it failed").to_owned().into());
        }
        Ok(String::from_utf8(output.stdout)?.trim().parse()?)
    }

    fn command(&self, program: &str) -> Command {
        let folder: &Path = self.folder.path();
        let mut command = Command::new(program);
        command.current_dir(folder);
        command
    }
}

/// All keys and certificates of a new cluster with the default options: three authorities, the service-account key, and the bundle for
/// the control plane.
///
/// # Errors
/// None that is expected.
pub fn cluster_pki() -> Result<usize, Error> {
    let pki = ClusterPki::generate("bench", PkiOptions::default(), Utc::now())?;
    Ok(pki.control_plane_files()?.len())
}

fn quietly(command: &mut Command) -> Result<(), Error> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
}

fn rate(time: Duration, mut once: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    once()?;
    let (began, mut count) = (Instant::now(), 0_u32);
    while began.elapsed() < time {
        once()?;
        count += 1;
    }
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}
