//! Which members come and go when a group gets another size.

use magnum_core::MemberId;

use super::{MemberRecord, MemberStage};

/// What a resize or replacement comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResizeDecision {
    /// Members that go, in the order of their removal.
    pub remove: Vec<MemberId>,
    /// How many new ones come.
    pub add: u32,
}

impl ResizeDecision {
    /// Whether nothing changes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.remove.is_empty() && self.add == 0
    }
}

/// Decides who comes and who goes so that `wanted` members remain and none of `named` is among them (rule `NG-06`: the count is the final size).
///
/// Failed members always go and never count. Beyond those and the named ones the least useful go first:
/// not yet built, building, joining, not ready, ready; among equals the newest.
#[must_use]
pub fn decide_resize(members: &[MemberRecord], wanted: u32, named: &[MemberId]) -> ResizeDecision {
    let mut remove: Vec<MemberId> = members
        .iter()
        .filter(|m| m.stage == MemberStage::Failed || (m.stage.counts() && named.contains(&m.id)))
        .map(|m| m.id.clone())
        .collect();
    let mut kept: Vec<&MemberRecord> = members
        .iter()
        .filter(|m| m.stage.counts() && !named.contains(&m.id))
        .collect();
    kept.sort_by_key(|m| (usefulness(m.stage), std::cmp::Reverse(m.number)));
    let wanted_len = usize::try_from(wanted).unwrap_or(usize::MAX);
    let surplus = kept.len().saturating_sub(wanted_len);
    remove.extend(kept.iter().take(surplus).map(|m| m.id.clone()));
    let remaining = u32::try_from(kept.len() - surplus).unwrap_or(u32::MAX);
    ResizeDecision {
        remove,
        add: wanted - remaining,
    }
}

const fn usefulness(stage: MemberStage) -> u8 {
    match stage {
        MemberStage::Planned => 0,
        MemberStage::Building => 1,
        MemberStage::Joining => 2,
        MemberStage::NotReady => 3,
        MemberStage::Ready => 4,
        MemberStage::Failed
        | MemberStage::Draining
        | MemberStage::Leaving
        | MemberStage::Removed => 5,
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::*;

    fn member(id: &str, number: u64, stage: MemberStage) -> MemberRecord {
        let mut record = MemberRecord::planned(
            MemberId::new(id),
            format!("c-g-{id}"),
            0,
            number,
            DateTime::UNIX_EPOCH,
        );
        record.stage = stage;
        record
    }

    fn ready(ids: &[&str]) -> Vec<MemberRecord> {
        ids.iter()
            .zip(0..)
            .map(|(id, number)| member(id, number, MemberStage::Ready))
            .collect()
    }

    fn ids(texts: &[&str]) -> Vec<MemberId> {
        texts.iter().map(|text| MemberId::new(*text)).collect()
    }

    #[test]
    fn ng_06_the_count_is_the_final_size() {
        let three = ready(&["a", "b", "c"]);
        let decide = |wanted, named: &[&str]| decide_resize(&three, wanted, &ids(named));
        assert_eq!(
            decide(3, &["a"]),
            ResizeDecision {
                remove: ids(&["a"]),
                add: 1
            }
        );
        assert_eq!(
            decide(2, &["a"]),
            ResizeDecision {
                remove: ids(&["a"]),
                add: 0
            }
        );
        assert_eq!(
            decide(1, &["a"]),
            ResizeDecision {
                remove: ids(&["a", "c"]),
                add: 0
            }
        );
        assert_eq!(
            decide(2, &["a", "b"]),
            ResizeDecision {
                remove: ids(&["a", "b"]),
                add: 1
            }
        );
        assert!(decide(3, &[]).is_empty());
    }

    #[test]
    fn the_least_useful_go_first_and_failed_ones_always() {
        let members = vec![
            member("old", 0, MemberStage::Ready),
            member("sick", 1, MemberStage::NotReady),
            member("new", 2, MemberStage::Ready),
            member("join", 3, MemberStage::Joining),
            member("dead", 4, MemberStage::Failed),
            member("gone", 5, MemberStage::Leaving),
        ];
        let decision = decide_resize(&members, 2, &[]);
        assert_eq!(decision.remove, ids(&["dead", "join", "sick"]));
        assert_eq!(decision.add, 0);
        let grown = decide_resize(&members, 5, &[]);
        assert_eq!(grown.remove, ids(&["dead"]));
        assert_eq!(grown.add, 1);
    }

    fn any_stage() -> impl Strategy<Value = MemberStage> {
        prop_oneof![
            Just(MemberStage::Planned),
            Just(MemberStage::Building),
            Just(MemberStage::Joining),
            Just(MemberStage::Ready),
            Just(MemberStage::NotReady),
            Just(MemberStage::Failed),
            Just(MemberStage::Draining),
            Just(MemberStage::Leaving),
        ]
    }

    proptest! {
        #[test]
        fn ng_06_any_group_ends_with_the_wanted_size_without_the_named(
            stages in proptest::collection::vec(any_stage(), 0..20),
            wanted in 0u32..25,
            named in proptest::collection::vec(0usize..20, 0..5),
        ) {
            let members: Vec<_> = stages
                .iter()
                .zip(0u64..)
                .map(|(stage, number)| member(&format!("m{number}"), number, *stage))
                .collect();
            let named: Vec<_> = named.iter().map(|n| MemberId::new(format!("m{n}"))).collect();
            let decision = decide_resize(&members, wanted, &named);
            let left = members
                .iter()
                .filter(|m| m.stage.counts() && !decision.remove.contains(&m.id))
                .collect::<Vec<_>>();
            prop_assert_eq!(left.len() as u32 + decision.add, wanted);
            prop_assert!(left.iter().all(|m| !named.contains(&m.id)));
            let unique: std::collections::BTreeSet<_> = decision.remove.iter().collect();
            prop_assert_eq!(unique.len(), decision.remove.len());
        }
    }
}
