-- What it is: mysql/00029_user_slots.sql.

-- +goose Up
CREATE TABLE user_slots (
    id               INTEGER NOT NULL PRIMARY KEY,
    user_id          INTEGER NOT NULL,
    slot             INTEGER NOT NULL,
    token_id         INTEGER NULL,
    token_hash       BLOB    NULL CONSTRAINT user_slots_token_hash_length CHECK (length(token_hash) <= 33),
    token_seen_at    INTEGER NULL,
    token_floor      INTEGER NOT NULL DEFAULT 0,
    token_floor_at   INTEGER NOT NULL DEFAULT 0,
    ended_token_id   INTEGER NULL,
    ended_token_hash BLOB    NULL CONSTRAINT user_slots_ended_token_hash_length CHECK (length(ended_token_hash) <= 33),
    ended_reason     TEXT    NULL CONSTRAINT user_slots_ended_reason_length CHECK (length(ended_reason) <= 24),
    token_proved_id  INTEGER NULL,
    token_proved_at  INTEGER NULL,
    device_token_id  INTEGER NULL,
    device_class     TEXT    NULL,
    device_name      TEXT    NULL,
    lock_version     INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT user_slots_slot_further CHECK (slot > 0 AND slot < 32),
    CONSTRAINT user_slots_token_above_floor CHECK (token_id IS NULL OR token_id > token_floor),
    CONSTRAINT user_slots_token_whole CHECK (
        (token_id IS NULL) = (token_hash IS NULL) AND (token_id IS NULL) = (token_seen_at IS NULL)
    ),
    CONSTRAINT user_slots_ended_whole CHECK (
        (ended_token_id IS NULL) = (ended_token_hash IS NULL) AND (ended_token_id IS NULL) = (ended_reason IS NULL)
    )
) STRICT;

CREATE UNIQUE INDEX user_slots_place ON user_slots (user_id, slot);
CREATE UNIQUE INDEX user_slots_token_id ON user_slots (token_id);
CREATE UNIQUE INDEX user_slots_ended_token_id ON user_slots (ended_token_id);
CREATE INDEX user_slots_idle ON user_slots (token_seen_at, id, token_id);
CREATE INDEX user_slots_token_floor_at ON user_slots (token_floor_at);

-- +goose Down
DROP TABLE IF EXISTS user_slots;
