-- One row, with id 1: which pass of the sweep has the lease and until when, by
-- the database's clock, and how far the last one came. The program writes the
-- row when it first sweeps.

-- +goose Up
CREATE TABLE sweep_state (
    id           BIGINT       NOT NULL,
    pass_id      BIGINT       NOT NULL,
    instance     VARCHAR(255) NOT NULL,
    lease_until  BIGINT       NOT NULL,
    cursor_stage BIGINT       NOT NULL DEFAULT 0,
    cursor_value BIGINT       NOT NULL DEFAULT 0,
    cursor_user  BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS sweep_state;
