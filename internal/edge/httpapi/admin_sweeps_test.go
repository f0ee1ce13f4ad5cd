package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

func TestSweepIsForAdminsOnly(t *testing.T) {
	for _, role := range []string{"user", "service"} {
		w := &world{role: role}
		for _, method := range []string{"GET", "POST"} {
			if status, body := ask(t, handler(t, w, nil), method, "/v1/admin/sweeps", ""); status != 403 || !strings.Contains(body, `"code":"forbidden"`) {
				t.Errorf("%s as %s: %d %s", method, role, status, body)
			}
		}
		if len(w.requested) != 0 {
			t.Errorf("a %s has swept", role)
		}
	}
}

func TestSweepIsRequested(t *testing.T) {
	w := &world{role: "admin"}
	status, body := ask(t, handler(t, w, nil), "POST", "/v1/admin/sweeps", "")
	if status != 202 || !strings.Contains(body, `"id":"9"`) || !strings.Contains(body, `"outcome":"running"`) || strings.Contains(body, "finished_at") {
		t.Errorf("%d %s", status, body)
	}
	if len(w.requested) != 1 || w.requested[0].ID != session.UserOf(who) || w.requested[0].Via != audit.ViaAPI || w.requested[0].RequestID == "" {
		t.Errorf("requested by %+v", w.requested)
	}
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{sweep.ErrRunning, 409, "sweep_running"}, {sweep.ErrStopped, 503, "unavailable"}, {errors.New(cause), 503, "unavailable"},
		{context.DeadlineExceeded, 503, "unavailable"},
	} {
		w := &world{role: "admin", sweep: c.err}
		if status, body := ask(t, handler(t, w, nil), "POST", "/v1/admin/sweeps", ""); status != c.status || !strings.Contains(body, `"code":"`+c.code+`"`) ||
			strings.Contains(body, "canary") {
			t.Errorf("%v: %d %s", c.err, status, body)
		}
	}
}

func TestSweepsArePagedNewestFirst(t *testing.T) {
	w := &world{role: "admin"}
	for id := idworker.ID(7); id > 0; id-- {
		w.passes = append(w.passes, sweep.Report{
			ID: id, Instance: "web-1:7", Started: at, Finished: at.Add(time.Second), Outcome: sweep.Done, Cleared: int64(id) * 10, FailedRows: 1,
			Longest: 12 * time.Millisecond,
		})
	}
	h := handler(t, w, nil)
	var seen []string
	for cursor := ""; ; {
		var page struct {
			Sweeps []struct {
				ID      string
				Cleared int64
			}
			Next string `json:"next_cursor"`
		}
		status, body := ask(t, h, "GET", "/v1/admin/sweeps?limit=3"+cursor, "")
		if err := json.Unmarshal([]byte(body), &page); err != nil || status != 200 || len(page.Sweeps) > 3 {
			t.Fatalf("%d %s: %v", status, body, err)
		}
		for _, p := range page.Sweeps {
			seen = append(seen, p.ID)
		}
		if page.Next == "" {
			break
		}
		cursor = "&cursor=" + page.Next
	}
	if got := strings.Join(seen, ""); got != "7654321" {
		t.Errorf("seen %s, want each once, newest first", got)
	}
	w.passes = nil
	if _, body := ask(t, h, "GET", "/v1/admin/sweeps", ""); !strings.Contains(body, `{"sweeps":[]}`) {
		t.Errorf("none: %s", body)
	}
	for _, bad := range []string{"limit=0", "limit=201", "cursor=x", "limit=1&limit=2", "user=7"} {
		if status, body := ask(t, h, "GET", "/v1/admin/sweeps?"+bad, ""); status != 422 || !strings.Contains(body, "validation_failed") {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
	if status, _ := ask(t, handler(t, &world{role: "admin", sweep: errors.New(cause)}, nil), "GET", "/v1/admin/sweeps", ""); status != 503 {
		t.Errorf("a database that fails: %d", status)
	}
}
