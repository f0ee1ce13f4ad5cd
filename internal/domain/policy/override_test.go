package policy_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

const day = 24 * time.Hour

// overrides reads some.
func overrides(t testing.TB, texts ...string) []policy.Override {
	t.Helper()
	all := make([]policy.Override, len(texts))
	for i, text := range texts {
		var err error
		if all[i], err = policy.ParseOverride(text); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// after is a policy with those overrides, which came into force at noon.
func after(t testing.TB, texts ...string) policy.Policy {
	t.Helper()
	p := policy.Default()
	p.Overrides = overrides(t, texts...)
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	old := policy.Default()
	return old.Succeed(p, noon)
}

// TestTightestOverrideCounts: for each time by itself; and which one it was is named.
func TestTightestOverrideCounts(t *testing.T) {
	p := after(t, "class:phone=idle:90d,absolute:180d", "class:web=idle:1h", "role:admin=absolute:12h,touch:5s", "class:tv=sessions:1")
	none, phone, web, admin := policy.Scope{}, policy.Scope{Class: "phone"}, policy.Scope{Class: "web"}, policy.Scope{Role: "admin"}
	for _, c := range []struct {
		class, role           string
		idle, absolute, touch time.Duration
		idleBy, absoluteBy    policy.Scope
	}{
		{"other", "user", 14 * day, 30 * day, time.Minute, none, none},
		{"tv", "user", 14 * day, 30 * day, time.Minute, none, none},
		{"phone", "user", 90 * day, 180 * day, time.Minute, phone, phone},
		{"phone", "service", 90 * day, 180 * day, time.Minute, phone, phone},
		{"web", "user", time.Hour, 30 * day, time.Minute, web, none},
		{"other", "admin", 12 * time.Hour, 12 * time.Hour, 5 * time.Second, admin, admin}, // idle is never longer
		{"phone", "admin", 12 * time.Hour, 12 * time.Hour, 5 * time.Second, admin, admin},
		{"web", "admin", time.Hour, 12 * time.Hour, 5 * time.Second, web, admin},
		{"a class of before", "user", 14 * day, 30 * day, time.Minute, none, none},
	} {
		got := p.For(c.class, c.role)
		idleBy, absoluteBy := p.By(c.class, c.role)
		if got.Idle != c.idle || got.Absolute != c.absolute || got.Touch != c.touch || idleBy != c.idleBy || absoluteBy != c.absoluteBy {
			t.Errorf("%s of %s: %+v by %v and %v; want %+v", c.class, c.role, got, idleBy, absoluteBy, c)
		}
	}
	if issued, seen := p.Longest(noon); !issued.Equal(noon.Add(-30*day)) || !seen.Equal(noon.Add(-14*day)) {
		t.Errorf("just after the change all that was over is: %v, %v", issued, seen)
	}
	later := noon.Add(400 * day)
	if issued, seen := p.Longest(later); !issued.Equal(later.Add(-180*day)) || !seen.Equal(later.Add(-90*day)) {
		t.Errorf("later what the longest scope has ended is over: %v, %v", issued, seen)
	}
	if p.ShortestTouch() != 5*time.Second {
		t.Errorf("the shortest touch interval is %v", p.ShortestTouch())
	}
}

// TestOverridesAreChecked: each mistake is named, with the field.
func TestOverridesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"class:watch=idle:1h":             "one of the classes phone",
		"class:50%d=idle:1h":              "override of class:50%d must",
		"role:root=idle:1h":               "one of the roles user, service, admin",
		"class:phone=idle:1m":             "at least 5m",
		"class:phone=absolute:401d":       "at most 400 days",
		"class:phone=idle:2h,absolute:1h": "longer than its absolute lifetime",
		"role:admin=sessions:2":           "none of its own",
		"class:phone=none":                "must set something",
		"class:phone=touch:0s":            "no override",
		"class:phone=sessions:33":         "no override",
		"class:phone=idle:1h,idle:2h":     "twice",
		"phone=idle:1h":                   "class: or role:",
		"class:=idle:1h":                  "class: or role:",
		"class:phone":                     "an equals sign",
		"class:phone=weeks:2":             "idle, absolute, touch or sessions",
	} {
		o, err := policy.ParseOverride(text)
		if err == nil {
			p := policy.Default()
			p.Overrides = []policy.Override{o}
			err = p.Check()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
	p := policy.Default()
	p.Overrides = overrides(t, "class:tv=idle:1h", "class:tv=idle:2h")
	if err := p.Check(); err == nil || !strings.Contains(err.Error(), "must be there once") {
		t.Errorf("two of one class: %v", err)
	}
	for _, classes := range [][]string{{"phone"}, {}, {"other", "other"}, {"other", "Phone"}, {"other", ""}, {"other", strings.Repeat("a", 17)}, make([]string, 17)} {
		p := policy.Default()
		if p.Classes = classes; p.Check() == nil {
			t.Errorf("classes %q are taken", classes)
		}
	}
	p = policy.Default()
	p.Classes = []string{"other", "watch"}
	p.Overrides = overrides(t, "class:watch=idle:1h")
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

// TestWhatAScopeHasEndedStaysOver makes random changes with and without overrides while time
// runs on: what is over in its scope stays over, whatever overrides come and go; what lives
// in it is ended by no change of another scope; and the mark of all is behind that of each.
func TestWhatAScopeHasEndedStaysOver(t *testing.T) {
	classes, roles := []string{"phone", "web", "other"}, []string{"user", "admin"}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		span := func() time.Duration {
			return 5*time.Minute + time.Duration(r.Int64N(int64(60*day))).Truncate(time.Second)
		}
		p, now := policy.Default(), noon
		type login struct {
			class, role  string
			issued, seen time.Time
			over         bool
		}
		var logins []login
		for step := range 200 {
			switch r.IntN(4) {
			case 0, 1:
				next := policy.Default()
				next.Absolute = span()
				next.Idle = min(span(), next.Absolute)
				for _, s := range []policy.Scope{{Class: "phone"}, {Class: "web"}, {Role: "admin"}} {
					if r.IntN(3) == 0 {
						next.Overrides = append(next.Overrides, policy.Override{Scope: s, Idle: span(), Absolute: span() * time.Duration(r.IntN(2))})
					}
				}
				was := p
				p = p.Succeed(next, now)
				text, err := p.EncodeTerms()
				if err != nil {
					t.Fatal(err)
				}
				kept := p
				kept.Refuse, kept.Classes, kept.Overrides, kept.Scopes = false, nil, nil, nil
				if err := kept.DecodeTerms(text); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(kept, p); diff != "" {
					t.Fatalf("seed %d, step %d: kept otherwise, -got +want\n%s", seed, step, diff)
				}
				for _, class := range classes {
					for _, role := range roles {
						was, is := was.For(class, role), p.For(class, role)
						latest := func(a, b time.Time) time.Time {
							if a.After(b) {
								return a
							}
							return b
						}
						if want := latest(was.OldestSeen(now), now.Add(-is.Idle)); !is.OldestSeen(now).Equal(want) {
							t.Fatalf("seed %d, step %d: %s of %s is idle from %v on, want %v", seed, step, class, role, is.OldestSeen(now), want)
						}
						if want := latest(was.OldestIssued(now), now.Add(-is.Absolute)); !is.OldestIssued(now).Equal(want) {
							t.Fatalf("seed %d, step %d: %s of %s expires from %v on, want %v", seed, step, class, role, is.OldestIssued(now), want)
						}
					}
				}
			case 2:
				now = now.Add(time.Duration(r.Int64N(int64(10 * day))).Truncate(time.Millisecond))
			default:
				at := now.Add(-time.Duration(r.Int64N(int64(70 * day))))
				logins = append(logins, login{class: classes[r.IntN(3)], role: roles[r.IntN(2)], issued: at, seen: at.Add(time.Duration(r.Int64N(int64(now.Sub(at)) + 1)))})
			}
			issued, seen := p.Longest(now)
			for i := range logins {
				l := &logins[i]
				e := p.For(l.class, l.role)
				over := e.Expired(l.issued, now) || e.Idled(l.seen, now)
				if l.over && !over {
					t.Fatalf("seed %d, step %d: a login on %s of %s, issued %v, seen %v, was over and is not any more", seed, step, l.class, l.role, l.issued, l.seen)
				}
				if !over && (!l.issued.After(issued) || !l.seen.After(seen)) {
					t.Fatalf("seed %d, step %d: a login that lives is behind the mark of all", seed, step)
				}
				l.over = over
			}
		}
	}
}

// TestUnknownTermsDecideNothing: what cannot be read may end logins, or keep them.
func TestUnknownTermsDecideNothing(t *testing.T) {
	for _, text := range []string{`{`, `null`, `{"more":1}`, `{"overrides":[{"device_class":"tv","mode":1}]}`, `{"overrides":1}`, "\x00"} {
		p := policy.Default()
		if err := p.DecodeTerms([]byte(text)); err == nil && text != "null" {
			t.Errorf("%s is read as %+v", text, p)
		}
	}
}

// TestTooManyClassesAreRefused: what an earlier policy has ended must stay over, so its scopes
// stay, and a row has an end.
func TestTooManyClassesAreRefused(t *testing.T) {
	p := policy.Default()
	for round := range 40 {
		next := policy.Default()
		next.Classes = []string{"other"}
		for i := range 15 {
			class := fmt.Sprintf("class-%d-%d", round, i)
			next.Classes = append(next.Classes, class)
			next.Overrides = append(next.Overrides, policy.Override{Scope: policy.Scope{Class: class}, Idle: time.Hour})
		}
		p = p.Succeed(next, noon.Add(time.Duration(round)*time.Minute))
		if _, err := p.EncodeTerms(); err != nil {
			if !errors.Is(err, policy.ErrCrowded) || round < 5 {
				t.Errorf("after %d rounds: %v", round, err)
			}
			p = p.Succeed(policy.Default(), noon.Add(400*day)) // the last ones were in force until now
			p = p.Succeed(policy.Default(), noon.Add(800*day))
			if _, err := p.EncodeTerms(); err != nil || p.Scopes != nil {
				t.Errorf("when nothing depends on them: %d scopes, %v", len(p.Scopes), err)
			}
			return
		}
	}
	t.Error("a policy of any size is kept")
}

func FuzzParseOverride(f *testing.F) {
	f.Add("class:phone=idle:90d,absolute:180d,touch:5m,sessions:1")
	f.Add("role:admin=none")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := policy.ParseOverride(text)
		if err != nil {
			return
		}
		if again, err := policy.ParseOverride(o.String()); err != nil || again != o {
			t.Errorf("%q is %+v, which is written as %s, which is %+v, %v", text, o, o, again, err)
		}
	})
}

func FuzzDecodeTerms(f *testing.F) {
	f.Add([]byte(`{"refuse":true,"device_classes":["other"],"overrides":[{"role":"admin","idle_timeout_seconds":300}],"bases":[{"role":"admin","idle_base":1,"absolute_base":2}],"lowered_in":3,"lowered_at":4}`))
	f.Add([]byte(`{"overrides":[{"device_class":"phone","max_sessions":33},null],"bases":[{"device_class":"phone","idle_base":-9223372036854775808,"absolute_base":9223372036854775807},{"idle_base":0,"absolute_base":0}],"lowered_in":-1,"lowered_at":-9223372036854775808}`))
	f.Add([]byte(`{"device_classes":["` + strings.Repeat("<", 2000) + `"]}`)) // 12,000 bytes when it is written
	f.Fuzz(func(t *testing.T, text []byte) {
		p := policy.Default()
		if p.DecodeTerms(text) != nil {
			return
		}
		kept, err := p.EncodeTerms()
		if errors.Is(err, policy.ErrCrowded) {
			return // a longer text than any that it has written
		}
		again := policy.Default()
		if err != nil || again.DecodeTerms(kept) != nil || !cmp.Equal(again, p) {
			t.Errorf("%s is kept as %s, %v", text, kept, err)
		}
	})
}
