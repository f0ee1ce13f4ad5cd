//go:build unix

package redisworkertest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/redisworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

func TestBrokenRecordLendsNothing(t *testing.T) {
	l := settled(t, single(t, testenv.Redis(t)))
	g := acquire(t, l, time.Second)
	ctx, key, n := t.Context(), keyOf(l), fmt.Sprint(g.Number)
	good := l.Client.HGetAll(ctx, key).Val()
	refused := func(what string, own bool) {
		t.Helper()
		if got, err := l.Acquire(ctx, time.Second); !errors.Is(err, redisworker.ErrBroken) {
			t.Errorf("%s: acquire: %+v, %v, want ErrBroken", what, got, err)
		}
		if !own {
			return
		}
		if got, err := l.Extend(ctx, g, g.Until); !errors.Is(err, redisworker.ErrBroken) {
			t.Errorf("%s: extend: %+v, %v, want ErrBroken", what, got, err)
		}
		if err := l.Release(ctx, g, g.Until); !errors.Is(err, redisworker.ErrBroken) {
			t.Errorf("%s: release: %v, want ErrBroken", what, err)
		}
	}
	for _, field := range []string{"record", n} {
		is := good[field]
		for what, value := range map[string]string{
			"empty": "", "a word": "x", "cut off": is[:len(is)/2], "spaced": " " + is, "another version": "9" + is[1:],
			"a fraction": strings.ReplaceAll(is, "1", "1.5"), "negative": strings.ReplaceAll(is, " 1", " -1"),
			"too long": strings.ReplaceAll(is, " 1", " 1000000000000000"),
		} {
			if err := l.Client.HSet(ctx, key, field, value).Err(); err != nil {
				t.Fatal(err)
			}
			refused(field+" is "+what, true)
		}
		if err := l.Client.HSet(ctx, key, field, is).Err(); err != nil {
			t.Fatal(err)
		}
	}
	plant(t, l, 7, "x")
	refused("another number", false)
	if err := l.Client.Set(ctx, key, "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	refused("a string", true)
}

// good is a number's field as the scripts write it.
var good = regexp.MustCompile(`(?s)^[pof] [^ \t\n\v\f\r]+ (\d{1,15}) (\d{1,15}) (\d{1,15}) .*$`)

// FuzzField puts anything where a number's field belongs. What is lent is
// nothing, or lies behind the fence that the field has.
func FuzzField(f *testing.F) {
	rdb := single(f, testenv.Redis(f))
	for _, s := range []string{"", "f T 1 2 3 h", "p T 1 2 3 h", "p T 2 1 3 h", "f T 1 1763000000000 3 ", "f  1 2 3 h", "f T 1 2 3", "f T 1 0x2 3 h",
		"f T 1 1e3 3 h", "f T 1 9999999999999999 3 h", "f\x00T 1 2 3 h", "f T 1 2 3 \n\x00", "o T 1 99999999999999 3 h",
		"f T 1 17630000000000 0 "} { // a fence further away than a time.Duration
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, field string) {
		l := settled(t, rdb, func(l *redisworker.Lender) { l.Namespace, l.Numbers = "f", 1 })
		plant(t, l, 0, field)
		parts := good.FindStringSubmatch(field)
		var from, fence int64
		if parts != nil {
			from, _ = strconv.ParseInt(parts[1], 10, 64)
			fence, _ = strconv.ParseInt(parts[2], 10, 64)
		}
		broken := parts == nil || from > fence
		ctx, cancel := context.WithTimeout(t.Context(), soon) // a fence that is far is not waited for
		defer cancel()
		seat := idworker.Grant{Token: "T", From: time.UnixMilli(1), Until: time.UnixMilli(1)}
		if g, err := l.Extend(ctx, seat, seat.Until); errors.Is(err, redisworker.ErrBroken) != broken {
			t.Fatalf("%q: extended to %+v, %v", field, g, err)
		}
		g, err := l.Acquire(ctx, time.Millisecond)
		switch {
		case errors.Is(err, redisworker.ErrBroken) != broken:
			t.Fatalf("%q: lent %+v, %v", field, g, err)
		case ctx.Err() != nil:
			t.Fatalf("%q: waited for its fence", field)
		case err == nil && g.From.UnixMilli() < fence:
			t.Fatalf("%q: lent %+v, which begins before the fence", field, g)
		}
	})
}
