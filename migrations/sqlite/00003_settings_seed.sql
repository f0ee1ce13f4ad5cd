-- The policy a new deployment starts with: 14 days idle, 30 days in all, a
-- login is seen at most once a minute.

-- +goose Up
INSERT INTO settings (
    scope, version, idle_timeout_ms, absolute_lifetime_ms, touch_interval_ms, sweep_schedule, updated_at, updated_by
) VALUES (
    'global', 1, 1209600000, 2592000000, 60000, '@every 1m', 0, 'flakepass'
);

-- +goose Down
DELETE FROM settings WHERE scope = 'global';
