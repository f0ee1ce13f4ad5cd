package limit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

const day = 24 * time.Hour

func TestDefaultLimitsCanBeInForce(t *testing.T) {
	def := limit.Default()
	if wrong := def.Check(); len(wrong) > 0 {
		t.Errorf("%+v", wrong)
	}
	if text, err := limit.Encode(&def); err != nil {
		t.Error(err)
	} else if got, err := limit.Decode(text); err != nil || got != def {
		t.Errorf("read again: %+v, %v", got, err)
	}
}

// A limit that protects no account, or that no user can work with, is refused.
func TestLimitsHaveLimits(t *testing.T) {
	place := func(rules ...limit.Rule) func(*limit.Limits) {
		return func(l *limit.Limits) {
			l.LoginPlace = [limit.MaxPlace]limit.Rule{}
			copy(l.LoginPlace[:], rules)
		}
	}
	long := limit.Rule{Count: 50, Per: day}
	for name, c := range map[string]struct {
		edit  func(*limit.Limits)
		field string // empty: it is good
	}{
		"one rule of a place":                   {place(long), ""},
		"four":                                  {place(limit.Rule{Count: 3, Per: 10 * time.Second}, limit.Rule{Count: 10, Per: 10 * time.Minute}, limit.Rule{Count: 40, Per: day}, limit.Rule{Count: 100, Per: 30 * day}), ""},
		"no rule of a place":                    {place(), "login_place"},
		"a place that gets one attempt a day":   {place(limit.Rule{Count: 1, Per: day}), "login_place"},
		"only a short rule of a place":          {place(limit.Rule{Count: 5, Per: time.Minute}), "login_place"},
		"the longest rule first":                {place(long, limit.Rule{Count: 5, Per: time.Minute}), "login_place"},
		"a long rule that is never reached":     {place(limit.Rule{Count: 5, Per: time.Hour}, limit.Rule{Count: 1000, Per: day}), "login_place"},
		"a short rule that is never reached":    {place(limit.Rule{Count: 60, Per: time.Minute}, long), "login_place"},
		"an account as NIST has it":             {func(l *limit.Limits) { l.LoginAccount = limit.Rule{Count: 100, Per: day} }, ""},
		"an account beyond that":                {func(l *limit.Limits) { l.LoginAccount = limit.Rule{Count: 101, Per: 30 * day} }, "login_account"},
		"an account by the hour":                {func(l *limit.Limits) { l.LoginAccount = limit.Rule{Count: 100, Per: time.Hour} }, "login_account"},
		"an account that any client can use up": {func(l *limit.Limits) { l.LoginAccount = limit.Rule{Count: 9, Per: day} }, "login_account"},
		"an account that waits for days":        {func(l *limit.Limits) { l.LoginAccount = limit.Rule{Count: 10, Per: 30 * day} }, "login_account"},
		"an address that any number fits":       {func(l *limit.Limits) { l.LoginAddress = limit.Rule{Count: 10_000, Per: time.Second} }, "login_address"},
		"an address with one attempt an hour":   {func(l *limit.Limits) { l.LoginAddress = limit.Rule{Count: 10, Per: 10 * time.Hour} }, "login_address"},
		"no limit of an address":                {func(l *limit.Limits) { l.LoginAddress = limit.Rule{} }, "login_address"},
		"registrations without an end":          {func(l *limit.Limits) { l.Register = limit.Rule{Count: 10_000, Per: time.Second} }, "register"},
		"one registration a day":                {func(l *limit.Limits) { l.Register = limit.Rule{Count: 1, Per: day} }, ""},
		"a service that may ask once a minute":  {func(l *limit.Limits) { l.Introspect = limit.Rule{Count: 1, Per: time.Minute} }, "introspect"},
		"a service that may ask a million":      {func(l *limit.Limits) { l.Introspect = limit.Rule{Count: 1_000_000, Per: time.Second} }, ""},
		"a period of half a second":             {func(l *limit.Limits) { l.Introspect.Per = 500 * time.Millisecond }, "introspect"},
		"less than nothing":                     {func(l *limit.Limits) { l.Register.Count = -1 }, "register"},
	} {
		l := limit.Default()
		c.edit(&l)
		wrong := l.Check()
		if c.field == "" && len(wrong) > 0 || c.field != "" && (len(wrong) != 1 || wrong[0].Field != c.field || !strings.Contains(wrong[0].Message, c.field)) {
			t.Errorf("%s: got %+v, want %q", name, wrong, c.field)
		}
	}
	if all := (&limit.Limits{}).Check(); len(all) != 5 {
		t.Errorf("of five rules that are wrong %d are named: %+v", len(all), all)
	}
}

// What was missing when another version wrote it is as by default; what is wrong
// is an error, and never no limit.
func TestDecodeNeverTurnsLimitsOff(t *testing.T) {
	def := limit.Default()
	for _, text := range []string{`{}`, `{"register":{"count":30,"period_seconds":3600}}`, `{"sms":{"count":1,"period_seconds":1}}`} {
		if got, err := limit.Decode([]byte(text)); err != nil || got != def {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{``, `x`, `[]`, `{"register":null}`, `{"login_place":[]}`, `{"login_place":null}`, `{"register":{"count":0}}`,
		`{"login_account":{"count":1000000,"period_seconds":1}}`, `{"introspect":{"count":9223372036854775807,"period_seconds":9223372036854775807}}`,
		`{"login_place":[{"count":5,"period_seconds":60},{"count":6,"period_seconds":600},{"count":7,"period_seconds":6000},{"count":8,"period_seconds":60000},{"count":50,"period_seconds":86400}]}`} {
		if got, err := limit.Decode([]byte(text)); err == nil || got != (limit.Limits{}) {
			t.Errorf("%s: got %+v, and no error", text, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	def := limit.Default()
	text, err := limit.Encode(&def)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"login_place":[{"count":-1,"period_seconds":1e3}]}`))
	f.Add([]byte(`{"login_place":[{"count":3,"period_seconds":10},{"count":10,"period_seconds":600},{"count":40,"period_seconds":86400},{"count":100,"period_seconds":2592000}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := limit.Decode(text)
		if err != nil {
			return
		}
		if wrong := l.Check(); len(wrong) > 0 {
			t.Fatalf("%s is read as %+v: %+v", text, l, wrong)
		}
		again, err := limit.Encode(&l)
		if err != nil {
			t.Fatal(err)
		}
		if len(again) > 2048 {
			t.Fatalf("%d bytes", len(again))
		}
		if got, err := limit.Decode(again); err != nil || got != l {
			t.Fatalf("%s: %+v, %v", again, got, err)
		}
	})
}
