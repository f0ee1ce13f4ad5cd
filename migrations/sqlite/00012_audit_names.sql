-- What the indexes are for: mysql/00012_audit_names.sql.

-- +goose Up
CREATE INDEX audit_events_actor_name ON audit_events (actor);
CREATE INDEX audit_events_target_name ON audit_events (target);

-- +goose Down
DROP INDEX IF EXISTS audit_events_actor_name;
DROP INDEX IF EXISTS audit_events_target_name;
