-- A started reset of a password: its token sets a new password, once. At most
-- one for each user. The token is stored as its SHA-256. It ends at expires_at,
-- or when the user's password has another version.

-- +goose Up
CREATE TABLE password_resets (
    user_id          BIGINT        NOT NULL,
    token_hash       VARBINARY(32) NOT NULL,
    password_version BIGINT        NOT NULL,
    expires_at       BIGINT        NOT NULL,
    PRIMARY KEY (user_id),
    UNIQUE KEY password_resets_token_hash (token_hash)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS password_resets;
