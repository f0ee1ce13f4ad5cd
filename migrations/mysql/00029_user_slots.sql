-- Further slots of users: each holds one session at a time, in the columns that slot 0
-- has on the row of its user, with the same meaning. A row is made by the first login
-- in its slot, and stays. id is the ID of that login. There is no foreign key: it would
-- lock the row of the user for each change here, in another order than all else does.
-- A release that does not know this table knows one session a user; settings.slots says
-- whether there may be more.

-- +goose Up
CREATE TABLE user_slots (
    id               BIGINT        NOT NULL,
    user_id          BIGINT        NOT NULL,
    slot             INT           NOT NULL,
    token_id         BIGINT        NULL,
    token_hash       VARBINARY(33) NULL,
    token_seen_at    BIGINT        NULL,
    token_floor      BIGINT        NOT NULL DEFAULT 0,
    token_floor_at   BIGINT        NOT NULL DEFAULT 0,
    ended_token_id   BIGINT        NULL,
    ended_token_hash VARBINARY(33) NULL,
    ended_reason     VARCHAR(24)   NULL,
    token_proved_id  BIGINT        NULL,
    token_proved_at  BIGINT        NULL,
    device_token_id  BIGINT        NULL,
    device_class     VARCHAR(32)   NULL,
    device_name      VARCHAR(64)   NULL,
    lock_version     BIGINT        NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY user_slots_place (user_id, slot),
    UNIQUE KEY user_slots_token_id (token_id),
    UNIQUE KEY user_slots_ended_token_id (ended_token_id),
    KEY user_slots_idle (token_seen_at, id, token_id),
    KEY user_slots_token_floor_at (token_floor_at),
    CONSTRAINT user_slots_slot_further CHECK (slot > 0 AND slot < 32),
    CONSTRAINT user_slots_token_above_floor CHECK (token_id IS NULL OR token_id > token_floor),
    CONSTRAINT user_slots_token_whole CHECK (
        (token_id IS NULL) = (token_hash IS NULL) AND (token_id IS NULL) = (token_seen_at IS NULL)
    ),
    CONSTRAINT user_slots_ended_whole CHECK (
        (ended_token_id IS NULL) = (ended_token_hash IS NULL) AND (ended_token_id IS NULL) = (ended_reason IS NULL)
    )
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS user_slots;
