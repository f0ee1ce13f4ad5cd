-- Audit events are searched by name, too, because an operator in a shell and the
-- policy have no ID.

-- +goose Up
ALTER TABLE audit_events ADD KEY audit_events_actor_name (actor), ADD KEY audit_events_target_name (target);

-- +goose Down
ALTER TABLE audit_events DROP KEY audit_events_actor_name, DROP KEY audit_events_target_name;
