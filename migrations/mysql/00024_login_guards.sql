-- What was counted of the attempts to log in to one account: those of strangers,
-- whose guard is the ID of the user, or one of a fixed number of negative ones for
-- names that nobody has; and those of a known device or place, whose guard is a
-- keyed hash. full_at says when all attempts are there again, by the rule with that
-- period, told_at up to what the owner was told of them, and networks where they
-- came from lately, as keyed hashes. A row whose full_at is over can be deleted.

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
