-- What it is: mysql/00043_issue_requests.sql.

-- +goose Up
CREATE TABLE issue_requests (
    key_id     INTEGER NOT NULL,
    request    BLOB    NOT NULL CONSTRAINT issue_requests_request_length CHECK (length(request) <= 32),
    body       BLOB    NOT NULL CONSTRAINT issue_requests_body_length CHECK (length(body) <= 32),
    token_id   INTEGER NOT NULL,
    user_id    INTEGER NOT NULL,
    factor_at  INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (key_id, request)
) STRICT;
CREATE INDEX issue_requests_created_at ON issue_requests (created_at);

-- +goose Down
DROP TABLE IF EXISTS issue_requests;
