-- The counts of login attempts at one account. For strangers, guard is the ID of the
-- user, or one of a fixed number of negative ones for unknown names. For a known
-- device or place it is a keyed hash. full_at is the time at which all attempts are
-- available again, by the rule with that period. told_at is the time up to which the
-- owner was informed. networks are the recent networks of the attempts, as keyed
-- hashes. A row with a past full_at can be deleted if none of them waits for longer.

-- +goose Up
CREATE TABLE login_guards (
    guard    BIGINT         NOT NULL,
    version  BIGINT         NOT NULL,
    full_at  BIGINT         NOT NULL,
    period   BIGINT         NOT NULL,
    told_at  BIGINT         NOT NULL,
    networks VARBINARY(256) NULL,
    PRIMARY KEY (guard),
    KEY login_guards_full_at (full_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS login_guards;
