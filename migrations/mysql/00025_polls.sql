-- Which instances poll the ends of logins, and the clock of their database server at
-- their last poll. Each writes its row in every poll: what commits a change is no
-- server that has been replaced. No stamp of an end is earlier than the newest of these
-- times, so that servers with different clocks make one order. An instance that polls
-- no more leaves a row that the others delete.

-- +goose Up
CREATE TABLE polls (
    instance  VARCHAR(32) NOT NULL,
    polled_at BIGINT      NOT NULL,
    PRIMARY KEY (instance)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS polls;
