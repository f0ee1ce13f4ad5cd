package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// asService is a handler whose caller has the role service.
func asService(t testing.TB, w *world, edit func(*httpapi.Options)) http.Handler {
	return handler(t, w, func(o *httpapi.Options) {
		o.Sessions = asked{w}
		if edit != nil {
			edit(o)
		}
	})
}

type asked struct{ *world }

func (a asked) Verify(context.Context, flakepass.Token) (flakepass.Identity, error) {
	service := who
	service.Role = "service"
	return service, nil
}

func send(t testing.TB, h http.Handler, method, path, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://x"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.GetBody = nil
	req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(7).Reveal())
	req.Header.Set("Content-Type", "application/json")
	status, text, _ = byContract(t, h, req)
	return status, text
}

// TestUndecidedIsNoRefusal: of one token, and of all.
func TestUndecidedIsNoRefusal(t *testing.T) {
	good := flakepass.NewToken(9).Reveal()
	h := asService(t, &world{target: errors.New("the database is away")}, nil)
	status, text := send(t, h, "POST", "/v1/verifications", `{"tokens":["`+good+`","x"]}`)
	if status != http.StatusOK || !strings.Contains(text, `{"state":"undecided"},{"state":"refused","code":"token_malformed"`) {
		t.Errorf("one undecided, one refused: %d %s", status, text)
	}
	if status, _ := send(t, h, "POST", "/v1/verifications", `{"tokens":["`+good+`","`+good+`"]}`); status != http.StatusServiceUnavailable {
		t.Errorf("all undecided: %d", status)
	}
	h = asService(t, &world{used: errors.New("the database is away")}, nil)
	use := `{"session_id":"9","proof":"` + strings.Repeat("A", 43) + `","ago_ms":5}`
	if status, _ := send(t, h, "POST", "/v1/verifications", `{"used":[`+use+`]}`); status != http.StatusServiceUnavailable {
		t.Errorf("a use that could not be noted: %d", status)
	}
}

// TestRefusalsOfManyAreRecordedOneByOne, in the order of the tokens: they are looked at side
// by side, and what records one reads the headers of the answer. The race detector sees it.
func TestRefusalsOfManyAreRecordedOneByOne(t *testing.T) {
	w := &world{target: &session.RefusedError{UserID: 41, Username: "alice", Err: flakepass.ErrLoggedOut}}
	h := asService(t, w, nil)
	var tokens []string
	for i := range 60 {
		tokens = append(tokens, `"`+flakepass.NewToken(flakepass.ID(i+1)).Reveal()+`"`)
	}
	at := httptest.NewServer(h) // its headers are not those of a recorder
	defer at.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.URL+"/v1/verifications", strings.NewReader(`{"tokens":[`+strings.Join(tokens, ",")+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(7).Reveal())
	req.Header.Set("Content-Type", "application/json")
	resp, err := at.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || bytes.Count(text, []byte(`"code":"token_logged_out"`)) != len(tokens) {
		t.Errorf("%d %s, %v", resp.StatusCode, text, err)
	}
}

// TestAgeOfAnAnswerIsThatOfTheOlder: of the row, and of what is known of the
// policy.
func TestAgeOfAnAnswerIsThatOfTheOlder(t *testing.T) {
	for _, c := range []struct {
		asOf, horizon time.Duration // ago
		relies        bool          // on the horizon
		want          string
	}{
		{0, 2 * time.Second, false, `"as_of_age_ms":20`},
		{3 * time.Second, 2 * time.Second, false, `"as_of_age_ms":30`},
		{30 * time.Second, 2 * time.Second, true, `"as_of_age_ms":20`},
		{0, 50 * 365 * 24 * time.Hour, false, `"as_of_age_ms":120000`},
	} {
		w := &world{}
		h := asService(t, w, func(o *httpapi.Options) { o.Recognition = aged{w, c.asOf, c.horizon, c.relies} })
		status, text := send(t, h, "POST", "/v1/verifications", `{"tokens":["`+flakepass.NewToken(9).Reveal()+`"]}`)
		if status != http.StatusOK || !strings.Contains(text, c.want) {
			t.Errorf("%+v: %d %s", c, status, text)
		}
	}
}

type aged struct {
	*world
	asOf, horizon time.Duration
	relies        bool
}

func (a aged) Horizon() time.Time { return time.Now().Add(-a.horizon) }

func (a aged) Examine(context.Context, flakepass.Token) (flakepass.Identity, session.Accept, error) {
	w := session.Accept{AsOf: time.Now().Add(-a.asOf)}
	if a.relies {
		w.Horizon = time.Now()
	}
	return who, w, nil
}

// TestStreamsThatCannotBegin: too many, or an instance that stops.
func TestStreamsThatCannotBegin(t *testing.T) {
	for err, want := range map[error]string{
		session.ErrFollowers: `"code":"followers_full"`, errors.New("stopping"): `"code":"unavailable"`,
	} {
		status, text := send(t, asService(t, &world{follow: err}, nil), "GET", "/v1/revocations", "")
		if status != http.StatusServiceUnavailable || !strings.Contains(text, want) {
			t.Errorf("%v: %d %s", err, status, text)
		}
	}
}

// FuzzVerifications: no body is a 5xx, and each token has its answer.
func FuzzVerifications(f *testing.F) {
	use := `{"session_id":"9","proof":"` + strings.Repeat("A", 43) + `","ago_ms":5}`
	for _, body := range []string{
		`{"tokens":["` + flakepass.NewToken(9).Reveal() + `"]}`, `{"tokens":["x",""]}`, `{"used":[` + use + `]}`,
		`{"tokens":null}`, `{"tokens":[null]}`, `{"tokens":{}}`, `{"used":[{}]}`, `{"tokens":[],"used":[]}`, `{"used":[null]}`,
		strings.Replace(`{"used":[`+use+`]}`, "5", "-9223372036854775808", 1), strings.Replace(`{"used":[`+use+`]}`, "5", "1e300", 1),
		strings.Replace(`{"used":[`+use+`]}`, "AAA", "==\u00e9", 1), `{"tokens":[` + strings.Repeat(`"",`, 100) + `""]}`, `{"tokens":["x"],"passive":[0]}`, `{"tokens":["x"],"passive":[-1,9223372036854775808]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		status, _ := send(t, asService(t, &world{}, nil), "POST", "/v1/verifications", string(body))
		if status >= 500 {
			t.Errorf("answered %d", status)
		}
	})
}

// TestSlotIsToldToWhoKnowsOfSlots: where users may have several sessions, nobody else may
// repeat an answer.
func TestSlotIsToldToWhoKnowsOfSlots(t *testing.T) {
	for _, c := range []struct {
		slot        session.Slot
		several     bool
		header      string
		has, hasNot string
	}{
		{0, false, "", `"state":"alive"`, `"believe_ms":0`},
		{0, true, "", `"believe_ms":0`, `"slot"`},
		{0, true, "1", `"state":"alive"`, `"believe_ms":0`},
		{5, true, "1", `"slot":5`, `"believe_ms":0`},
		{5, true, "", `"believe_ms":0`, `nothing`},
		{5, true, "0", `"believe_ms":0`, `nothing`},
	} {
		w, rule := &world{}, policy.Default()
		rule.Further = c.several
		h := asService(t, w, func(o *httpapi.Options) { o.Recognition, o.InForce = inSlot{w, c.slot}, policy.Fixed(rule) })
		edit := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.header != "" {
				r.Header.Set("X-Auth-Slots", c.header)
			}
			h.ServeHTTP(w, r)
		})
		status, text := send(t, edit, "POST", "/v1/verifications", `{"tokens":["`+flakepass.NewToken(9).Reveal()+`"]}`)
		if status != http.StatusOK || !strings.Contains(text, c.has) || strings.Contains(text, c.hasNot) {
			t.Errorf("%+v: %d %s", c, status, text)
		}
	}
}

// TestOlderRemoteIsNamed: as soon as it gets no ends any more.
func TestOlderRemoteIsNamed(t *testing.T) {
	for _, c := range []struct {
		several bool
		header  string
		want    bool
	}{{false, "", false}, {true, "1", false}, {true, "", true}} {
		var log bytes.Buffer
		rule := policy.Default()
		rule.Further = c.several
		h := asService(t, &world{follow: session.ErrStopping}, func(o *httpapi.Options) {
			o.InForce, o.Log = policy.Fixed(rule), slog.New(slog.NewTextHandler(&log, nil))
		})
		edit := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("X-Auth-Slots", c.header)
			h.ServeHTTP(w, r)
		})
		_, _ = send(t, edit, "GET", "/v1/revocations", "")
		if got := strings.Contains(log.String(), "update the service") && strings.Contains(log.String(), "username="); got != c.want {
			t.Errorf("%+v: %s", c, log.String())
		}
	}
}

type inSlot struct {
	*world
	slot session.Slot
}

func (s inSlot) Examine(context.Context, flakepass.Token) (flakepass.Identity, session.Accept, error) {
	return who, session.Accept{AsOf: time.Now(), Slot: s.slot}, nil
}
