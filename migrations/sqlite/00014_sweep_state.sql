-- What the columns mean: mysql/00014_sweep_state.sql.

-- +goose Up
CREATE TABLE sweep_state (
    id           INTEGER NOT NULL PRIMARY KEY,
    pass_id      INTEGER NOT NULL,
    instance     TEXT    NOT NULL CONSTRAINT sweep_state_instance_length CHECK (length(instance) <= 255),
    lease_until  INTEGER NOT NULL,
    cursor_stage INTEGER NOT NULL DEFAULT 0,
    cursor_value INTEGER NOT NULL DEFAULT 0,
    cursor_user  INTEGER NOT NULL DEFAULT 0
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS sweep_state;
