-- What the columns mean: mysql/00008_sweeps.sql.

-- +goose Up
CREATE TABLE sweeps (
    id          INTEGER NOT NULL PRIMARY KEY,
    instance    TEXT    NOT NULL CONSTRAINT sweeps_instance_length CHECK (length(instance) <= 255),
    started_at  INTEGER NOT NULL,
    finished_at INTEGER NULL,
    outcome     TEXT    NOT NULL CONSTRAINT sweeps_outcome_length CHECK (length(outcome) <= 24),
    cleared     INTEGER NOT NULL DEFAULT 0,
    failed_rows INTEGER NOT NULL DEFAULT 0,
    longest_ms  INTEGER NOT NULL DEFAULT 0,
    detail      TEXT    NOT NULL DEFAULT '' CONSTRAINT sweeps_detail_length CHECK (length(detail) <= 1000)
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS sweeps;
