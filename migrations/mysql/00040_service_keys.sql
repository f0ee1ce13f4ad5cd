-- Keys of services: several for each account of the role service. id says when a key was
-- made. hash is of its text: one version byte and the SHA-256. scopes are names with spaces
-- between them. created_by is the user who made it; 0 is a command on the server. used_at
-- is the beginning of the last hour in which it was used. A row stays after the key was
-- revoked. There is no foreign key: it would lock the row of the user for each change here.

-- +goose Up
CREATE TABLE service_keys (
    id         BIGINT        NOT NULL,
    user_id    BIGINT        NOT NULL,
    name       VARCHAR(64)   NOT NULL,
    hash       VARBINARY(33) NOT NULL,
    scopes     VARCHAR(255)  NOT NULL,
    created_by BIGINT        NOT NULL,
    expires_at BIGINT        NULL,
    revoked_at BIGINT        NULL,
    used_at    BIGINT        NULL,
    PRIMARY KEY (id),
    KEY service_keys_user (user_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS service_keys;
