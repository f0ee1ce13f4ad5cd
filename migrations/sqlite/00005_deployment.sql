-- What the columns mean: mysql/00005_deployment.sql.

-- +goose Up
CREATE TABLE deployment (
    id         INTEGER NOT NULL PRIMARY KEY CONSTRAINT deployment_single CHECK (id = 1),
    cache_key  BLOB    NOT NULL CONSTRAINT deployment_cache_key_length CHECK (length(cache_key) <= 32),
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS deployment;
