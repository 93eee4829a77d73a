//! The check that kubeadm will take a bundle.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use secrecy::ExposeSecret as _;

use super::problem::BundleProblem;
use super::{NodeFile, PKI_DIR, stem};
use crate::{AuthorityKind, Certificate, Error, PrivateKey, PublicKey};

/// Checks that kubeadm would take the PKI files among `files` as they are, by its own rules: the pairs are complete and belong
/// together, keys are RSA or ECDSA, authorities are authorities and valid at `now`; and by ours: modes, owners, authorities differ.
///
/// # Errors
/// [`Error::BadBundle`] with every problem found.
pub fn check_bundle(files: &[NodeFile], now: DateTime<Utc>) -> Result<(), Error> {
    let mut check = Check {
        files: BTreeMap::new(),
        problems: Vec::new(),
    };
    let prefix = format!("{PKI_DIR}/");
    for file in files {
        if let Some(name) = file.path.strip_prefix(&prefix)
            && check.files.insert(name, file).is_some()
        {
            check.problems.push(BundleProblem::Duplicate {
                path: file.path.clone(),
            });
        }
    }
    let authorities: Vec<_> = AuthorityKind::ALL
        .into_iter()
        .filter_map(|kind| check.authority(stem(kind), now))
        .collect();
    for (index, (path, one)) in authorities.iter().enumerate() {
        for (other, two) in authorities.iter().skip(index + 1) {
            if one.subject_der() == two.subject_der() || one.public_key() == two.public_key() {
                check.problems.push(BundleProblem::Shared {
                    path: path.clone(),
                    other: other.clone(),
                });
            }
        }
    }
    check.service_account();
    for name in check.files.keys() {
        check.problems.push(BundleProblem::Unexpected {
            path: format!("{PKI_DIR}/{name}"),
        });
    }
    if check.problems.is_empty() {
        Ok(())
    } else {
        Err(Error::BadBundle(check.problems))
    }
}

struct Check<'a> {
    files: BTreeMap<&'a str, &'a NodeFile>,
    problems: Vec<BundleProblem>,
}

impl<'a> Check<'a> {
    /// Takes a file out of the set, checking mode and owner.
    fn take(&mut self, name: &str, expected: u32) -> Option<&'a NodeFile> {
        let Some(file) = self.files.remove(name) else {
            self.problems.push(BundleProblem::Missing {
                path: format!("{PKI_DIR}/{name}"),
            });
            return None;
        };
        if file.mode != expected || file.owner != "root:root" {
            self.problems.push(BundleProblem::BadMode {
                path: file.path.clone(),
                mode: file.mode,
                owner: file.owner.clone(),
                expected,
            });
        }
        Some(file)
    }

    fn parsed<T>(
        &mut self,
        file: &NodeFile,
        parse: impl FnOnce(&str) -> Result<T, Error>,
    ) -> Option<T> {
        parse(file.content.expose_secret())
            .map_err(|error| {
                self.problems.push(BundleProblem::Unreadable {
                    path: file.path.clone(),
                    reason: error.to_string(),
                });
            })
            .ok()
    }

    fn key(&mut self, name: &str) -> Option<(String, PublicKey)> {
        let file = self.take(name, 0o600)?;
        let key = self.parsed(file, PrivateKey::from_pem)?;
        if key.public_key().is_ed25519() {
            self.problems.push(BundleProblem::UnsupportedKey {
                path: file.path.clone(),
            });
        }
        Some((file.path.clone(), key.public_key().clone()))
    }

    fn authority(&mut self, stem: &str, now: DateTime<Utc>) -> Option<(String, Certificate)> {
        let key = self.key(&format!("{stem}.key"));
        let file = self.take(&format!("{stem}.crt"), 0o644)?;
        let path = file.path.clone();
        let bundle = self.parsed(file, Certificate::bundle_from_pem)?;
        // kubeadm takes the first certificate of the file as the authority.
        let first = bundle.into_iter().next()?;
        if !first.is_authority() {
            self.problems
                .push(BundleProblem::NotAnAuthority { path: path.clone() });
        }
        if !first.is_valid_at(now) {
            self.problems.push(BundleProblem::NotValid {
                path: path.clone(),
                not_before: first.not_before(),
                not_after: first.not_after(),
            });
        }
        if let Some((key_path, key)) = key
            && &key != first.public_key()
        {
            self.problems.push(BundleProblem::Mismatch {
                path: key_path,
                partner: path.clone(),
            });
        }
        Some((path, first))
    }

    fn service_account(&mut self) {
        let key = self.key("sa.key");
        let Some(file) = self.take("sa.pub", 0o644) else {
            return;
        };
        let Some(public) = self.parsed(file, PublicKey::first_from_pem) else {
            return;
        };
        if let Some((path, key)) = key
            && key != public
        {
            self.problems.push(BundleProblem::Mismatch {
                path,
                partner: file.path.clone(),
            });
        }
    }
}
