package policy_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

type versions struct{ first policy.Policy }

func (v versions) LoadPolicy(context.Context) (policy.Policy, error) { return v.first, nil }

// Limits that cannot be read turn nothing off: the last good ones stay, and it is
// said once.
func TestLimitsThatCannotBeReadLeaveTheLastGoodOnes(t *testing.T) {
	good := policy.Default()
	good.Limits.Register.Count = 7
	live, err := policy.NewLive(t.Context(), versions{good})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	apply := live.Follow(slog.New(slog.NewTextHandler(&log, nil)))
	for version := int64(2); version < 4; version++ {
		next := policy.Default()
		next.Version, next.Idle, next.LimitsErr = version, good.Idle/2, errors.New("no JSON")
		for range 3 {
			apply(t.Context(), next)
		}
		if p := live.Current(); p.Limits != good.Limits || p.Version != version || p.Idle != good.Idle/2 {
			t.Errorf("in force: %+v", p)
		}
		if n := strings.Count(log.String(), "cannot be read"); n != int(version)-1 {
			t.Errorf("%d lines about %d versions\n%s", n, version-1, &log)
		}
	}
	next := policy.Default()
	next.Version = 4
	apply(t.Context(), next)
	if live.Current().Limits != limit.Default() {
		t.Errorf("set anew: %+v", live.Current().Limits)
	}
}

// Every error is returned in one answer, by the names of the API.
func TestCheckNamesTimesAndLimits(t *testing.T) {
	p := policy.Default()
	p.Idle, p.Limits.LoginAccount.Count, p.Limits.Register = 0, 1000, limit.Rule{}
	wrong, _ := errors.AsType[*invalid.Error](p.Check())
	var fields []string
	for _, f := range wrong.Fields {
		fields = append(fields, f.Field)
	}
	if got := strings.Join(fields, " "); !strings.Contains(got, "idle_timeout_seconds") || !strings.Contains(got, "limits.login_account limits.register") {
		t.Errorf("got %s", got)
	}
}

// Each of these is within its own range.
func TestTimesThatContradictEachOtherAreRefused(t *testing.T) {
	for name, edit := range map[string]func(*policy.Policy){
		"idle beyond the lifetime":           func(p *policy.Policy) { p.Idle = p.Absolute + time.Second },
		"written less often than it is idle": func(p *policy.Policy) { p.Touch = p.Idle/2 + time.Second },
	} {
		p := policy.Default()
		edit(&p)
		if p.Check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
