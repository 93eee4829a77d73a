//! The objects of one cluster: versions, history for watches, and the journal on disk.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use tokio::sync::broadcast;

use super::error::ApiError;
use super::journal::{Journal, Line};

/// Changes kept for watches that start at an older version.
const HISTORY: usize = 8192;

/// Where an object lies. `table` is the resource as in `deployments.apps`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) table: String,
    /// Empty for cluster-scoped objects.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(table: &str, namespace: &str, name: &str) -> Self {
        Self {
            table: table.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// One write, as watches see it.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) key: Key,
    /// The object after the write; for a deletion its last state with the deletion's version.
    pub(crate) object: Arc<Value>,
    pub(crate) previous: Option<Arc<Value>>,
    pub(crate) deleted: bool,
}

type Table = BTreeMap<(String, String), Arc<Value>>;

#[derive(Debug)]
struct Inner {
    version: u64,
    tables: BTreeMap<String, Table>,
    history: VecDeque<Change>,
    /// Changes at or before this version are no longer in the history.
    forgotten: u64,
    journal: Option<Journal>,
}

/// The store of one cluster. Every method takes a short lock; nothing awaits inside.
#[derive(Debug)]
pub(crate) struct Store {
    inner: Mutex<Inner>,
    changes: broadcast::Sender<Change>,
}

impl Store {
    /// An empty store, or the one a journal file holds.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, String> {
        let mut inner = Inner {
            version: 1,
            tables: BTreeMap::new(),
            history: VecDeque::new(),
            forgotten: 0,
            journal: None,
        };
        if let Some(path) = path {
            let (journal, lines) = Journal::open(path)?;
            for line in lines {
                inner.version = inner.version.max(line.v);
                let table = inner.tables.entry(line.r).or_default();
                match line.o {
                    Some(object) => table.insert((line.s, line.n), Arc::new(object)),
                    None => table.remove(&(line.s, line.n)),
                };
            }
            // Renewals of leases are not in the journal; their versions must not come again.
            inner.version += 1000;
            inner.forgotten = inner.version;
            inner.journal = Some(journal);
            inner.compact()?;
        }
        Ok(Self {
            inner: Mutex::new(inner),
            changes: broadcast::channel(4096).0,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The version of the last write.
    #[cfg(test)]
    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.lock().get(key)
    }

    /// All objects of a table, in order of namespace and name, with the version they are as of.
    pub(crate) fn list(&self, table: &str, namespace: Option<&str>) -> (u64, Vec<Arc<Value>>) {
        let inner = self.lock();
        let items = inner.tables.get(table).map(|t| match namespace {
            None => t.values().cloned().collect(),
            Some(ns) => t
                .range((ns.to_owned(), String::new())..)
                .take_while(|((n, _), _)| n == ns)
                .map(|(_, o)| o.clone())
                .collect(),
        });
        (inner.version, items.unwrap_or_default())
    }

    /// Number of objects of a table.
    pub(crate) fn count(&self, table: &str) -> usize {
        self.lock().tables.get(table).map_or(0, BTreeMap::len)
    }

    /// Whether a namespace holds any object.
    pub(crate) fn namespace_objects(&self, namespace: &str) -> Vec<Key> {
        let inner = self.lock();
        let mut keys = Vec::new();
        for (table, objects) in &inner.tables {
            for (ns, name) in objects.keys().filter(|(ns, _)| ns == namespace) {
                keys.push(Key::new(table, ns, name));
            }
        }
        keys
    }

    /// Keys of the objects that name `uid` as an owner.
    pub(crate) fn owned_by(&self, uid: &str) -> Vec<Key> {
        let inner = self.lock();
        let mut keys = Vec::new();
        for (table, objects) in &inner.tables {
            for ((ns, name), object) in objects {
                let owners = object["metadata"]["ownerReferences"].as_array();
                if owners.is_some_and(|o| o.iter().any(|r| r["uid"] == uid)) {
                    keys.push(Key::new(table, ns, name));
                }
            }
        }
        keys
    }

    /// Changes one object under the lock. `edit` sees what is there and gives what shall be there:
    /// `Some` writes, `None` deletes. A write that changes nothing makes no version.
    pub(crate) fn edit(
        &self,
        key: &Key,
        edit: impl FnOnce(Option<&Value>) -> Result<Option<Value>, ApiError>,
    ) -> Result<Option<Arc<Value>>, ApiError> {
        self.write(key, true, edit)
    }

    /// As [`Store::edit`], without a journal line: for what is renewed all the time (leases).
    pub(crate) fn edit_volatile(
        &self,
        key: &Key,
        edit: impl FnOnce(Option<&Value>) -> Result<Option<Value>, ApiError>,
    ) -> Result<Option<Arc<Value>>, ApiError> {
        self.write(key, false, edit)
    }

    fn write(
        &self,
        key: &Key,
        durable: bool,
        edit: impl FnOnce(Option<&Value>) -> Result<Option<Value>, ApiError>,
    ) -> Result<Option<Arc<Value>>, ApiError> {
        let mut inner = self.lock();
        let previous = inner.get(key);
        let change = match edit(previous.as_deref())? {
            Some(mut object) => {
                if let Some(old) = &previous {
                    object["metadata"]["resourceVersion"] =
                        old["metadata"]["resourceVersion"].clone();
                    if object == **old {
                        return Ok(previous);
                    }
                }
                inner.version += 1;
                object["metadata"]["resourceVersion"] = inner.version.to_string().into();
                let object = Arc::new(object);
                let place = (key.namespace.clone(), key.name.clone());
                inner
                    .tables
                    .entry(key.table.clone())
                    .or_default()
                    .insert(place, object.clone());
                Change {
                    version: inner.version,
                    key: key.clone(),
                    object,
                    previous,
                    deleted: false,
                }
            }
            None => {
                let Some(old) = previous else { return Ok(None) };
                inner.version += 1;
                let mut last = (*old).clone();
                last["metadata"]["resourceVersion"] = inner.version.to_string().into();
                if let Some(table) = inner.tables.get_mut(&key.table) {
                    table.remove(&(key.namespace.clone(), key.name.clone()));
                }
                let object = Arc::new(last);
                Change {
                    version: inner.version,
                    key: key.clone(),
                    object,
                    previous: Some(old),
                    deleted: true,
                }
            }
        };
        if durable {
            inner
                .record(&change)
                .map_err(|e| ApiError::new(500, "InternalError", format!("journal: {e}")))?;
        }
        inner.remember(change.clone());
        // Under the lock, so that watches see the writes in their order.
        let object = change.object.clone();
        let _ = self.changes.send(change);
        Ok(Some(object))
    }

    /// A subscription and the changes after `since` that it will not see again; an error when the
    /// history no longer reaches back so far.
    pub(crate) fn follow(
        &self,
        since: u64,
    ) -> Result<(Vec<Change>, broadcast::Receiver<Change>), ApiError> {
        let inner = self.lock();
        if since < inner.forgotten {
            return Err(ApiError::new(
                410,
                "Expired",
                format!("too old resource version: {since} ({})", inner.forgotten),
            ));
        }
        let missed = inner
            .history
            .iter()
            .filter(|c| c.version > since)
            .cloned()
            .collect();
        Ok((missed, self.changes.subscribe()))
    }

    /// A subscription to all further changes.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

impl Inner {
    fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.tables
            .get(&key.table)?
            .get(&(key.namespace.clone(), key.name.clone()))
            .cloned()
    }

    fn remember(&mut self, change: Change) {
        self.history.push_back(change);
        while self.history.len() > HISTORY {
            if let Some(old) = self.history.pop_front() {
                self.forgotten = old.version;
            }
        }
    }

    fn record(&mut self, change: &Change) -> Result<(), String> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        let object = (!change.deleted).then(|| (*change.object).clone());
        journal.append(&Line {
            v: change.version,
            r: change.key.table.clone(),
            s: change.key.namespace.clone(),
            n: change.key.name.clone(),
            o: object,
        })?;
        if journal.wants_compaction() {
            self.compact()?;
        }
        Ok(())
    }

    fn compact(&mut self) -> Result<(), String> {
        let Some(mut journal) = self.journal.take() else {
            return Ok(());
        };
        let version = self.version;
        let lines = self.tables.iter().flat_map(|(table, objects)| {
            objects.iter().map(move |((ns, name), object)| Line {
                v: version,
                r: table.clone(),
                s: ns.clone(),
                n: name.clone(),
                o: Some((**object).clone()),
            })
        });
        let done = journal.rewrite(lines);
        self.journal = Some(journal);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn put(store: &Store, name: &str, n: u64) -> Arc<Value> {
        let key = Key::new("configmaps", "default", name);
        let object = json!({"metadata": {"name": name}, "data": {"n": n}});
        store.edit(&key, |_| Ok(Some(object))).unwrap().unwrap()
    }

    #[test]
    fn versions_grow_only_by_changes() {
        let store = Store::open(None).unwrap();
        let a = put(&store, "a", 1);
        let b = put(&store, "a", 1);
        assert_eq!(
            a["metadata"]["resourceVersion"],
            b["metadata"]["resourceVersion"]
        );
        let c = put(&store, "a", 2);
        assert_ne!(
            a["metadata"]["resourceVersion"],
            c["metadata"]["resourceVersion"]
        );
        let (missed, _) = store.follow(2).unwrap();
        assert_eq!(missed.len(), 1);
    }

    #[test]
    fn a_journal_brings_everything_back_even_with_a_torn_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("objects");
        let version = {
            let store = Store::open(Some(&path)).unwrap();
            put(&store, "a", 1);
            put(&store, "b", 1);
            put(&store, "a", 2);
            store
                .edit(&Key::new("configmaps", "default", "b"), |_| Ok(None))
                .unwrap();
            store.version()
        };
        use std::io::Write as _;
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap();
        file.write_all(b"{\"v\":99,\"r\":\"configm").unwrap();
        for _ in 0..2 {
            let store = Store::open(Some(&path)).unwrap();
            assert_eq!(store.count("configmaps"), 1);
            assert_eq!(
                store.get(&Key::new("configmaps", "default", "a")).unwrap()["data"]["n"],
                2
            );
            // The version of the deletion is not lost: a version is never given twice.
            assert!(store.version() >= version - 1);
        }
    }
}
