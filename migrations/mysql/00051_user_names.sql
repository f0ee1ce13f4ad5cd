-- Names with which people log in, apart from most usernames: aliases (kind mail or phone),
-- and each username that could be one, because it has an @ (kind username). So one primary
-- key says that a name is of one user, whoever writes it on whichever server. There is no
-- foreign key: it would lock the row of the user for each change here.

-- +goose Up
CREATE TABLE user_names (
    name    VARCHAR(255) NOT NULL,
    user_id BIGINT       NOT NULL,
    kind    VARCHAR(8)   NOT NULL,
    PRIMARY KEY (name),
    KEY user_names_user (user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS user_names;
