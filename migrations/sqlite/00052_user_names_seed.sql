-- The usernames that are there and could be aliases. Instances of the previous release may
-- go on: a username with an @ that one of them makes later is not here. It is found in users
-- before any alias, and who sets an alias looks there too.

-- +goose Up
INSERT OR IGNORE INTO user_names (name, user_id, kind) SELECT username, id, 'username' FROM users WHERE username LIKE '%@%';

-- +goose Down
DELETE FROM user_names WHERE kind = 'username';
