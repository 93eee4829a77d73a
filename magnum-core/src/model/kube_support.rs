//! How long Kubernetes minor versions are maintained.

use chrono::{DateTime, NaiveDate, Utc};

use super::KubeVersion;

/// The maintenance of one Kubernetes minor version.
///
/// Releases are those of kubernetes/sig-release (`releases/release-1.3x`). The ends of 1.36 and 1.37 are computed by the project's rule of
/// twelve months and two more, on the 28th; where the schedule on kubernetes.io/releases differs, it is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KubeSupport {
    /// The minor number, such as 36.
    pub minor: u64,
    /// When it was released.
    pub released: NaiveDate,
    /// From when on it gets fixes of grave defects only.
    pub maintenance: NaiveDate,
    /// The last day of fixes.
    pub end_of_life: NaiveDate,
}

const fn date(year: i32, month: u32, day: u32) -> NaiveDate {
    match NaiveDate::from_ymd_opt(year, month, day) {
        Some(date) => date,
        None => panic!("every date below exists"),
    }
}

const fn minor(
    minor: u64,
    released: NaiveDate,
    maintenance: NaiveDate,
    end_of_life: NaiveDate,
) -> KubeSupport {
    KubeSupport {
        minor,
        released,
        maintenance,
        end_of_life,
    }
}

/// The minor versions that drivers are tried with, the oldest first.
const SUPPORTED: [KubeSupport; 4] = [
    minor(34, date(2025, 8, 27), date(2026, 8, 27), date(2026, 10, 27)),
    minor(
        35,
        date(2025, 12, 17),
        date(2026, 12, 28),
        date(2027, 2, 28),
    ),
    minor(36, date(2026, 4, 22), date(2027, 4, 28), date(2027, 6, 28)),
    minor(37, date(2026, 8, 26), date(2027, 8, 28), date(2027, 10, 28)),
];

impl KubeSupport {
    /// All minor versions that this library knows, the oldest first.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &SUPPORTED
    }

    /// Whether the project has ended its fixes at `now`.
    #[must_use]
    pub fn has_ended(&self, now: DateTime<Utc>) -> bool {
        now.date_naive() > self.end_of_life
    }
}

impl KubeVersion {
    /// How long its minor version is maintained; none where this library does not know it.
    #[must_use]
    pub fn support(&self) -> Option<&'static KubeSupport> {
        let known = SUPPORTED.iter().find(|known| known.minor == self.minor());
        known.filter(|_| self.major() == 1)
    }

    /// What whoever chooses it at `now` should know, in a sentence; none where it is maintained.
    #[must_use]
    pub fn support_warning(&self, now: DateTime<Utc>) -> Option<String> {
        match self.support() {
            None => Some(format!(
                "Kubernetes {self} is none of the minor versions that are tried: v1.{} to v1.{}",
                SUPPORTED[0].minor,
                SUPPORTED[SUPPORTED.len() - 1].minor
            )),
            Some(support) if support.has_ended(now) => Some(format!(
                "Kubernetes {self} has had no fixes since {}",
                support.end_of_life
            )),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maintenance_is_known_for_every_tried_minor_and_ends() {
        assert_eq!(KubeSupport::all().len(), 4);
        for pair in KubeSupport::all().windows(2) {
            assert_eq!(pair[0].minor + 1, pair[1].minor);
            assert!(pair[0].end_of_life < pair[1].end_of_life);
        }
        for known in KubeSupport::all() {
            assert!(known.released < known.maintenance && known.maintenance < known.end_of_life);
            let months = (known.end_of_life - known.released).num_days() / 30;
            assert!((13..=15).contains(&months), "{known:?}");
        }
        let at = |text: &str| -> DateTime<Utc> { text.parse().unwrap() };
        let version = |text: &str| -> KubeVersion { text.parse().unwrap() };
        let warning = |v: &str, now: &str| version(v).support_warning(at(now));
        assert_eq!(warning("v1.36.1", "2026-12-01T00:00:00Z"), None);
        assert_eq!(warning("v1.34.9", "2026-10-27T23:00:00Z"), None);
        let ended = warning("v1.34.9", "2026-10-28T00:00:00Z").unwrap();
        assert!(ended.contains("2026-10-27"), "{ended}");
        assert!(
            warning("v1.33.0", "2026-12-01T00:00:00Z")
                .unwrap()
                .contains("v1.34 to v1.37")
        );
    }
}
