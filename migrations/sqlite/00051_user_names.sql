-- Names with which people log in, apart from most usernames: aliases (kind mail or phone),
-- and each username that could be one, because it has an @ (kind username). So one primary
-- key says that a name is of one user, whoever writes it. There is no foreign key: see the
-- MySQL file.

-- +goose Up
CREATE TABLE user_names (
    name    TEXT    NOT NULL PRIMARY KEY,
    user_id INTEGER NOT NULL,
    kind    TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX user_names_user ON user_names (user_id);

-- +goose Down
DROP TABLE IF EXISTS user_names;
