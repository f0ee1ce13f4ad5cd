package config

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/duration"
)

// A value is where a setting goes, and how it is written.
type value struct {
	set  func(text string) error // writes the destination only when the text is right, and otherwise says what would be
	show func() string           // the effective value; what is secret in it is hidden

	form form   // that a file may use beside text
	noun string // what that is called
}

// What values in a file are called.
const (
	aText   = "text"
	aNumber = "a whole number"
	aList   = "a list of texts, or one text with commas"
	aSpan   = "a duration such as 5s" // a bare number gets through, for the error that it lacks a unit
)

// as is a value of a notation of its own. parse never gets the empty text.
func as[T any](to *T, parse func(string) (T, error), show func(T) string) value {
	return value{
		set: func(text string) (err error) {
			var v T // of the empty text, where that is a value
			if text != "" {
				v, err = parse(text)
			}
			if err == nil {
				*to = v
			}
			return err
		},
		show: func() string { return show(*to) },
		form: isText, noun: aText,
	}
}

// orAs is v, which a file may also hold in that form.
func (v value) orAs(f form, noun string) value {
	v.form, v.noun = f, noun
	return v
}

// plain is a text that is shown as it is.
func plain(to *string, parse func(string) (string, error)) value {
	return as(to, parse, func(s string) string { return s })
}

func choice(to *string, allowed ...string) value {
	return plain(to, func(v string) (string, error) { return oneOf(v, allowed...) })
}

func onOff(to *bool) value {
	return as(to, func(v string) (bool, error) {
		word, err := oneOf(v, "on", "off")
		return word == "on", err
	}, func(on bool) string {
		if on {
			return "on"
		}
		return "off"
	})
}

func number(to *int, least, most int) value {
	return as(to, func(v string) (int, error) { return whole(v, least, most) }, strconv.Itoa).orAs(isNumber, aNumber)
}

func span(to *time.Duration, least, most time.Duration) value {
	return as(to, func(v string) (time.Duration, error) { return between(v, least, most) }, showSpan).orAs(isNumber, aSpan)
}

func oneOf(v string, allowed ...string) (string, error) {
	if !slices.Contains(allowed, v) {
		return "", fmt.Errorf("%s is not allowed; write %s", quoted(v), strings.Join(allowed, " or "))
	}
	return v, nil
}

func parseLevel(v string) (l slog.Level, err error) {
	name, err := oneOf(v, "debug", "info", "warn", "error")
	if err == nil {
		err = l.UnmarshalText([]byte(name))
	}
	return l, err
}

func showLevel(l slog.Level) string { return strings.ToLower(l.String()) }

// parseHashWorkers takes 0 for as many as there are CPUs, and keeps what that is, so
// that it can be shown.
func parseHashWorkers(v string) (int, error) {
	n, err := whole(v, 0, 1024)
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return n, err
}

// readSpan reads a time as everywhere else, such as 30d, and what Go writes besides,
// such as 500ms: some settings are shorter than a second.
func readSpan(v string) (time.Duration, error) {
	if d, err := duration.Parse(v); err == nil {
		return d, nil
	}
	return time.ParseDuration(v)
}

func between(v string, least, most time.Duration) (time.Duration, error) {
	d, err := readSpan(v)
	if err != nil {
		if strings.Trim(v, "0123456789.") == "" {
			return 0, fmt.Errorf("%s has no unit; write for example %ss or 500ms", quoted(v), v)
		}
		return 0, fmt.Errorf("%s is not a duration; write a number and a unit, for example 5s or 1m30s", quoted(v))
	}
	if d < least || d > most {
		return 0, fmt.Errorf("%s is out of range; write a duration from %s to %s", quoted(v), showSpan(least), showSpan(most))
	}
	return d, nil
}

// parseRetention takes 0 for ever.
func parseRetention(v string) (time.Duration, error) {
	if d, err := readSpan(v); err == nil && d == 0 {
		return 0, nil
	}
	const day = 24 * time.Hour
	d, err := between(v, day, 3650*day)
	if err != nil {
		return 0, fmt.Errorf("%w, or 0h for ever", err)
	}
	return d, nil
}

// showSpan writes 5m0s as 5m.
func showSpan(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func whole(v string, least, most int) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is not a whole number; write digits only, from %d to %d", quoted(v), least, most)
	}
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is out of range; write a number from %d to %d", quoted(v), least, most)
	}
	return n, nil
}
