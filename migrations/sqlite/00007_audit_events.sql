-- What the columns mean: mysql/00007_audit_events.sql.

-- +goose Up
CREATE TABLE audit_events (
    id          INTEGER NOT NULL PRIMARY KEY,
    actor_id    INTEGER NULL,
    actor       TEXT    NOT NULL CONSTRAINT audit_events_actor_length CHECK (length(actor) <= 255),
    via         TEXT    NOT NULL CONSTRAINT audit_events_via_length CHECK (length(via) <= 16),
    action      TEXT    NOT NULL CONSTRAINT audit_events_action_length CHECK (length(action) <= 48),
    target_kind TEXT    NOT NULL DEFAULT '' CONSTRAINT audit_events_target_kind_length CHECK (length(target_kind) <= 16),
    target_id   INTEGER NULL,
    target      TEXT    NOT NULL DEFAULT '' CONSTRAINT audit_events_target_length CHECK (length(target) <= 255),
    reason      TEXT    NOT NULL DEFAULT '' CONSTRAINT audit_events_reason_length CHECK (length(reason) <= 1000),
    old_value   BLOB    NOT NULL DEFAULT '' CONSTRAINT audit_events_old_value_length CHECK (length(old_value) <= 4096),
    new_value   BLOB    NOT NULL DEFAULT '' CONSTRAINT audit_events_new_value_length CHECK (length(new_value) <= 4096),
    request_id  TEXT    NOT NULL DEFAULT '' CONSTRAINT audit_events_request_id_length CHECK (length(request_id) <= 64),
    address     TEXT    NOT NULL DEFAULT '' CONSTRAINT audit_events_address_length CHECK (length(address) <= 64)
) STRICT;

CREATE INDEX audit_events_action ON audit_events (action);
CREATE INDEX audit_events_actor ON audit_events (actor_id);
CREATE INDEX audit_events_target ON audit_events (target_id);

-- +goose Down
DROP TABLE IF EXISTS audit_events;
