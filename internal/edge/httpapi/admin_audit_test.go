package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

func TestEventsAreListed(t *testing.T) {
	f := newOperators()
	f.events = []audit.Event{
		{ID: 1573758316474007552, By: audit.Actor{ID: 7, Name: "ada", Via: audit.ViaAPI, RequestID: "RQ7K3XW5M2VTR6JH", Address: "192.0.2.7"},
			Action: audit.PolicyChanged, Target: audit.Target{Kind: "policy", Name: "global"}, Reason: "r", Old: []byte(`{"version":7}`), New: []byte(`{"version":8}`)},
		{ID: 7, By: audit.Actor{Name: "root@box", Via: audit.ViaCLI}, Action: audit.UserDisabled, Target: audit.Target{Kind: "user", ID: 9, Name: "bob"}},
	}
	a := f.send(t, "GET", "/v1/admin/audit", "")
	const want = `{"events":[{"id":"1573758316474007552","at":"2026-11-21T09:53:41.663Z","action":"policy.changed","actor":{"id":"7","name":"ada"},"via":"api",` +
		`"target":{"kind":"policy","name":"global"},"reason":"r","old":{"version":7},"new":{"version":8},"request_id":"RQ7K3XW5M2VTR6JH","address":"192.0.2.7"},` +
		`{"id":"7","at":"2015-01-01T00:00:00.000Z","action":"user.disabled","actor":{"name":"root@box"},"via":"cli",` +
		`"target":{"kind":"user","id":"9","name":"bob"},"reason":""}]}`
	got := a.body
	if i := strings.Index(got, `{"id":"7","at":"`); i > 0 { // when the layout begins is not this test's
		got = got[:i+16] + "2015-01-01T00:00:00.000Z" + got[i+40:]
	}
	if a.status != 200 || got != want {
		t.Errorf("got %d\n%s\nwant\n%s", a.status, got, want)
	}
}

func TestEventsAreChosenAndComeInPages(t *testing.T) {
	f := newOperators()
	for i := range 7 {
		f.events = append(f.events, audit.Event{ID: idworker.ID(70 - i), Action: audit.PolicyChanged})
	}
	q := url.Values{"limit": {"3"}, "action": {"policy.changed"}, "actor": {"12"}, "target": {"Bob"}, "since": {"2026-11-21T10:00:00+01:00"}, "until": {"2026-11-22T00:00:00Z"}}
	seen := 0
	for range 5 {
		a := f.send(t, "GET", "/v1/admin/audit?"+q.Encode(), "")
		var page struct {
			Events []struct{ ID string }
			Next   string `json:"next_cursor"`
		}
		if a.status != 200 || json.Unmarshal([]byte(a.body), &page) != nil {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for _, e := range page.Events {
			if e.ID != fmt.Sprint(70-seen) {
				t.Errorf("event %s after %d others", e.ID, seen)
			}
			seen++
		}
		if page.Next == "" {
			break
		}
		q.Set("cursor", page.Next)
	}
	if g := f.filter; seen != 7 || g.Action != audit.PolicyChanged || g.Actor != 12 || g.ActorName != "" || g.TargetName != "bob" || g.Target != 0 ||
		!g.Since.Equal(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)) || !g.Until.Equal(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%d events seen, by %+v", seen, g)
	}
	// Everything that is wrong, at once; and no filter that is not known.
	a := f.send(t, "GET", "/v1/admin/audit?action=x&actor=&target=&since=now&until=2026-11-22", "")
	for _, field := range []string{"action", "actor", "target", "since", "until"} {
		if !strings.Contains(a.body, `"field":"`+field+`"`) {
			t.Errorf("nothing about %s in %d %s", field, a.status, a.body)
		}
	}
	for _, q := range []string{"?acton=policy.changed", "?actor=a&actor=b", "?limit=1000", "?%zz", "?actor=%ff", "?target=a%00", "?action=policy.changd"} {
		if a := f.send(t, "GET", "/v1/admin/audit"+q, ""); a.status != 422 {
			t.Errorf("%s: %d", q, a.status)
		}
	}
}

// The first moment that Go knows is a bound as any other, and nothing was before it.
func TestEventsBeforeTheYearOneAreNotAll(t *testing.T) {
	f := newOperators()
	if a := f.send(t, "GET", "/v1/admin/audit?until=0001-01-01T00:00:00Z", ""); a.status != 200 || f.filter.Until.IsZero() || f.filter.Until.Year() != 1 {
		t.Errorf("%d, the store is asked for what was before %v", a.status, f.filter.Until)
	}
}

// FuzzAuditQuery: whatever stands behind the question mark, the answer is a
// page or says what is wrong.
func FuzzAuditQuery(f *testing.F) {
	for _, q := range []string{"", "limit=1", "cursor=7&limit=200", "actor=ada&target=1", "since=2026-11-21T09:00:00Z", "until=0000-01-01T00:00:00Z",
		"action=policy.changed", "%", "a=b;c=d", "since=9999-12-31T23:59:59%2B23:59", "actor=%00%ff"} {
		f.Add(q)
	}
	o := newOperators()
	f.Fuzz(func(t *testing.T, q string) {
		if a := o.send(t, "GET", "/v1/admin/audit?"+url.PathEscape(q), ""); a.status != 200 && a.status != 422 {
			t.Errorf("%q: %d", q, a.status)
		}
		if strings.ContainsAny(q, "# \x7f") || strings.ContainsFunc(q, func(r rune) bool { return r < ' ' }) {
			return // no URL
		}
		if _, err := url.Parse("http://x/?" + q); err != nil {
			return
		}
		if a := o.send(t, "GET", "/v1/admin/audit?"+q, ""); a.status != 200 && a.status != 422 {
			t.Errorf("%q: %d", q, a.status)
		}
	})
}
