CREATE TABLE magnum_schema (version BIGINT NOT NULL);
INSERT INTO magnum_schema (version) VALUES (1);

-- Documents are JSON; what queries need stands beside them in columns. Times are microseconds since 1970.
CREATE TABLE clusters (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    name TEXT NOT NULL,
    template_id TEXT NOT NULL,
    deleted BIGINT NOT NULL,
    in_progress BIGINT NOT NULL,
    next_look BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    doc TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX clusters_name ON clusters (project_id, name) WHERE deleted = 0;
CREATE INDEX clusters_by_name ON clusters (name) WHERE deleted = 0;
CREATE INDEX clusters_look ON clusters (next_look) WHERE deleted = 0 AND in_progress = 0;
CREATE INDEX clusters_template ON clusters (template_id) WHERE deleted = 0;

CREATE TABLE node_groups (
    id TEXT PRIMARY KEY,
    cluster_id TEXT NOT NULL,
    node_count BIGINT NOT NULL,
    doc TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX node_groups_cluster ON node_groups (cluster_id);

CREATE TABLE operations (
    id TEXT PRIMARY KEY,
    cluster_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    ended BIGINT NOT NULL,
    next_due BIGINT,
    lease_owner TEXT,
    lease_until BIGINT,
    fence BIGINT NOT NULL,
    doc TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX operations_due ON operations (next_due) WHERE next_due IS NOT NULL;
CREATE INDEX operations_cluster ON operations (cluster_id, ended);
CREATE INDEX operations_project ON operations (project_id, id);

CREATE TABLE templates (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    name TEXT NOT NULL,
    public BIGINT NOT NULL,
    doc TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX templates_name ON templates (name);

CREATE TABLE events (
    seq BIGINT PRIMARY KEY,
    project_id TEXT NOT NULL,
    cluster_id TEXT NOT NULL,
    doc TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX events_project ON events (project_id, seq);

CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL) WITHOUT ROWID;
INSERT INTO counters (name, value) VALUES ('events', 0);

CREATE TABLE memos (
    cluster_id TEXT NOT NULL,
    key TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (cluster_id, key)
) WITHOUT ROWID;

CREATE TABLE secrets (
    cluster_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (cluster_id, purpose)
) WITHOUT ROWID;

CREATE TABLE request_keys (
    project_id TEXT NOT NULL,
    key TEXT NOT NULL,
    cluster_id TEXT NOT NULL,
    PRIMARY KEY (project_id, key)
) WITHOUT ROWID;

CREATE TABLE quotas (project_id TEXT PRIMARY KEY, doc TEXT NOT NULL) WITHOUT ROWID;
