-- The owner of each worker number. No ID is minted under a number before its
-- fence_ms has been raised past the time of the ID.

-- +goose Up
CREATE TABLE worker_nodes (
    number      INT          NOT NULL,
    owner_token VARCHAR(64)  NOT NULL,
    holder      VARCHAR(255) NOT NULL,
    fence_ms    BIGINT       NOT NULL,
    seen_at     BIGINT       NOT NULL,
    PRIMARY KEY (number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS worker_nodes;
