//! The cases of who works on what, and for how long.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use uuid::Uuid;

use super::cases::{Case, hold, only, put, writes};
use super::samples::{cluster, operation, start};
use crate::id::EngineId;
use crate::state::Status;
use crate::store::{ClaimRequest, Guard, Store, StoreError, Write};

fn engine(number: u128) -> EngineId {
    EngineId::from_uuid(Uuid::from_u128(number))
}

fn claim(by: u128, after_secs: i64, limit: u32) -> ClaimRequest {
    let now = start() + chrono::Duration::seconds(after_secs);
    ClaimRequest {
        engine: engine(by),
        now,
        until: now + Duration::from_secs(30),
        limit,
    }
}

pub(super) async fn sp_06_each_due_operation_is_claimed_by_one(store: Arc<dyn Store>) -> Case {
    let a = cluster(10, "a", "p")?;
    store.commit(writes(vec![put(&a)])).await?;
    for n in 0..60 {
        let due = if n < 50 { Some(start()) } else { None };
        let o = operation(1000 + n, &a, due);
        store
            .commit(writes(vec![Write::Operation(Box::new(o))]))
            .await?;
    }
    let workers = (0..4u128).map(|by| {
        let store = Arc::clone(&store);
        async move {
            let mut got = Vec::new();
            loop {
                match store.claim(&claim(by, 1, 7)).await {
                    Ok(some) if some.is_empty() => return Ok(got),
                    Ok(some) => got.extend(some),
                    Err(error) => return Err(error),
                }
            }
        }
    });
    let mut seen = BTreeSet::new();
    for got in join_all(workers).await {
        for operation in got? {
            hold(seen.insert(operation.id), "an operation was claimed twice")?;
            let lease = operation.lease.ok_or("a claimed operation has no lease")?;
            hold(
                lease.fence == 1 && operation.fence == 1,
                "the fence is not the first",
            )?;
        }
    }
    hold(seen.len() == 50, "not every due operation was claimed")
}

pub(super) async fn leases_end_and_fences_hold(store: Arc<dyn Store>) -> Case {
    let a = cluster(10, "a", "p")?;
    let o = operation(20, &a, Some(start()));
    store
        .commit(writes(vec![put(&a), Write::Operation(Box::new(o.clone()))]))
        .await?;
    let due = store.next_due().await?;
    hold(due == Some(start()), "the next due operation is not seen")?;
    let first = store.claim(&claim(1, 0, 9)).await?;
    let first = first.first().and_then(|o| o.lease).ok_or("not claimed")?;
    hold(
        store.claim(&claim(2, 10, 9)).await?.is_empty(),
        "a living lease was taken",
    )?;
    store
        .renew(&first, start() + Duration::from_secs(60))
        .await?;
    hold(
        store.claim(&claim(2, 40, 9)).await?.is_empty(),
        "a renewed lease was taken",
    )?;
    let second = store.claim(&claim(2, 60, 9)).await?;
    let second = second
        .first()
        .and_then(|o| o.lease)
        .ok_or("an ended lease stays")?;
    hold(
        second.fence == 2 && second.owner == engine(2),
        "the fence did not rise",
    )?;
    let late = store.renew(&first, start() + Duration::from_secs(90)).await;
    hold(
        matches!(late, Err(StoreError::LeaseLost { .. })),
        "a lost lease was renewed",
    )?;
    let fence = |fence| Guard::Fence {
        operation: o.id,
        fence,
    };
    let mut zombie = only(fence(first.fence));
    zombie.writes.push(Write::Memo {
        cluster: a.id,
        key: "cluster".to_owned(),
        sealed: vec![1],
    });
    let zombie = store.commit(zombie).await;
    hold(
        matches!(zombie, Err(StoreError::LeaseLost { .. })),
        "a lost lease wrote",
    )?;
    hold(
        store.memo(a.id, "cluster").await?.is_none(),
        "a lost lease's memo is there",
    )?;
    let mut ends = only(fence(second.fence));
    let mut later = o.clone();
    later.next_due = Some(start() + Duration::from_secs(100));
    ends.writes = vec![Write::Operation(Box::new(later)), Write::Release(o.id)];
    store.commit(ends).await?;
    let again = store.commit(only(fence(second.fence))).await;
    hold(again.is_err(), "a released lease writes")?;
    hold(
        store.claim(&claim(1, 61, 9)).await?.is_empty(),
        "what is not due was claimed",
    )?;
    let third = store.claim(&claim(1, 100, 9)).await?;
    hold(third.len() == 1, "a released operation is not due again")
}

pub(super) async fn looks_are_handed_out_once(store: Arc<dyn Store>) -> Case {
    let mut busy = cluster(12, "busy", "p")?;
    busy.status = Status::UPDATE_IN_PROGRESS;
    let finished = [cluster(10, "a", "p")?, cluster(11, "b", "p")?];
    store
        .commit(writes(vec![
            put(&finished[0]),
            put(&finished[1]),
            put(&busy),
        ]))
        .await?;
    let again = start() + Duration::from_secs(600);
    let mut looks = store.claim_looks(start(), again, 1).await?;
    looks.extend(store.claim_looks(start(), again, 9).await?);
    looks.sort_unstable();
    hold(
        looks == [finished[0].id, finished[1].id],
        &format!("{looks:?}"),
    )?;
    hold(
        store.claim_looks(start(), again, 9).await?.is_empty(),
        "handed out twice",
    )?;
    let later = store
        .claim_looks(again, again + Duration::from_secs(600), 9)
        .await?;
    hold(later.len() == 2, "not handed out again later")
}
