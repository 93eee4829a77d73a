//! The cases.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::Failure;
use super::samples::{cluster, event, node_group, operation, start, template};
use crate::id::ProjectId;
use crate::model::{Cluster, FlavorSize};
use crate::state::Status;
use crate::store::{
    Commit, Guard, OperationFilter, Page, Quota, Store, StoreError, Usage, Visibility, Write,
};

pub(super) type Case = Result<(), Failure>;

pub(super) fn hold(condition: bool, sentence: &str) -> Case {
    if condition {
        return Ok(());
    }
    Err(sentence.into())
}

pub(super) fn writes(writes: Vec<Write>) -> Commit {
    Commit {
        writes,
        ..Commit::default()
    }
}

pub(super) fn put(cluster: &Cluster) -> Write {
    Write::Cluster(Box::new(cluster.clone()))
}

pub(super) fn only(guard: Guard) -> Commit {
    Commit {
        guards: vec![guard],
        ..Commit::default()
    }
}

pub(super) fn one_cluster() -> Usage {
    Usage {
        clusters: 1,
        ..Usage::default()
    }
}

pub(super) async fn guards_refuse_and_leave_nothing_behind(store: Arc<dyn Store>) -> Case {
    let a = cluster(10, "a", "p")?;
    let o = operation(20, &a, Some(start()));
    let project = a.project_id.clone();
    store
        .commit(writes(vec![put(&a), Write::Operation(Box::new(o.clone()))]))
        .await?;
    let refused = [
        Guard::Revision {
            cluster: a.id,
            revision: 5,
        },
        Guard::Fence {
            operation: o.id,
            fence: 5,
        },
        Guard::NameFree {
            project: project.clone(),
            name: "a".to_owned(),
        },
        Guard::WithinQuota {
            project: project.clone(),
            more: one_cluster(),
            quota: Quota {
                clusters: Some(1),
                ..Quota::default()
            },
        },
        Guard::WithinQuota {
            project: project.clone(),
            more: Usage::of_nodes(1, None),
            quota: Quota {
                nodes: Some(0),
                ..Quota::default()
            },
        },
        Guard::TemplateRevision {
            template: a.template_id,
            revision: 0,
        },
        Guard::TemplateUnused(a.template_id),
    ];
    for guard in refused {
        let text = format!("{guard:?}");
        let mut commit = only(guard);
        commit.writes.push(put(&cluster(11, "b", "p")?));
        commit.events.push(event(&a, "refused"));
        hold(store.commit(commit).await.is_err(), &text)?;
    }
    let all = store.clusters(&Visibility::Everything, &Page::ALL).await?;
    hold(all.len() == 1, "a refused commit wrote something")?;
    hold(
        store.last_event().await? == 0,
        "a refused commit told something",
    )?;
    let revision = |revision| Guard::Revision {
        cluster: a.id,
        revision,
    };
    store.commit(only(revision(0))).await?;
    let stale = store.commit(only(revision(0))).await;
    hold(
        matches!(stale, Err(StoreError::Stale { .. })),
        "a revision was used twice",
    )?;
    let record = store.load(a.id).await?.ok_or("the cluster is missing")?;
    hold(record.revision == 1, "the revision did not move")?;
    hold(record.view.cluster == a, "the cluster changed")?;
    hold(record.operations == [o], "the operation changed")
}

pub(super) async fn ms_06_projects_do_not_see_each_other(store: Arc<dyn Store>) -> Case {
    let (a, b) = (cluster(10, "same", "p")?, cluster(11, "same", "q")?);
    let o = operation(20, &a, None);
    let (own, public) = (template(30, "p", false)?, template(31, "p", true)?);
    let mut commit = writes(vec![
        put(&a),
        put(&b),
        Write::Operation(Box::new(o.clone())),
        Write::Template(Box::new(own.clone())),
        Write::Template(Box::new(public.clone())),
    ]);
    commit.events = vec![event(&a, "a"), event(&b, "b")];
    store.commit(commit).await?;
    let q = Visibility::Project(ProjectId::new("q"));
    let found = store.find_clusters(&q, "same").await?;
    hold(
        found == [b.clone()],
        "a name finds another project's cluster",
    )?;
    let id = a.id.to_string();
    hold(
        store.find_clusters(&q, &id).await?.is_empty(),
        "an id finds another project's cluster",
    )?;
    hold(
        store.clusters(&q, &Page::ALL).await? == [b],
        "a list shows another project's cluster",
    )?;
    hold(
        store.operation(&q, o.id).await?.is_none(),
        "another project's operation is shown",
    )?;
    let filter = OperationFilter::default();
    hold(
        store.operations(&q, &filter).await?.is_empty(),
        "another project's operations are listed",
    )?;
    hold(
        store.events(&q, 0, 10).await?.len() == 1,
        "another project's events are shown",
    )?;
    hold(
        store.templates(&q, &Page::ALL).await? == [public.clone()],
        "a private template is listed",
    )?;
    let key = own.id.to_string();
    hold(
        store.find_templates(&q, &key).await?.is_empty(),
        "a private template is found",
    )?;
    hold(
        store.find_templates(&q, "small").await? == [public],
        "a public template is not found",
    )?;
    let everything = Visibility::Everything;
    let all = store.find_clusters(&everything, "same").await?;
    hold(all.len() == 2, "an operator does not see everything")
}

pub(super) async fn ms_07_parallel_creations_are_counted_exactly(store: Arc<dyn Store>) -> Case {
    let tries = (0..10u128).map(|n| {
        let store = Arc::clone(&store);
        async move {
            let a = cluster(100 + n, &format!("c{n}"), "p").ok()?;
            let project = a.project_id.clone();
            let mut commit = only(Guard::WithinQuota {
                project,
                more: one_cluster(),
                quota: Quota {
                    clusters: Some(3),
                    ..Quota::default()
                },
            });
            commit.writes = vec![put(&a), Write::NodeGroup(Box::new(node_group(&a, 2).ok()?))];
            Some(store.commit(commit).await)
        }
    });
    let done = join_all(tries).await;
    let accepted = done.iter().flatten().filter(|done| done.is_ok()).count();
    hold(
        accepted == 3,
        &format!("{accepted} of 3 were accepted: {done:?}"),
    )?;
    let refused = |d: &Result<_, StoreError>| matches!(d, Err(StoreError::QuotaReached { .. }));
    let refused = done.iter().flatten().filter(|d| refused(d)).count();
    hold(refused == 7, "a refusal has another reason than the quota")?;
    let usage = store.usage(&ProjectId::new("p")).await?;
    hold(
        usage.clusters == 3 && usage.nodes == 6,
        &format!("{usage:?}"),
    )
}

pub(super) async fn events_are_numbered_in_order_under_parallel_writes(
    store: Arc<dyn Store>,
) -> Case {
    let a = cluster(10, "a", "p")?;
    store.commit(writes(vec![put(&a)])).await?;
    let writers = (0..20).map(|n| {
        let (store, a) = (Arc::clone(&store), a.clone());
        async move {
            let events = vec![event(&a, &format!("{n}.0")), event(&a, &format!("{n}.1"))];
            let commit = Commit {
                events,
                ..Commit::default()
            };
            store.commit(commit).await
        }
    });
    let reader = async {
        let mut seen = Vec::new();
        while seen.len() < 40 {
            let since = seen
                .last()
                .map_or(0, |event: &crate::event::Event| event.seq);
            let more = store.events(&Visibility::Everything, since, 7).await?;
            seen.extend(more);
            tokio::task::yield_now().await;
        }
        Ok::<_, StoreError>(seen)
    };
    let (done, seen) = tokio::join!(join_all(writers), reader);
    for committed in done {
        hold(
            committed?.last_event > 0,
            "a commit does not know its last event",
        )?;
    }
    let numbers: Vec<_> = seen?.iter().map(|event| event.seq).collect();
    let expected: Vec<_> = (1..=40).collect();
    hold(numbers == expected, &format!("a reader saw {numbers:?}"))?;
    hold(store.last_event().await? == 40, "the last number is wrong")
}

pub(super) async fn secrets_and_memos_come_and_go(store: Arc<dyn Store>) -> Case {
    let a = cluster(10, "a", "p")?;
    store.commit(writes(vec![put(&a)])).await?;
    let first = store.put_secret(a.id, "pki.ca", vec![1], false).await?;
    let kept = store.put_secret(a.id, "pki.ca", vec![2], false).await?;
    hold(first == [1] && kept == [1], "the first secret was replaced")?;
    let new = store.put_secret(a.id, "pki.ca", vec![3], true).await?;
    hold(new == [3], "a secret was not replaced")?;
    store.put_secret(a.id, "a", vec![4], false).await?;
    hold(
        store.secret_purposes(a.id).await? == ["a", "pki.ca"],
        "purposes are wrong",
    )?;
    store.delete_secret(a.id, "a").await?;
    store.delete_secret(a.id, "a").await?;
    hold(
        store.secret(a.id, "a").await?.is_none(),
        "a deleted secret is there",
    )?;
    let memo = |key: &str, byte| Write::Memo {
        cluster: a.id,
        key: key.to_owned(),
        sealed: vec![byte],
    };
    store
        .commit(writes(vec![memo("x", 1), memo("x", 2), memo("y", 3)]))
        .await?;
    hold(
        store.memo(a.id, "x").await? == Some(vec![2]),
        "a memo was not replaced",
    )?;
    let key = "y".to_owned();
    let cluster = a.id;
    store
        .commit(writes(vec![Write::RemoveMemo { cluster, key }]))
        .await?;
    hold(
        store.memo(a.id, "y").await?.is_none(),
        "a removed memo is there",
    )?;
    store.commit(writes(vec![Write::Purge(a.id)])).await?;
    hold(
        store.memo(a.id, "x").await?.is_none(),
        "a memo outlived the purge",
    )?;
    hold(
        store.secret(a.id, "pki.ca").await?.is_none(),
        "a secret outlived the purge",
    )
}

pub(super) async fn a_deleted_cluster_is_history(store: Arc<dyn Store>) -> Case {
    let mut a = cluster(10, "a", "p")?;
    let group = node_group(&a, 2)?;
    store
        .commit(writes(vec![put(&a), Write::NodeGroup(Box::new(group))]))
        .await?;
    a.status = Status::DELETE_COMPLETE;
    store.commit(writes(vec![put(&a)])).await?;
    let everything = Visibility::Everything;
    hold(
        store.find_clusters(&everything, "a").await?.is_empty(),
        "its name finds it",
    )?;
    let id = a.id.to_string();
    hold(
        store.find_clusters(&everything, &id).await?.is_empty(),
        "its id finds it",
    )?;
    hold(
        store.clusters(&everything, &Page::ALL).await?.is_empty(),
        "a list shows it",
    )?;
    let record = store.load(a.id).await?.ok_or("its record is gone")?;
    hold(record.deleted, "its record does not say so")?;
    let usage = store.usage(&a.project_id).await?;
    hold(usage.clusters == 0 && usage.nodes == 0, "it still counts")?;
    let mut again = only(Guard::NameFree {
        project: a.project_id.clone(),
        name: "a".to_owned(),
    });
    again.writes.push(put(&cluster(11, "a", "p")?));
    store.commit(again).await?;
    store
        .commit(only(Guard::TemplateUnused(template(99, "p", false)?.id)))
        .await?;
    Ok(())
}

pub(super) async fn lists_come_in_pages(store: Arc<dyn Store>) -> Case {
    for n in 0..5 {
        let a = cluster(10 + n, &format!("c{n}"), "p")?;
        store.commit(writes(vec![put(&a)])).await?;
    }
    let mut page = Page {
        after: None,
        limit: 2,
    };
    let mut names = Vec::new();
    loop {
        let part = store.clusters(&Visibility::Everything, &page).await?;
        let Some(last) = part.last() else { break };
        page.after = Some(last.id.as_uuid());
        names.extend(part.iter().map(|cluster| cluster.name.to_string()));
    }
    hold(
        names == ["c0", "c1", "c2", "c3", "c4"],
        &format!("{names:?}"),
    )
}

pub(super) async fn the_first_key_wins(store: Arc<dyn Store>) -> Case {
    let project = ProjectId::new("p");
    let tries = (0..5u128).map(|n| {
        let (store, project) = (Arc::clone(&store), project.clone());
        async move {
            let a = cluster(10 + n, &format!("c{n}"), "p").ok()?;
            let key = "k".to_owned();
            let mut commit = only(Guard::KeyUnused {
                project: project.clone(),
                key: key.clone(),
            });
            let cluster = a.id;
            commit.writes = vec![
                put(&a),
                Write::Key {
                    project,
                    key,
                    cluster,
                },
            ];
            Some((a.id, store.commit(commit).await))
        }
    });
    let done: Vec<_> = join_all(tries).await.into_iter().flatten().collect();
    let winners: Vec<_> = done
        .iter()
        .filter(|(_, d)| d.is_ok())
        .map(|(id, _)| *id)
        .collect();
    hold(winners.len() == 1, &format!("{done:?}"))?;
    let winner = winners[0];
    for (id, result) in done {
        let told = matches!(result, Err(StoreError::KeyUsed { cluster }) if cluster == winner);
        hold(id == winner || told, "a loser does not learn the winner")?;
    }
    hold(
        store.idempotent(&project, "k").await? == Some(winner),
        "the key is not found",
    )
}

pub(super) async fn usage_counts_what_living_clusters_want(store: Arc<dyn Store>) -> Case {
    let (a, mut b) = (cluster(10, "a", "p")?, cluster(11, "b", "p")?);
    let mut group = node_group(&a, 3)?;
    group.spec.size = Some(FlavorSize {
        vcpus: 4,
        ram_mib: 8192,
    });
    let unknown = node_group(&b, 2)?;
    let all = vec![
        put(&a),
        put(&b),
        Write::NodeGroup(Box::new(group.clone())),
        Write::NodeGroup(Box::new(unknown)),
    ];
    store.commit(writes(all)).await?;
    let usage = store.usage(&a.project_id).await?;
    let expected = Usage {
        clusters: 2,
        nodes: 5,
        node_groups: 2,
        vcpus: 12,
        ram_mib: 3 * 8192,
    };
    hold(usage == expected, &format!("{usage:?}"))?;
    b.status = Status::DELETE_COMPLETE;
    group.node_count = 1;
    let less = vec![put(&b), Write::NodeGroup(Box::new(group))];
    store.commit(writes(less)).await?;
    let usage = store.usage(&a.project_id).await?;
    let expected = Usage {
        clusters: 1,
        nodes: 1,
        node_groups: 1,
        vcpus: 4,
        ram_mib: 8192,
    };
    hold(usage == expected, &format!("{usage:?}"))
}

pub(super) async fn versions_of_a_template_and_lost_updates(store: Arc<dyn Store>) -> Case {
    let first = template(30, "p", true)?;
    let mut second = template(31, "p", false)?;
    second.first_version = Some(first.id);
    second.version = 2;
    let other = template(32, "p", true)?;
    let all = [&second, &first, &other].map(|t| Write::Template(Box::new(t.clone())));
    store.commit(writes(all.into())).await?;
    let everything = Visibility::Everything;
    let versions = store.template_versions(&everything, first.id).await?;
    hold(
        versions == [first.clone(), second],
        "the versions are not those of the lineage in order",
    )?;
    let q = Visibility::Project(ProjectId::new("q"));
    let versions = store.template_versions(&q, first.id).await?;
    hold(versions == [first.clone()], "a private version is shown")?;
    let mut changed = first.clone();
    changed.revision = 1;
    let guard = Guard::TemplateRevision {
        template: first.id,
        revision: 0,
    };
    let update = || Commit {
        guards: vec![guard.clone()],
        writes: vec![Write::Template(Box::new(changed.clone()))],
        ..Commit::default()
    };
    let (one, two) = futures::join!(store.commit(update()), store.commit(update()));
    let stale = |d: &Result<_, StoreError>| matches!(d, Err(StoreError::TemplateStale { .. }));
    hold(
        one.is_ok() != two.is_ok() && (stale(&one) || stale(&two)),
        &format!("of two updates of one reading: {one:?}, {two:?}"),
    )
}

pub(super) async fn old_events_go_and_numbers_stay(store: Arc<dyn Store>) -> Case {
    let a = cluster(10, "a", "p")?;
    let mut commit = writes(vec![put(&a)]);
    for n in 0..10 {
        let mut event = event(&a, &n.to_string());
        event.at = start() + Duration::from_secs(n);
        commit.events.push(event);
    }
    store.commit(commit).await?;
    let seen = async || {
        let events = store.events(&Visibility::Everything, 0, 100).await?;
        Ok::<_, StoreError>(events.iter().map(|event| event.seq).collect::<Vec<_>>())
    };
    let by_age = start() + Duration::from_secs(3);
    hold(
        store.prune_events(by_age, 0, 2).await? == 2,
        "not two at once",
    )?;
    hold(store.prune_events(by_age, 0, 5).await? == 1, "not by age")?;
    hold(
        seen().await? == [4, 5, 6, 7, 8, 9, 10],
        "age removed others",
    )?;
    hold(
        store.prune_events(start(), 8, 100).await? == 5,
        "not by number",
    )?;
    hold(seen().await? == [9, 10], "the number removed others")?;
    let far = start() + Duration::from_secs(3600);
    hold(store.prune_events(far, 0, 100).await? == 2, "not all")?;
    hold(store.last_event().await? == 10, "the last number was lost")?;
    let commit = Commit {
        events: vec![event(&a, "new")],
        ..Commit::default()
    };
    let done = store.commit(commit).await?;
    hold(done.last_event == 11, "a number was given twice")?;
    hold(seen().await? == [11], "a new event is not seen")?;
    let since = store.events(&Visibility::Everything, 3, 100).await?;
    hold(since.len() == 1, "reading on from a removed event fails")
}
