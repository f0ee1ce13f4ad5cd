-- The places of a user's logins, as a keyed hash of the user and the network
-- address. There the user can log in although strangers have used up the account's
-- attempts. The newest few of each user, for 90 days.

-- +goose Up
CREATE TABLE known_places (
    user_id BIGINT        NOT NULL,
    place   VARBINARY(16) NOT NULL,
    seen_at BIGINT        NOT NULL,
    PRIMARY KEY (user_id, place)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS known_places;
