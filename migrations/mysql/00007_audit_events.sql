-- The audit events about accounts, logins and settings. An event is written in the
-- transaction of its change, and never changed. Its ID has the time and the order.
-- The values are JSON.

-- +goose Up
CREATE TABLE audit_events (
    id          BIGINT         NOT NULL,
    actor_id    BIGINT         NULL,
    actor       VARCHAR(255)   NOT NULL,
    via         VARCHAR(16)    NOT NULL,
    action      VARCHAR(48)    NOT NULL,
    target_kind VARCHAR(16)    NOT NULL DEFAULT '',
    target_id   BIGINT         NULL,
    target      VARCHAR(255)   NOT NULL DEFAULT '',
    reason      VARCHAR(1000)  NOT NULL DEFAULT '',
    old_value   VARBINARY(4096) NOT NULL DEFAULT '',
    new_value   VARBINARY(4096) NOT NULL DEFAULT '',
    request_id  VARCHAR(64)    NOT NULL DEFAULT '',
    address     VARCHAR(64)    NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    KEY audit_events_action (action),
    KEY audit_events_actor (actor_id),
    KEY audit_events_target (target_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS audit_events;
