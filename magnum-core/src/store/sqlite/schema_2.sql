INSERT INTO magnum_schema (version) VALUES (2);

-- Versions of one template share a lineage, which is the id of the first; a revision guards against lost updates.
ALTER TABLE templates ADD COLUMN lineage TEXT NOT NULL DEFAULT '';
ALTER TABLE templates ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
UPDATE templates SET lineage = id;
CREATE INDEX templates_lineage ON templates (lineage);

-- What one node of the group has, for quotas; 0 where it is not known.
ALTER TABLE node_groups ADD COLUMN vcpus BIGINT NOT NULL DEFAULT 0;
ALTER TABLE node_groups ADD COLUMN ram_mib BIGINT NOT NULL DEFAULT 0;

-- Old events are removed by age.
ALTER TABLE events ADD COLUMN at BIGINT NOT NULL DEFAULT 0;
UPDATE events SET at = COALESCE(CAST(strftime('%s', json_extract(doc, '$.at')) AS INTEGER), 0) * 1000000;
