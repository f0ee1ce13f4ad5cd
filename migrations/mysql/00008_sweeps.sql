-- The passes of the sweep, one row each: where, how long, how many logins were
-- cleared, and how long the longest batch took.

-- +goose Up
CREATE TABLE sweeps (
    id          BIGINT        NOT NULL,
    instance    VARCHAR(255)  NOT NULL,
    started_at  BIGINT        NOT NULL,
    finished_at BIGINT        NULL,
    outcome     VARCHAR(24)   NOT NULL,
    cleared     BIGINT        NOT NULL DEFAULT 0,
    failed_rows BIGINT        NOT NULL DEFAULT 0,
    longest_ms  BIGINT        NOT NULL DEFAULT 0,
    detail      VARCHAR(1000) NOT NULL DEFAULT '',
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS sweeps;
