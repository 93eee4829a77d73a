//! Any body of any error status is a typed error with a short message and no traceback. The first two bytes are the
//! status, the third the service.

#![no_main]

use libfuzzer_sys::fuzz_target;
use magnum_heat::{ApiError, ServiceType};

const SERVICES: [ServiceType; 4] = [
    ServiceType::Orchestration,
    ServiceType::Compute,
    ServiceType::Network,
    ServiceType::Identity,
];

fuzz_target!(|data: &[u8]| {
    let [high, low, service, body @ ..] = data else { return };
    let status = 300 + u16::from_be_bytes([*high, *low]) % 300;
    let body = body.to_vec().into();
    let Ok(answer) = http::Response::builder().status(status).body(body) else { return };
    let service = SERVICES[usize::from(*service) % SERVICES.len()];
    let error = ApiError::decode("fuzz", service, &answer, chrono::Utc::now());
    assert_eq!(error.status.as_u16(), status);
    assert!(error.message.len() <= 610, "{}", error.message.len());
    assert!(!error.to_string().contains("Traceback"));
});
