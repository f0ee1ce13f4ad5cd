-- What the columns mean: mysql/00016_activity.sql.

-- +goose Up
CREATE TABLE activity (
    hour     INTEGER NOT NULL,
    instance TEXT    NOT NULL CONSTRAINT activity_instance_length CHECK (length(instance) <= 64),
    kind     TEXT    NOT NULL CONSTRAINT activity_kind_length CHECK (length(kind) <= 16),
    n        INTEGER NOT NULL,
    PRIMARY KEY (hour, instance, kind)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS activity;
