-- How many users have password hashes of which format: after the last import, and when
-- they were last counted. What is computed for unknown names follows it. The format ''
-- is all users; without that row nothing was imported, and nothing is counted.

-- +goose Up
CREATE TABLE hash_formats (
    format     VARCHAR(64) NOT NULL,
    imported   BIGINT      NOT NULL,
    users      BIGINT      NOT NULL,
    counted_at BIGINT      NOT NULL,
    PRIMARY KEY (format)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS hash_formats;
