package sqlstore

import (
	"fmt"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

// readLimits reads the limits of a policy. What cannot be read never means that
// there are none: the default ones come with the error.
func readLimits(text []byte) (limit.Limits, error) {
	if len(text) == 0 {
		return limit.Default(), nil
	}
	l, err := limit.Decode(text)
	if err != nil {
		return limit.Default(), fmt.Errorf("sqlstore: %w", err)
	}
	return l, nil
}

// writeLimits is l as it is kept: nil for the default ones, so that who has
// never changed them gets those of a later version. Both ends refuse what
// cannot be in force.
func writeLimits(l *limit.Limits) ([]byte, error) {
	if *l == limit.Default() {
		return nil, nil
	}
	text, err := limit.Encode(l)
	if err != nil {
		return nil, err
	}
	if _, err := limit.Decode(text); err != nil {
		return nil, err
	}
	return text, nil
}
