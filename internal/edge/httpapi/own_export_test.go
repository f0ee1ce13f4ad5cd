//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// A longPast is a record of so many events of the user, each page of which takes a while.
type longPast struct {
	events int
	took   time.Duration
}

func (p longPast) List(_ context.Context, f audit.Filter) (list []audit.Event, err error) {
	if f.Actor == 0 {
		return nil, nil
	}
	time.Sleep(p.took)
	at := idworker.ID(p.events + 1)
	if f.Before != 0 {
		at = f.Before
	}
	for at--; at > 0 && len(list) < f.Limit; at-- {
		list = append(list, audit.Event{ID: at, By: audit.Actor{ID: f.Actor, Via: audit.ViaAPI}, Action: audit.LoginBegan})
	}
	return list, nil
}

func (longPast) AskDeletion(context.Context, idworker.ID, audit.Event) ([]session.Session, error) {
	return nil, nil
}

func (longPast) RecordExport(context.Context, audit.Event, time.Time, int) (idworker.ID, error) {
	return 0, nil
}

// A slowLink is a connection with a deadline, which each write takes a while to pass. After the deadline it is
// closed, as by HTTP/2, which does not wait for a write.
type slowLink struct {
	*httptest.ResponseRecorder
	deadline time.Time
	took     time.Duration
}

func (l *slowLink) SetWriteDeadline(at time.Time) error {
	if time.Now().After(l.deadline) {
		return os.ErrDeadlineExceeded
	}
	l.deadline = at
	return nil
}

func (l *slowLink) Write(b []byte) (int, error) {
	if time.Sleep(l.took); time.Now().After(l.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return l.ResponseRecorder.Write(b)
}

// TestExportThatTakesLongerThanAnAnswerArrives: the server has a limit of 15 s for an answer. An export goes on for as long as each
// of its pages comes and arrives in time, and no page holds the connection for longer.
func TestExportThatTakesLongerThanAnAnswerArrives(t *testing.T) {
	for name, c := range map[string]struct {
		page, write time.Duration
		want        bool
	}{
		"a slow database":     {page: 9 * time.Second, want: true},
		"a slow network":      {write: 9 * time.Second / 500, want: true},
		"both":                {page: 9 * time.Second, write: 9 * time.Second / 500, want: true},
		"a client that stops": {write: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				past := longPast{4000, c.page}
				h := handler(t, &world{}, func(o *httpapi.Options) { o.Own.Leaving, o.Own.Past = past, past })
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/me/export", nil)
				r.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
				w := &slowLink{httptest.NewRecorder(), time.Now().Add(15 * time.Second), c.write}
				var cut any
				func() {
					defer func() { cut = recover() }()
					h.ServeHTTP(w, r)
				}()
				var got wire.MyData
				err := json.Unmarshal(w.Body.Bytes(), &got)
				if whole := cut == nil && err == nil && len(got.Events) == past.events; whole != c.want || c.want != (cut == nil) {
					t.Errorf("%d, %d bytes, %d events, %v, %v", w.Code, w.Body.Len(), len(got.Events), err, cut)
				}
			})
		})
	}
}
