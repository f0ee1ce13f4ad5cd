-- What the columns mean: mysql/00009_policies.sql.

-- +goose Up
CREATE TABLE policies (
    scope                TEXT    NOT NULL CONSTRAINT policies_scope_length CHECK (length(scope) <= 32),
    version              INTEGER NOT NULL,
    idle_timeout_ms      INTEGER NOT NULL,
    absolute_lifetime_ms INTEGER NOT NULL,
    touch_interval_ms    INTEGER NOT NULL,
    sweep_schedule       TEXT    NOT NULL CONSTRAINT policies_sweep_schedule_length CHECK (length(sweep_schedule) <= 128),
    updated_at           INTEGER NOT NULL,
    updated_by           TEXT    NOT NULL CONSTRAINT policies_updated_by_length CHECK (length(updated_by) <= 255),
    note                 TEXT    NOT NULL DEFAULT '' CONSTRAINT policies_note_length CHECK (length(note) <= 1000),
    PRIMARY KEY (scope, version)
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS policies;
