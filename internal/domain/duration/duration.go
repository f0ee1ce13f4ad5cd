// Package duration is the one way in which a length of time is written: days, hours,
// minutes and seconds, such as 14d, 1d12h, 36h or 90m. A day has 24 hours.
package duration

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// units are those of a span, the largest first.
var units = []struct {
	letter byte
	length time.Duration
}{{'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}

// ErrInvalid means that a text is no span.
var ErrInvalid = errors.New("no length of time")

// Parse reads whole numbers with their units, the larger unit first and each at most
// once.
func Parse(text string) (time.Duration, error) {
	if text == "" {
		return 0, ErrInvalid
	}
	var sum time.Duration
	rest, left := text, units
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil || digits == len(rest) {
			return 0, ErrInvalid
		}
		for len(left) > 0 && left[0].letter != rest[digits] {
			left = left[1:]
		}
		if len(left) == 0 || n > int64((math.MaxInt64-sum)/left[0].length) {
			return 0, ErrInvalid
		}
		sum += time.Duration(n) * left[0].length
		rest, left = rest[digits+1:], left[1:]
	}
	return sum, nil
}

// Format writes d as Parse reads it. What is below a second is left out.
func Format(d time.Duration) string {
	var b strings.Builder
	for _, u := range units {
		if n := d / u.length; n > 0 {
			fmt.Fprintf(&b, "%d%c", n, u.letter)
			d -= n * u.length
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}
