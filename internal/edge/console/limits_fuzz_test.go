package console

import (
	"testing"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

// FuzzLimits: what the form of the limits brings either can be in a policy, and is
// typed again as what it is, or is said to be wrong.
func FuzzLimits(f *testing.F) {
	const whole = "login_place_1_count=5&login_place_1_period=1m&login_place_4_count=50&login_place_4_period=1+%E5%A4%A9&login_account_1_count=100&login_account_1_period=30d" +
		"&login_address_1_count=120&login_address_1_period=1m&register_1_count=30&register_1_period=1h&introspect_1_count=1000&introspect_1_period=1s&version=3&note=x"
	f.Add(whole, 0)
	f.Add(whole+"&do=default%3Aall", 1)
	f.Add("login_place_1_count=0&login_place_1_period=1m&register_1_count=%2B5&register_1_period=99999999999999999999d&version=x", 1)
	f.Fuzz(func(t *testing.T, query string, language int) {
		form, ok := readFields(query)
		if !ok {
			return
		}
		words := languages()[(language%len(languages())+len(languages()))%len(languages())]
		in := readLimits(form)
		l, wrong := in.limits(words)
		for _, field := range words.limitFields(&in, wrong) {
			if (field.Problem != "") != (len(wrong[field.Name].Rows) > 0) {
				t.Fatalf("%s: %q, %+v", field.Name, field.Problem, wrong)
			}
		}
		if len(wrong) > 0 {
			return
		}
		if bad := l.Check(); len(bad) > 0 {
			t.Fatalf("%+v of %q: %+v", l, query, bad)
		}
		again := limitsOf(&policy.Policy{Limits: l})
		if got, wrong := again.limits(words); len(wrong) > 0 || got != l {
			t.Fatalf("%+v is typed as %+v: %+v, %+v", l, again, got, wrong)
		}
	})
}
