-- Every version of the policy so far; settings has the one in force.

-- +goose Up
CREATE TABLE policies (
    scope                VARCHAR(32)   NOT NULL,
    version              BIGINT        NOT NULL,
    idle_timeout_ms      BIGINT        NOT NULL,
    absolute_lifetime_ms BIGINT        NOT NULL,
    touch_interval_ms    BIGINT        NOT NULL,
    sweep_schedule       VARCHAR(128)  NOT NULL,
    updated_at           BIGINT        NOT NULL,
    updated_by           VARCHAR(255)  NOT NULL,
    note                 VARCHAR(1000) NOT NULL DEFAULT '',
    PRIMARY KEY (scope, version)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS policies;
