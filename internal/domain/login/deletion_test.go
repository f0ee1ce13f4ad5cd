package login_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// leaving has as many exports on record as are allowed, the first of them full.
type leaving struct {
	login.Leaving
	full idworker.ID
}

func (l *leaving) RecordExport(context.Context, audit.Event, time.Time, int) (idworker.ID, error) {
	return l.full, nil
}

// TestExportBeyondItsLimitIsLoggedAndCounted, as what other limits refuse.
func TestExportBeyondItsLimitIsLoggedAndCounted(t *testing.T) {
	w := newWorld(t)
	first := time.Now().Add(-time.Minute)
	w.login.Leaving = &leaving{full: idworker.Default().Smallest(first)}
	var counted []string
	w.login.Sources = &ratelimit.Limiter{Refused: func(name string) { counted = append(counted, name) }}
	_, err := w.login.Export(t.Context(), w.client())
	refused, limited := errors.AsType[*ratelimit.LimitedError](err)
	if !limited || refused.Limit != "export" || refused.Retry < 50*time.Minute || refused.Retry > time.Hour {
		t.Fatalf("refused with %v", err)
	}
	if !slices.Equal(counted, []string{"export"}) {
		t.Errorf("counted: %v", counted)
	}
	for _, part := range []string{`msg="own data not exported"`, `reason="rate_limited: export"`, "user_id=" + w.user.ID.String(), "from=192.0.2.7", "request_id=r"} {
		if !strings.Contains(w.log.String(), part) {
			t.Errorf("the log lacks %s: %s", part, &w.log)
		}
	}
}
