//! What kind of failure a reason tells of.

use super::Reason;

/// Numbers of a quota failure, as far as the service gave them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QuotaNumbers {
    /// What ran out: `instances`, `cores`, `port`, ...
    pub resource: String,
    /// How many were asked for.
    pub requested: Option<u64>,
    /// How many are in use.
    pub used: Option<u64>,
    /// How many there may be.
    pub limit: Option<u64>,
}

/// Kind of a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CauseKind {
    /// A quota of the project is used up.
    Quota(QuotaNumbers),
    /// No host has room or fits.
    NoValidHost,
    /// A port could not be bound to its host.
    PortBinding,
    /// A network or subnet has no free address.
    NoAddress,
    /// The image is missing or unusable.
    Image,
    /// The flavor is missing or unusable.
    Flavor,
    /// Policy refused it.
    Policy,
    /// A limit of Heat.
    Limit,
    /// Time ran out.
    Timeout,
    /// A load balancer failed or cannot do what was asked.
    LoadBalancer,
    /// A node signalled failure.
    SignalFailure,
    /// A volume failed.
    Volume,
    /// Something that was referred to does not exist.
    NotFound,
    /// Anything else.
    Unknown,
}

impl CauseKind {
    /// Short word for tables and metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Quota(_) => "quota",
            Self::NoValidHost => "no-valid-host",
            Self::PortBinding => "port-binding",
            Self::NoAddress => "no-address",
            Self::Image => "image",
            Self::Flavor => "flavor",
            Self::Policy => "policy",
            Self::Limit => "limit",
            Self::Timeout => "timeout",
            Self::LoadBalancer => "load-balancer",
            Self::SignalFailure => "signal-failure",
            Self::Volume => "volume",
            Self::NotFound => "not-found",
            Self::Unknown => "unknown",
        }
    }

    /// The kind of a reason, with the type of the resource it is about where that is known.
    pub fn of(reason: &Reason, resource_type: Option<&str>) -> Self {
        let text = reason.message.to_ascii_lowercase();
        let has = |part: &str| text.contains(part);
        let error = reason.error.as_str();
        let of_type = |prefix: &str| resource_type.is_some_and(|t| t.starts_with(prefix));
        if let Some(numbers) = quota(&reason.message) {
            return Self::Quota(numbers);
        }
        match error {
            "WaitConditionFailure" => return Self::SignalFailure,
            "WaitConditionTimeout" => return Self::Timeout,
            "RequestLimitExceeded" | "StackResourceLimitExceeded" => return Self::Limit,
            "PortBindingFailed" => return Self::PortBinding,
            "IpAddressGenerationFailureClient" | "ExternalIpAddressExhaustedClient" => {
                return Self::NoAddress;
            }
            _ => {}
        }
        if has("no valid host") {
            Self::NoValidHost
        } else if has("binding failed") || has("binding_failed") {
            Self::PortBinding
        } else if has("no more ip addresses") || has("no more free ip") {
            Self::NoAddress
        } else if has("request limit exceeded")
            || has("maximum resources per stack")
            || has("exceeds maximum allowed size")
        {
            Self::Limit
        } else if has("timed out") || error.ends_with("Timeout") {
            Self::Timeout
        } else if has("no images matching")
            || (has("image")
                && (has("could not be found")
                    || has("not active")
                    || has("unacceptable")
                    || has("too small")))
        {
            Self::Image
        } else if has("flavor")
            && (has("could not be found")
                || has("not found")
                || has("no flavors matching")
                || has("unable to find"))
        {
            Self::Flavor
        } else if error.starts_with("Octavia") || of_type("OS::Octavia::") {
            Self::LoadBalancer
        } else if has("policy doesn't allow")
            || has("disallowed by policy")
            || error == "Forbidden"
            || reason.code == Some(403)
        {
            Self::Policy
        } else if has("volume") || of_type("OS::Cinder::") {
            Self::Volume
        } else if error.ends_with("NotFound") || reason.code == Some(404) {
            Self::NotFound
        } else {
            Self::Unknown
        }
    }
}

/// Quota numbers in the words of Nova, Neutron, Cinder and Octavia.
fn quota(message: &str) -> Option<QuotaNumbers> {
    let number = |text: &str| -> Option<u64> {
        let digits: String = text
            .trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().ok()
    };
    let after = |mark: &str| message.split_once(mark).map(|(_, rest)| rest);
    if let Some(rest) = after("Quota exceeded for resources: ") {
        let resource = rest
            .trim_matches(['[', ']', '.', '\'', ' '])
            .replace('\'', "");
        return Some(QuotaNumbers {
            resource,
            ..QuotaNumbers::default()
        });
    }
    if let Some(rest) = after("Quota exceeded for ") {
        // Several may be named at once; their numbers stand in the same order, the first that is over is told.
        let (names, rest) = rest.split_once(':').unwrap_or((rest, ""));
        let part = |mark: &str| rest.split_once(mark).map_or("", |(_, after)| after);
        let list = |text: &str| -> Vec<Option<u64>> {
            let end = text
                .find(|c: char| !(c.is_ascii_digit() || c == ','))
                .unwrap_or(text.len());
            text[..end].split(',').map(&number).collect()
        };
        let (requested, used) = (list(part("Requested ")), list(part("already used ")));
        let limit = list(
            part("already used ")
                .split_once(" of ")
                .map_or("", |(_, after)| after),
        );
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        let at = |numbers: &[Option<u64>], i: usize| numbers.get(i).copied().flatten();
        let over =
            (0..names.len()).find(
                |i| match (at(&requested, *i), at(&used, *i), at(&limit, *i)) {
                    (Some(r), Some(u), Some(l)) => u + r > l,
                    _ => false,
                },
            );
        let i = over.unwrap_or(0);
        return Some(QuotaNumbers {
            resource: names.get(i).copied().unwrap_or_default().to_owned(),
            requested: at(&requested, i),
            used: at(&used, i),
            limit: at(&limit, i),
        });
    }
    if let Some(rest) = after("Quota has been met for resources: ") {
        let resource = rest
            .split(['.', '('])
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
        return Some(QuotaNumbers {
            resource,
            ..QuotaNumbers::default()
        });
    }
    if let Some(rest) = after("Maximum number of ") {
        // Cinder: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.
        let resource = rest
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned();
        let limit = rest.split_once('(').and_then(|(_, n)| number(n));
        return message.contains("quota").then_some(QuotaNumbers {
            resource,
            limit,
            ..QuotaNumbers::default()
        });
    }
    if let Some(rest) = after("exceeds allowed ") {
        // Cinder: .. exceeds allowed gigabytes quota. Requested 10G, quota is 1000G and 995G has been consumed.
        let resource = rest
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned();
        return message.contains("quota").then(|| QuotaNumbers {
            resource,
            requested: after("quota. Requested ").and_then(number),
            limit: after("quota is ").and_then(number),
            used: after(" and ").and_then(number),
        });
    }
    let over = message.contains("exceeded for quota")
        || message.to_ascii_lowercase().starts_with("quota exceeded");
    over.then(QuotaNumbers::default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> CauseKind {
        CauseKind::of(&Reason::parse(text), None)
    }

    #[test]
    fn quota_numbers_of_every_service() {
        let q = |resource: &str, requested, used, limit| {
            CauseKind::Quota(QuotaNumbers {
                resource: resource.to_owned(),
                requested,
                used,
                limit,
            })
        };
        let cases = [
            (
                "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances",
                q("instances", Some(1), Some(10), Some(10)),
            ),
            (
                "Quota exceeded for cores,instances: Requested 4,1, but already used 2,10 of 20,10 cores,instances",
                q("instances", Some(1), Some(10), Some(10)),
            ),
            (
                "OverQuotaClient: resources.port: Quota exceeded for resources: ['port'].",
                q("port", None, None, None),
            ),
            (
                "OctaviaClientException: resources.lb: Quota has been met for resources: Load Balancer (HTTP 403)",
                q("Load Balancer", None, None, None),
            ),
            (
                "OverLimit: resources.v: VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'. (HTTP 413)",
                q("volumes", None, None, Some(10)),
            ),
            (
                "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. Requested 10G, quota is 1000G and 995G has been consumed.",
                q("gigabytes", Some(10), Some(995), Some(1000)),
            ),
        ];
        for (text, want) in cases {
            assert_eq!(kind(text), want, "{text}");
        }
    }

    #[test]
    fn kinds() {
        let cases = [
            (
                "WaitConditionFailure: resources.w: kubelet did not start",
                "signal-failure",
            ),
            (
                "WaitConditionTimeout: resources.w: 0 of 2 received",
                "timeout",
            ),
            ("Stack CREATE timed out", "timeout"),
            (
                "ResourceInError: resources.s: Went to status ERROR due to \"Message: No valid host was found. , Code: 500\"",
                "no-valid-host",
            ),
            (
                "PortBindingFailed: Binding failed for port 5, please check neutron logs",
                "port-binding",
            ),
            (
                "IpAddressGenerationFailureClient: resources.p: No more IP addresses available on network n.",
                "no-address",
            ),
            (
                "Property error: : resources.x.properties.image: : Error validating value 'no-such-image': No images matching {'name': 'no-such-image'}.",
                "image",
            ),
            (
                "OctaviaClientException: resources.pool: Provider 'ovn' does not support a requested option (HTTP 501)",
                "load-balancer",
            ),
            (
                "Forbidden: resources.x: Policy doesn't allow os_compute_api:servers:create to be performed. (HTTP 403)",
                "policy",
            ),
            (
                "RequestLimitExceeded: Request limit exceeded: Maximum resources per stack exceeded.",
                "limit",
            ),
            (
                "NotFound: resources.x: Network n could not be found. (HTTP 404)",
                "not-found",
            ),
            ("something odd", "unknown"),
        ];
        for (text, want) in cases {
            assert_eq!(kind(text).as_str(), want, "{text}");
        }
    }
}
