package wire

import (
	"errors"
	"strconv"
	"time"
)

// ErrBadID says that a text is not the decimal form of an ID.
var ErrBadID = errors.New("wire: not an ID")

// An ID is the public number of a user, a session or an event: 63 bits, greater
// than 0, and larger for what is later. Its text is decimal, and in JSON it is a
// string, because the numbers of JavaScript hold 53 bits.
//
// It is a type of its own, and not that of the package idworker, so that who
// imports this package needs nothing else.
type ID int64

// ParseID reads what [ID.String] writes: 1 to 19 decimal digits without a sign
// or leading zeros, 0 < id < 2^63. Anything else is [ErrBadID].
func ParseID(s string) (ID, error) {
	if s == "" || s[0] == '0' {
		return 0, ErrBadID
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, ErrBadID
	}
	return ID(n), nil
}

// Time is when the ID was made, in UTC and whole milliseconds: the time that the
// server's instances read off their clocks.
func (id ID) Time() time.Time { return time.UnixMilli(id.UnixMilli()).UTC() }

// UnixMilli is [ID.Time] in Unix milliseconds. The upper 41 bits are the milliseconds
// since 2014-12-31T16:00:00Z (midnight of the new year in UTC+8). Below them are 10 bits
// of worker and 12 bits of sequence.
func (id ID) UnixMilli() int64 { return 1420041600000 + int64(id)>>22 }

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
	n, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = n
	return nil
}
