-- Requests of issuers that may be repeated: by the service key and the SHA-256 of what the
-- issuer calls the request, the SHA-256 of its body, the login that it has opened and whose that
-- is, and since when the user has the second factor of which a code was accepted, or 0. They are
-- kept for ten minutes, and deleted after the next sweep.

-- +goose Up
CREATE TABLE issue_requests (
    key_id     BIGINT        NOT NULL,
    request    VARBINARY(32) NOT NULL,
    body       VARBINARY(32) NOT NULL,
    token_id   BIGINT        NOT NULL,
    user_id    BIGINT        NOT NULL,
    factor_at  BIGINT        NOT NULL,
    created_at BIGINT        NOT NULL,
    PRIMARY KEY (key_id, request),
    KEY issue_requests_created_at (created_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS issue_requests;
