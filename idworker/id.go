package idworker

import (
	"errors"
	"strconv"
)

// ErrBadID says that a text is not the decimal form of an ID.
var ErrBadID = errors.New("idworker: not an ID")

// An ID is a number of 63 bits, greater than 0. Later instants have larger
// IDs. Its text is decimal, and in JSON it is a string, because the numbers of
// JavaScript hold 53 bits.
type ID int64

// ParseID reads what [ID.String] writes: 1 to 19 decimal digits without a sign
// or leading zeros, 0 < id < 2^63. Anything else is [ErrBadID].
func ParseID(s string) (ID, error) { return parse(s) }

func parse[T string | []byte](s T) (ID, error) {
	if len(s) == 0 || len(s) > 19 || s[0] == '0' {
		return 0, ErrBadID
	}
	var n uint64 // 19 digits are less than 2^64
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, ErrBadID
		}
		n = 10*n + uint64(c)
	}
	if n > 1<<63-1 {
		return 0, ErrBadID
	}
	return ID(n), nil
}

// String is the ID in decimal.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// AppendText appends what [ID.String] returns. It never fails.
func (id ID) AppendText(b []byte) ([]byte, error) {
	return strconv.AppendInt(b, int64(id), 10), nil
}

// MarshalText returns what [ID.String] returns. It never fails.
func (id ID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText reads what [ParseID] accepts, and leaves the ID as it was if it
// returns [ErrBadID].
func (id *ID) UnmarshalText(b []byte) error {
	n, err := parse(b)
	if err != nil {
		return err
	}
	*id = n
	return nil
}
