-- The settings that an operator changes while instances run: one row per scope,
-- whose version grows with each change.

-- +goose Up
CREATE TABLE settings (
    scope                VARCHAR(32)   NOT NULL,
    version              BIGINT        NOT NULL,
    idle_timeout_ms      BIGINT        NOT NULL,
    absolute_lifetime_ms BIGINT        NOT NULL,
    touch_interval_ms    BIGINT        NOT NULL,
    sweep_schedule       VARCHAR(128)  NOT NULL,
    idle_base            BIGINT        NOT NULL DEFAULT 0,
    absolute_base        BIGINT        NOT NULL DEFAULT 0,
    global_floor         BIGINT        NOT NULL DEFAULT 0,
    global_floor_at      BIGINT        NOT NULL DEFAULT 0,
    updated_at           BIGINT        NOT NULL,
    updated_by           VARCHAR(255)  NOT NULL,
    note                 VARCHAR(1000) NOT NULL DEFAULT '',
    PRIMARY KEY (scope),
    CONSTRAINT settings_times_ordered CHECK (
        touch_interval_ms > 0
        AND touch_interval_ms <= idle_timeout_ms
        AND idle_timeout_ms <= absolute_lifetime_ms
    )
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS settings;
