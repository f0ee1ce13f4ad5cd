-- What the columns mean: mysql/00022_instances.sql.

-- +goose Up
CREATE TABLE instances (
    id              TEXT    NOT NULL CONSTRAINT instances_id_length CHECK (length(id) <= 32),
    name            TEXT    NOT NULL CONSTRAINT instances_name_length CHECK (length(name) <= 255),
    version         TEXT    NOT NULL CONSTRAINT instances_version_length CHECK (length(version) <= 64),
    worker          INTEGER NOT NULL,
    started_at      INTEGER NOT NULL,
    seen_at         INTEGER NOT NULL,
    horizon_ms      INTEGER NOT NULL,
    bound_ms        INTEGER NOT NULL,
    from_memory     INTEGER NOT NULL,
    from_redis      INTEGER NOT NULL,
    from_database   INTEGER NOT NULL,
    remembered      INTEGER NOT NULL,
    database_us     INTEGER NOT NULL,
    database_failed INTEGER NOT NULL,
    redis           TEXT    NOT NULL CONSTRAINT instances_redis_length CHECK (length(redis) <= 255),
    redis_us        INTEGER NOT NULL,
    clock_ms        INTEGER NOT NULL,
    troubles        TEXT    NOT NULL CONSTRAINT instances_troubles_length CHECK (length(troubles) <= 1000),
    PRIMARY KEY (id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS instances;
