-- What the columns mean: mysql/00004_worker_nodes.sql.

-- +goose Up
CREATE TABLE worker_nodes (
    number      INTEGER NOT NULL PRIMARY KEY,
    owner_token TEXT    NOT NULL CONSTRAINT worker_nodes_owner_token_length CHECK (length(owner_token) <= 64),
    holder      TEXT    NOT NULL CONSTRAINT worker_nodes_holder_length CHECK (length(holder) <= 255),
    fence_ms    INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS worker_nodes;
