-- The running instances, one row each, for the console. id is a random number of
-- each start of a process. Each instance writes its own row every few seconds and
-- deletes it when it stops; the others delete rows that are no longer written.
-- started_at and seen_at are by the database's clock. The answers are those of
-- the minute before; horizon_ms is -1 before the first poll.

-- +goose Up
CREATE TABLE instances (
    id              VARCHAR(32)   NOT NULL,
    name            VARCHAR(255)  NOT NULL,
    version         VARCHAR(64)   NOT NULL,
    worker          BIGINT        NOT NULL,
    started_at      BIGINT        NOT NULL,
    seen_at         BIGINT        NOT NULL,
    horizon_ms      BIGINT        NOT NULL,
    bound_ms        BIGINT        NOT NULL,
    from_memory     BIGINT        NOT NULL,
    from_redis      BIGINT        NOT NULL,
    from_database   BIGINT        NOT NULL,
    remembered      BIGINT        NOT NULL,
    database_us     BIGINT        NOT NULL,
    database_failed BIGINT        NOT NULL,
    redis           VARCHAR(255)  NOT NULL,
    redis_us        BIGINT        NOT NULL,
    clock_ms        BIGINT        NOT NULL,
    troubles        VARCHAR(1000) NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS instances;
