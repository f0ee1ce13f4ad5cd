-- Idle logins are found, listed and counted in the index alone, without reading
-- rows. It replaces the index on the time alone.

-- +goose Up
ALTER TABLE users ADD KEY users_idle (token_seen_at, id, token_id), DROP KEY users_token_seen_at;

-- +goose Down
ALTER TABLE users ADD KEY users_token_seen_at (token_seen_at), DROP KEY users_idle;
