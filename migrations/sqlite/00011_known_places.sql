-- What the columns mean: mysql/00011_known_places.sql.

-- +goose Up
CREATE TABLE known_places (
    user_id INTEGER NOT NULL,
    place   BLOB    NOT NULL CONSTRAINT known_places_place_length CHECK (length(place) <= 16),
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, place)
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS known_places;
