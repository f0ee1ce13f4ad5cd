-- What the columns mean: mysql/00002_settings.sql.

-- +goose Up
CREATE TABLE settings (
    scope                TEXT    NOT NULL PRIMARY KEY CONSTRAINT settings_scope_length CHECK (length(scope) <= 32),
    version              INTEGER NOT NULL,
    idle_timeout_ms      INTEGER NOT NULL,
    absolute_lifetime_ms INTEGER NOT NULL,
    touch_interval_ms    INTEGER NOT NULL,
    sweep_schedule       TEXT    NOT NULL CONSTRAINT settings_sweep_schedule_length CHECK (length(sweep_schedule) <= 128),
    idle_base            INTEGER NOT NULL DEFAULT 0,
    absolute_base        INTEGER NOT NULL DEFAULT 0,
    global_floor         INTEGER NOT NULL DEFAULT 0,
    global_floor_at      INTEGER NOT NULL DEFAULT 0,
    updated_at           INTEGER NOT NULL,
    updated_by           TEXT    NOT NULL CONSTRAINT settings_updated_by_length CHECK (length(updated_by) <= 255),
    note                 TEXT    NOT NULL DEFAULT '' CONSTRAINT settings_note_length CHECK (length(note) <= 1000),
    CONSTRAINT settings_times_ordered CHECK (
        touch_interval_ms > 0
        AND touch_interval_ms <= idle_timeout_ms
        AND idle_timeout_ms <= absolute_lifetime_ms
    )
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS settings;
