//! Rotation as a plan: to which generation each part goes, and what the phases make of the keys.

use chrono::{DateTime, Utc};
use magnum_core::driver::RotationPhase;
use magnum_core::{ClusterId, SecretStore};
use serde::{Deserialize, Serialize};

use crate::generations::Generations;
use crate::pki::{new_authority, new_service_account_key};
use crate::{AuthorityKind, ClusterPki, Error, PkiOptions};

/// A part of a cluster's trust that can be rotated by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RotationPart {
    /// One of the authorities.
    Authority(AuthorityKind),
    /// The key that signs service accounts' tokens.
    ServiceAccount,
}

impl RotationPart {
    /// All four.
    pub const ALL: [Self; 4] = [
        Self::Authority(AuthorityKind::Kubernetes),
        Self::Authority(AuthorityKind::Etcd),
        Self::Authority(AuthorityKind::FrontProxy),
        Self::ServiceAccount,
    ];
}

/// To which generation each part of a rotation goes. Made and written down (in a driver's memo) before the first phase, it makes every
/// phase repeatable: however often and however late a phase is entered, no part gets a second successor (rule CK-09).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RotationPlan {
    kubernetes: Option<u32>,
    etcd: Option<u32>,
    front_proxy: Option<u32>,
    service_account: Option<u32>,
}

impl RotationPlan {
    /// A plan for some parts of what a cluster has now. A part whose rotation was interrupted goes on to where it was going.
    #[must_use]
    pub fn new(pki: &ClusterPki, parts: impl IntoIterator<Item = RotationPart>) -> Self {
        let mut plan = Self::default();
        for part in parts {
            match part {
                RotationPart::Authority(kind) => {
                    *plan.target_mut(kind) = Some(target(pki.generations(kind)));
                }
                RotationPart::ServiceAccount => {
                    plan.service_account = Some(target(pki.service_account()));
                }
            }
        }
        plan
    }

    /// A plan for everything.
    #[must_use]
    pub fn all(pki: &ClusterPki) -> Self {
        Self::new(pki, RotationPart::ALL)
    }

    /// The generation to which a part goes; none where it stays.
    #[must_use]
    pub const fn target(&self, part: RotationPart) -> Option<u32> {
        match part {
            RotationPart::Authority(AuthorityKind::Kubernetes) => self.kubernetes,
            RotationPart::Authority(AuthorityKind::Etcd) => self.etcd,
            RotationPart::Authority(AuthorityKind::FrontProxy) => self.front_proxy,
            RotationPart::ServiceAccount => self.service_account,
        }
    }

    const fn target_mut(&mut self, kind: AuthorityKind) -> &mut Option<u32> {
        match kind {
            AuthorityKind::Kubernetes => &mut self.kubernetes,
            AuthorityKind::Etcd => &mut self.etcd,
            AuthorityKind::FrontProxy => &mut self.front_proxy,
        }
    }
}

fn target<T>(generations: &Generations<T>) -> u32 {
    if generations.phase().is_some() {
        generations.newest()
    } else {
        generations.next_number()
    }
}

impl ClusterPki {
    /// The keys as they are in a phase of a plan. Entering a phase again, or one that the keys are past, changes nothing. Slow for RSA in
    /// the first phase.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] where a phase before was not entered; as [`ClusterPki::generate`].
    pub fn in_phase(
        self,
        plan: &RotationPlan,
        phase: RotationPhase,
        options: PkiOptions,
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        let label = self.label;
        let authority = |generations, kind| {
            let target = plan.target(RotationPart::Authority(kind));
            bring(generations, target, phase, |number| {
                new_authority(kind, &label, number, options, now)
            })
        };
        Ok(Self {
            kubernetes: authority(self.kubernetes, AuthorityKind::Kubernetes)?,
            etcd: authority(self.etcd, AuthorityKind::Etcd)?,
            front_proxy: authority(self.front_proxy, AuthorityKind::FrontProxy)?,
            service_account: bring(
                self.service_account,
                plan.target(RotationPart::ServiceAccount),
                phase,
                |_| new_service_account_key(options),
            )?,
            label,
        })
    }

    /// Brings the stored keys of a cluster to a phase of a plan, and gives them. For drivers, at the beginning of every advance of a
    /// rotation: idempotent, safe against a crash at any point, slow key types generated on a blocking thread. Cancel safe.
    ///
    /// # Errors
    /// [`Error::NoAuthorities`], [`Error::Store`], [`Error::BadRecord`], and as [`ClusterPki::in_phase`].
    pub async fn enter_phase(
        store: &dyn SecretStore,
        cluster: ClusterId,
        plan: &RotationPlan,
        phase: RotationPhase,
        options: PkiOptions,
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        let before = Self::load(store, cluster).await?;
        let before = before.ok_or(Error::NoAuthorities { cluster })?;
        let stands = before.stand();
        let after = if options.algorithm.is_slow() && phase == RotationPhase::TrustBoth {
            let plan = plan.clone();
            let made = move || before.in_phase(&plan, phase, options, now);
            let made = tokio::task::spawn_blocking(made).await;
            made.map_err(|_| Error::Crypto {
                operation: "finish generating a key",
            })??
        } else {
            before.in_phase(plan, phase, options, now)?
        };
        if after.stand() != stands {
            after.save(store, cluster).await?;
        }
        Ok(after)
    }

    /// The numbers of the generations that sign and that are trusted besides.
    fn stand(&self) -> [(u32, Option<u32>); 4] {
        fn of<T>(generations: &Generations<T>) -> (u32, Option<u32>) {
            let other = generations.also_trusted().map(|other| other.number);
            (generations.signing().number, other)
        }
        [
            of(&self.kubernetes),
            of(&self.etcd),
            of(&self.front_proxy),
            of(&self.service_account),
        ]
    }
}

/// One part in a phase that leads to `target`.
fn bring<T>(
    generations: Generations<T>,
    target: Option<u32>,
    phase: RotationPhase,
    make: impl FnOnce(u32) -> Result<T, Error>,
) -> Result<Generations<T>, Error> {
    let Some(target) = target else {
        return Ok(generations);
    };
    let skipped = |what: &str| {
        Err(Error::NotAllowed {
            reason: format!("a phase of a rotation before its turn: generation {target} {what}"),
        })
    };
    match phase {
        RotationPhase::TrustBoth if generations.newest() >= target => Ok(generations),
        RotationPhase::TrustBoth if generations.next_number() != target => {
            skipped("does not follow the one that signs")
        }
        RotationPhase::TrustBoth => generations.begin(make),
        _ if generations.newest() < target => skipped("is not trusted yet"),
        RotationPhase::Reissue if generations.signing().number >= target => Ok(generations),
        RotationPhase::Reissue => Ok(generations.switch()),
        RotationPhase::TrustNew if generations.signing().number < target => {
            skipped("does not sign yet")
        }
        RotationPhase::TrustNew => {
            // A later rotation may have an old generation of its own.
            let ours = generations
                .also_trusted()
                .is_some_and(|old| old.number < target);
            Ok(if ours {
                generations.finish()
            } else {
                generations
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;

    fn now() -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 12, 1, 5, 0, 0).unwrap()
    }

    fn enter(pki: ClusterPki, plan: &RotationPlan, phase: RotationPhase) -> ClusterPki {
        pki.in_phase(plan, phase, PkiOptions::default(), now())
            .unwrap()
    }

    #[test]
    fn ck_09_phases_can_be_entered_again_at_any_time() {
        let first = ClusterPki::generate("c1", PkiOptions::default(), now()).unwrap();
        let plan = RotationPlan::all(&first);
        let mut pki = first;
        for phase in RotationPhase::ALL {
            pki = enter(pki, &plan, phase);
            let again = enter(pki.clone(), &plan, phase);
            assert_eq!(again.stand(), pki.stand());
            let kind = AuthorityKind::Kubernetes;
            assert_eq!(again.trust_bundle(kind), pki.trust_bundle(kind));
            if phase != RotationPhase::TrustNew {
                assert_eq!(RotationPlan::all(&pki), plan, "interrupted, it goes on");
                assert_eq!(pki.phase(), Some(phase));
            }
        }
        assert_eq!(pki.stand(), [(2, None); 4]);
        // Late words of an earlier operation change nothing, not even while the next rotation is under way.
        let next = RotationPlan::all(&pki);
        for phase in RotationPhase::ALL {
            pki = enter(pki, &next, phase);
            for late in RotationPhase::ALL {
                assert_eq!(enter(pki.clone(), &plan, late).stand(), pki.stand());
            }
        }
        assert_eq!(pki.stand(), [(3, None); 4]);
    }

    #[test]
    fn ck_09_no_phase_is_left_out() {
        let pki = ClusterPki::generate("c1", PkiOptions::default(), now()).unwrap();
        let plan = RotationPlan::all(&pki);
        for phase in [RotationPhase::Reissue, RotationPhase::TrustNew] {
            let early = pki
                .clone()
                .in_phase(&plan, phase, PkiOptions::default(), now());
            assert!(matches!(early, Err(Error::NotAllowed { .. })), "{phase:?}");
        }
        let both = enter(pki, &plan, RotationPhase::TrustBoth);
        let early = both.in_phase(&plan, RotationPhase::TrustNew, PkiOptions::default(), now());
        assert!(matches!(early, Err(Error::NotAllowed { .. })));
    }

    #[test]
    fn ck_09_service_account_keys_can_be_rotated_alone() {
        let mut pki = ClusterPki::generate("c1", PkiOptions::default(), now()).unwrap();
        let plan = RotationPlan::new(&pki, [RotationPart::ServiceAccount]);
        let old = pki.service_account().signing().value.public_key().clone();
        for phase in RotationPhase::ALL {
            pki = enter(pki, &plan, phase);
            let trusted: Vec<_> = pki.service_account().trusted().collect();
            let knows_old = trusted.iter().any(|key| *key.public_key() == old);
            assert_eq!(knows_old, phase != RotationPhase::TrustNew);
        }
        assert_eq!(pki.stand(), [(1, None), (1, None), (1, None), (2, None)]);
    }
}
