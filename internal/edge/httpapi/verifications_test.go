package httpapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// TestProofsAreThoseOfTheContract: no other text is taken for one, and none of them is refused.
// A hash of 32 bytes leaves two bits of the last character unused.
func TestProofsAreThoseOfTheContract(t *testing.T) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	h, taken := asService(t, &world{}, nil), 0
	proofs := []string{"", strings.Repeat("A", 42), strings.Repeat("A", 44), strings.Repeat("A", 42) + "=", strings.Repeat("A", 42) + "+", strings.Repeat("A", 42) + "/",
		strings.Repeat("A", 43) + `\n`, strings.Repeat("A", 20) + `\r\n` + strings.Repeat("A", 23), strings.Repeat("A", 42) + "é"}
	for _, last := range digits {
		proofs = append(proofs, strings.Repeat("_", 42)+string(last))
	}
	for _, proof := range proofs {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/v1/verifications", strings.NewReader(`{"used":[{"session_id":"9","proof":"`+proof+`","ago_ms":1}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(7).Reveal())
		req.Header.Set("Content-Type", "application/json")
		rec := apitest.Record(t, direct{h})
		resp, err := rec.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		for seen := range rec.Seen() {
			if seen.RequestValid != (seen.Status == http.StatusOK) {
				t.Errorf("%q: %d, and the contract allows it is %v", proof, seen.Status, seen.RequestValid)
			}
			if seen.Status == http.StatusOK {
				taken++
			}
		}
	}
	if taken != 16 {
		t.Errorf("%d taken", taken)
	}
}

// A meeting is a world whose Examine goes on only when as many goroutines as
// all counts are in it.
type meeting struct {
	*world
	all *sync.WaitGroup
}

func (m meeting) Examine(ctx context.Context, t flakepass.Token) (flakepass.Identity, session.Accept, error) {
	m.all.Done()
	m.all.Wait()
	return m.world.Examine(ctx, t)
}

// TestTokensOfOneQuestionAreExaminedAtTheSameTime: were they examined one after
// the other, the bubble would report a deadlock. The race detector looks at what
// the goroutines of one request share, of the API and of the fakes.
func TestTokensOfOneQuestionAreExaminedAtTheSameTime(t *testing.T) {
	for name, target := range map[string]error{
		"alive":   nil,
		"refused": &session.RefusedError{ID: 9, UserID: 7, Username: "zoë", Err: flakepass.ErrLoggedOut},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const tokens = 4
				w := &world{target: target}
				m := meeting{w, &sync.WaitGroup{}}
				m.all.Add(tokens)
				h := asService(t, w, func(o *httpapi.Options) {
					o.Recognition, o.Log = m, slog.New(slog.NewTextHandler(t.Output(), nil))
				})
				list := strings.Repeat(`,"`+flakepass.NewToken(9).Reveal()+`"`, tokens)[1:]
				if status, text := send(t, h, "POST", "/v1/verifications", `{"tokens":[`+list+`]}`); status != http.StatusOK {
					t.Errorf("%d %s", status, text)
				}
				if len(w.asked) != tokens {
					t.Errorf("examined %d tokens, want %d", len(w.asked), tokens)
				}
			})
		})
	}
}

// TestPanicAboutOneOfManyTokensIsOneAnswer: it happens in a goroutine of the handler, and ends neither the
// process nor another request. The log has the stack of that goroutine.
func TestPanicAboutOneOfManyTokensIsOneAnswer(t *testing.T) {
	var log bytes.Buffer
	h := asService(t, &world{panics: "a fault"}, func(o *httpapi.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	a := `"` + flakepass.NewToken(9).Reveal() + `"`
	for _, tokens := range []string{a, a + "," + a} {
		log.Reset()
		status, body := send(t, h, "POST", "/v1/verifications", `{"tokens":[`+tokens+`]}`)
		if status != 500 || !strings.Contains(body, `"code":"internal_error"`) || strings.Contains(body, "a fault") {
			t.Errorf("%d %s", status, body)
		}
		if !strings.Contains(log.String(), "a fault") || !strings.Contains(log.String(), "world).Examine") {
			t.Errorf("the log: %s", log.String())
		}
	}
}
