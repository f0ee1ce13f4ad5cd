-- The policy in force now is the first entry of the history.

-- +goose Up
INSERT INTO policies (
    scope, version, idle_timeout_ms, absolute_lifetime_ms, touch_interval_ms, sweep_schedule, updated_at, updated_by, note
) SELECT
    scope, version, idle_timeout_ms, absolute_lifetime_ms, touch_interval_ms, sweep_schedule, updated_at, updated_by, note
FROM settings;

-- +goose Down
DELETE FROM policies;
