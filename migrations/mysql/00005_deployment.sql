-- The values that all instances of one deployment share, in one row that the first
-- instance writes.

-- +goose Up
CREATE TABLE deployment (
    id         TINYINT       NOT NULL,
    cache_key  VARBINARY(32) NOT NULL,
    created_at BIGINT        NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT deployment_single CHECK (id = 1)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS deployment;
