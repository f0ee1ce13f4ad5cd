-- The record is searched by name, too: an operator at a shell has no ID, and
-- neither has the policy.

-- +goose Up
ALTER TABLE audit_events ADD KEY audit_events_actor_name (actor), ADD KEY audit_events_target_name (target);

-- +goose Down
ALTER TABLE audit_events DROP KEY audit_events_actor_name, DROP KEY audit_events_target_name;
