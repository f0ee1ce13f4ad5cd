package httpapi_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// A roll is instances and how often they were asked for.
type roll struct {
	list  []fleet.Seen
	err   error
	limit int
}

func (f *roll) List(_ context.Context, limit int) ([]fleet.Seen, error) {
	f.limit = limit
	return f.list, f.err
}

func TestInstancesAreForAdminsOnly(t *testing.T) {
	for _, role := range []string{"user", "service"} {
		f := &roll{}
		h := handler(t, &world{role: role}, func(o *httpapi.Options) { o.Instances = f })
		if status, body := ask(t, h, "GET", "/v1/admin/instances", ""); status != 403 || !strings.Contains(body, `"code":"forbidden"`) || f.limit != 0 {
			t.Errorf("%s: %d %s, asked for %d", role, status, body, f.limit)
		}
	}
}

// ask holds each answer to the contract.
func TestInstancesAreListed(t *testing.T) {
	well := fleet.Seen{
		Report: fleet.Report{
			ID: "A", Name: "web-1:7", Version: "1.2.3", Worker: 12, Horizon: 840 * time.Millisecond, Bound: 5 * time.Second, Remembered: 5,
			Answers: fleet.Answers{Memory: 3, Redis: 2, Database: 1}, DatabaseTook: 1842 * time.Microsecond, Redis: fleet.RedisGood, Clock: -7 * time.Millisecond,
		},
		Started: at, Heard: at.Add(time.Minute), Silent: 1200 * time.Millisecond,
	}
	lost := well
	lost.ID, lost.Horizon, lost.Silent, lost.Troubles, lost.DatabaseFailed = "B", -time.Millisecond, 40*time.Second, []fleet.Trouble{fleet.Stopping}, 2
	f := &roll{list: []fleet.Seen{well, lost}}
	h := handler(t, &world{role: "admin"}, func(o *httpapi.Options) { o.Instances = f })
	status, body := ask(t, h, "GET", "/v1/admin/instances", "")
	for _, want := range []string{
		`"id":"A","name":"web-1:7","version":"1.2.3","worker":12`, `"silent_ms":1200,"not_heard_of":false,"horizon_age_ms":840,"revocation_bound_ms":5000`,
		`"answers":{"memory":3,"redis":2,"database":1},"remembered_logins":5,"database_ms":1.842,"database_failed":0,"redis":"ok"`, `"clock_ahead_ms":-7,"troubles":[]`,
		`"silent_ms":40000,"not_heard_of":true,"revocation_bound_ms":5000`, `"database_failed":2`, `"troubles":["stopping"]`,
	} {
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("%d, lacks %s: %s", status, want, body)
		}
	}
	if f.limit != 1000 {
		t.Errorf("asked for %d", f.limit)
	}
	f.list = nil
	if _, body := ask(t, h, "GET", "/v1/admin/instances", ""); !strings.Contains(body, `{"instances":[]}`) {
		t.Errorf("none: %s", body)
	}
	f.err = errors.New(cause)
	if status, body := ask(t, h, "GET", "/v1/admin/instances", ""); status != 503 || strings.Contains(body, "canary") {
		t.Errorf("a database that fails: %d %s", status, body)
	}
}
