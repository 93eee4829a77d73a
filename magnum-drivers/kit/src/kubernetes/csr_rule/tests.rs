use rcgen::{CertificateParams, DnType, KeyPair, SanType};

use super::*;

/// A kubelet's request with the given subject and names.
fn pem(common_name: &str, organization: &str, names: &[&str]) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, organization);
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.subject_alt_names = names
        .iter()
        .map(|name| match name.parse::<IpAddr>() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) => SanType::DnsName((*name).try_into().unwrap()),
        })
        .collect();
    params
        .serialize_request(&KeyPair::generate().unwrap())
        .unwrap()
        .pem()
        .unwrap()
}

fn request(pem: String) -> SigningRequest {
    SigningRequest {
        name: "csr-1".into(),
        uid: "u".into(),
        signer: KUBELET_SERVING_SIGNER.into(),
        username: "system:node:demo-w-7f2kq".into(),
        groups: vec!["system:nodes".into(), "system:authenticated".into()],
        usages: vec!["digital signature".into(), "server auth".into()],
        request: pem,
        decided: false,
    }
}

fn good() -> SigningRequest {
    request(pem(
        "system:node:demo-w-7f2kq",
        "system:nodes",
        &["demo-w-7f2kq", "10.0.0.21"],
    ))
}

fn judged(request: &SigningRequest) -> ServingVerdict {
    judge_serving_request(request, |node| {
        (node == "demo-w-7f2kq").then(|| vec!["10.0.0.21".parse().unwrap()])
    })
}

fn refused(request: &SigningRequest, words: &str) {
    match judged(request) {
        ServingVerdict::Refuse(reason) => assert!(reason.contains(words), "{reason}"),
        other => panic!("{other:?} instead of a refusal for {words}"),
    }
}

#[test]
fn a_member_that_asks_for_itself_is_approved() {
    assert_eq!(
        judged(&good()),
        ServingVerdict::Approve {
            node: "demo-w-7f2kq".into()
        }
    );
}

#[test]
fn other_signers_and_decided_requests_are_left_alone() {
    let other = SigningRequest {
        signer: "kubernetes.io/kube-apiserver-client-kubelet".into(),
        ..good()
    };
    assert_eq!(judged(&other), ServingVerdict::Ignore);
    assert_eq!(
        judged(&SigningRequest {
            decided: true,
            ..good()
        }),
        ServingVerdict::Ignore
    );
}

#[test]
fn whoever_else_asks_is_refused() {
    refused(
        &SigningRequest {
            username: "kubernetes-admin".into(),
            ..good()
        },
        "is no node",
    );
    refused(
        &SigningRequest {
            groups: vec![],
            ..good()
        },
        "not in the group",
    );
    refused(
        &SigningRequest {
            username: "system:node:stranger".into(),
            ..good()
        },
        "no member",
    );
    refused(
        &SigningRequest {
            request: String::new(),
            ..good()
        },
        "PEM",
    );
}

#[test]
fn a_node_gets_nothing_for_another_subject_or_other_names() {
    refused(
        &request(pem("system:node:other", "system:nodes", &["demo-w-7f2kq"])),
        "subject",
    );
    refused(
        &request(pem(
            "system:node:demo-w-7f2kq",
            "system:masters",
            &["demo-w-7f2kq"],
        )),
        "subject",
    );
    let names = ["demo-w-7f2kq", "10.0.0.22", "api.example.org"];
    refused(
        &request(pem("system:node:demo-w-7f2kq", "system:nodes", &names)),
        "10.0.0.22",
    );
    refused(
        &request(pem("system:node:demo-w-7f2kq", "system:nodes", &[])),
        "no names",
    );
}

#[test]
fn usages_of_a_client_are_refused() {
    refused(
        &SigningRequest {
            usages: vec!["server auth".into(), "client auth".into()],
            ..good()
        },
        "client auth",
    );
    refused(
        &SigningRequest {
            usages: vec!["digital signature".into()],
            ..good()
        },
        "missing",
    );
}
