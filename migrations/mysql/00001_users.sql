-- One login per user: the token columns hold the current login, the ended_*
-- columns the one before it, so that its holder gets the reason of its end. A
-- floor ends every token at or below it, and only grows.

-- +goose Up
CREATE TABLE users (
    id               BIGINT         NOT NULL,
    username         VARCHAR(255)   NOT NULL,
    password_hash    VARBINARY(255) NOT NULL,
    password_version BIGINT         NOT NULL DEFAULT 1,
    role             VARCHAR(16)    NOT NULL,
    disabled_at      BIGINT         NULL,
    token_id         BIGINT         NULL,
    token_hash       VARBINARY(33)  NULL,
    token_seen_at    BIGINT         NULL,
    token_floor      BIGINT         NOT NULL DEFAULT 0,
    token_floor_at   BIGINT         NOT NULL DEFAULT 0,
    ended_token_id   BIGINT         NULL,
    ended_token_hash VARBINARY(33)  NULL,
    ended_reason     VARCHAR(24)    NULL,
    created_at       BIGINT         NOT NULL,
    updated_at       BIGINT         NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY users_username (username),
    UNIQUE KEY users_token_id (token_id),
    UNIQUE KEY users_ended_token_id (ended_token_id),
    KEY users_token_seen_at (token_seen_at),
    KEY users_token_floor_at (token_floor_at),
    CONSTRAINT users_role_known CHECK (role IN ('user', 'service', 'admin')),
    CONSTRAINT users_token_above_floor CHECK (token_id IS NULL OR token_id > token_floor),
    CONSTRAINT users_token_whole CHECK (
        (token_id IS NULL) = (token_hash IS NULL) AND (token_id IS NULL) = (token_seen_at IS NULL)
    ),
    CONSTRAINT users_ended_whole CHECK (
        (ended_token_id IS NULL) = (ended_token_hash IS NULL) AND (ended_token_id IS NULL) = (ended_reason IS NULL)
    )
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS users;
