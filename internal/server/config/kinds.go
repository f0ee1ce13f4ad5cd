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

// as is a value of a notation of its own.
func as[T any](to *T, parse func(*T, string) error, show func(T) string) value {
	return value{
		set:  func(text string) error { return parse(to, text) },
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
func plain(to *string, parse func(*string, string) error) value {
	return as(to, parse, func(s string) string { return s })
}

func choice(to *string, allowed ...string) value {
	return plain(to, func(to *string, v string) error { return oneOf(to, v, allowed...) })
}

func onOff(to *bool) value {
	return as(to, func(to *bool, v string) error {
		var word string
		err := oneOf(&word, v, "on", "off")
		*to = word == "on"
		return err
	}, func(on bool) string {
		if on {
			return "on"
		}
		return "off"
	})
}

func number(to *int, least, most int) value {
	return as(to, func(to *int, v string) error { return whole(to, v, least, most) }, strconv.Itoa).orAs(isNumber, aNumber)
}

func span(to *time.Duration, least, most time.Duration) value {
	return as(to, func(to *time.Duration, v string) error { return between(to, v, least, most) }, showSpan).orAs(isNumber, aSpan)
}

func oneOf(dst *string, v string, allowed ...string) error {
	if !slices.Contains(allowed, v) {
		return fmt.Errorf("%s is not allowed; write %s", quoted(v), strings.Join(allowed, " or "))
	}
	*dst = v
	return nil
}

func parseLevel(dst *slog.Level, v string) error {
	var name string
	if err := oneOf(&name, v, "debug", "info", "warn", "error"); err != nil {
		return err
	}
	return dst.UnmarshalText([]byte(name))
}

func showLevel(l slog.Level) string { return strings.ToLower(l.String()) }

// parseHashWorkers takes 0 for as many as there are CPUs, and keeps what that is, so
// that it can be shown.
func parseHashWorkers(dst *int, v string) error {
	err := whole(dst, v, 0, 1024)
	if *dst == 0 {
		*dst = runtime.GOMAXPROCS(0)
	}
	return err
}

// readSpan reads a time as everywhere else, such as 30d, and what Go writes besides,
// such as 500ms: some settings are shorter than a second.
func readSpan(v string) (time.Duration, error) {
	if d, err := duration.Parse(v); err == nil {
		return d, nil
	}
	return time.ParseDuration(v)
}

func between(dst *time.Duration, v string, least, most time.Duration) error {
	d, err := readSpan(v)
	if err != nil {
		if strings.Trim(v, "0123456789.") == "" {
			return fmt.Errorf("%s has no unit; write for example %ss or 500ms", quoted(v), v)
		}
		return fmt.Errorf("%s is not a duration; write a number and a unit, for example 5s or 1m30s", quoted(v))
	}
	if d < least || d > most {
		return fmt.Errorf("%s is out of range; write a duration from %s to %s", quoted(v), showSpan(least), showSpan(most))
	}
	*dst = d
	return nil
}

// parseRetention takes 0 for ever.
func parseRetention(dst *time.Duration, v string) error {
	if d, err := readSpan(v); err == nil && d == 0 {
		*dst = 0
		return nil
	}
	const day = 24 * time.Hour
	if err := between(dst, v, day, 3650*day); err != nil {
		return fmt.Errorf("%w, or 0h for ever", err)
	}
	return nil
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

func whole(dst *int, v string, least, most int) error {
	n, err := strconv.Atoi(v)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s is not a whole number; write digits only, from %d to %d", quoted(v), least, most)
	}
	if err != nil || n < least || n > most {
		return fmt.Errorf("%s is out of range; write a number from %d to %d", quoted(v), least, most)
	}
	*dst = n
	return nil
}
