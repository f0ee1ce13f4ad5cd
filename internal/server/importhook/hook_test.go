//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package importhook

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// A world is a hook, the other system as a server, and what the hook said of it.
type world struct {
	*Hook
	asked atomic.Int64
	mu    sync.Mutex
	said  []string // results
	left  []error
	wrong []error
}

func newWorld(t *testing.T, answer http.HandlerFunc) *world {
	t.Helper()
	w := &world{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		to.Header().Set("Content-Type", "application/json")
		answer(to, r)
	}))
	t.Cleanup(server.Close)
	w.Hook = New(Options{
		URL: server.URL + "/hook", Secret: secret(t), Now: func() time.Time { return time.Unix(1614265330, 0) }, Client: server.Client(),
		Counted: func(result string) { w.mu.Lock(); defer w.mu.Unlock(); w.said = append(w.said, result) },
		Failed:  func(err error) { w.mu.Lock(); defer w.mu.Unlock(); w.wrong = append(w.wrong, err) },
		Left:    func(err error) { w.mu.Lock(); defer w.mu.Unlock(); w.left = append(w.left, err) },
	})
	return w
}

func secret(t *testing.T) []byte {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

var stranger = account.Asker{Network: netip.MustParsePrefix("192.0.2.0/24")}

func (w *world) try(t *testing.T) (account.Said, error) {
	return w.Ask(t.Context(), stranger, account.Question{Username: "ada", ExternalID: "7"})
}

// TestSignatureIsThatOfStandardWebhooks is the example of the specification's libraries.
func TestSignatureIsThatOfStandardWebhooks(t *testing.T) {
	got := sign(secret(t), "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Error(got)
	}
}

// TestQuestionIsSigned: the other system can tell who asks, when, and that nothing was changed.
func TestQuestionIsSigned(t *testing.T) {
	var got struct{ Username, External_ID, Password, Request_ID, Time string }
	w := newWorld(t, func(to http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
		if r.Method != http.MethodPost || r.URL.Path != "/hook" || r.Header.Get("Content-Type") != "application/json" || at != "1614265330" ||
			r.Header.Get("webhook-signature") != sign(secret(t), id, at, text) || json.Unmarshal(text, &got) != nil || got.Request_ID != id {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		says(`{"result":"wrong"}`)(to, r)
	})
	if _, err := w.try(t); err != nil || got.Username != "ada" || got.External_ID != "7" || got.Time != "2021-02-25T15:02:10Z" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestOnlyAnAnswerIsOne: whatever else comes back decides nothing, and counts as a guess.
func TestOnlyAnAnswerIsOne(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, `{"result":"right"}`)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"500": status(500), "404": status(404), "204": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "201": status(201),
		"garbage": says("<html>"), "empty": says(""), "two": says(`{"result":"wrong"}{}`), "null": says("null"),
		"huge": says(`{"result":"right"` + strings.Repeat(" ", mostBytes) + "}"),
		"other type": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			says(`{"result":"right"}`)(w, r)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hook" {
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
				return
			}
			says(`{"result":"right"}`)(w, r)
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"result":"right"}`)
		},
		"admin": says(`{"result":"right","role":"admin"}`), "service": says(`{"result":"right","role":"service"}`),
		"another name": says(`{"result":"right","username":"bob"}`),
	} {
		w := newWorld(t, answer)
		said, err := w.try(t)
		if said.Right || !errors.Is(err, account.ErrElsewhere) || errors.Is(err, account.ErrUndecided) || errors.Is(err, account.ErrWrong) || w.asked.Load() != 1 ||
			len(w.said) != 1 || w.said[0] != failed || len(w.wrong) != 1 {
			t.Errorf("%s: %+v, %v; asked %d times, %v %v", name, said, err, w.asked.Load(), w.said, w.wrong)
		}
		if err != nil && strings.Contains(err.Error(), w.URL) {
			t.Errorf("%s: the URL is in %v", name, err)
		}
	}
}

// TestCertificateIsChecked: a server with a certificate of its own is not asked.
func TestCertificateIsChecked(t *testing.T) {
	w := newWorld(t, says(`{"result":"right"}`))
	other := New(w.Options)
	other.Client = New(Options{}).Client
	if _, err := other.Ask(t.Context(), stranger, account.Question{Username: "ada"}); !errors.Is(err, account.ErrElsewhere) || w.asked.Load() != 0 {
		t.Errorf("%v, asked %d times", err, w.asked.Load())
	}
}

// TestConnectionsThatNeverBeginAreBounded: a system that takes connections and never says a word of TLS holds as many
// as there are places, and each for as long as a question, whoever has left meanwhile.
func TestConnectionsThatNeverBeginAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{URL: "https://old.example.org/", Now: time.Now, Counted: func(string) {}, Failed: func(error) {}, Left: func(error) {}})
		kept, ok := h.Client.Transport.(*http.Transport)
		if !ok {
			t.Fatal("another transport")
		}
		var open, top atomic.Int64
		kept.DialContext = func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			top.Store(max(top.Load(), open.Add(1)))
			go func() {
				_, _ = io.Copy(io.Discard, there) // until it is closed here
				open.Add(-1)
			}()
			return here, nil
		}
		for range 4 * most {
			ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
			_, _ = h.Ask(ctx, stranger, account.Question{Username: "ada"})
			leave()
		}
		if top.Load() > most {
			t.Errorf("%d connections at once", top.Load())
		}
		time.Sleep(2 * patience)
		synctest.Wait()
		if open.Load() != 0 {
			t.Errorf("%d connections are left", open.Load())
		}
	})
	if h := New(Options{}); h.Client.Transport.(*http.Transport).DialContext == nil { //nolint:forcetypeassert // as above
		t.Error("a connection is begun without a bound")
	}
}

// TestSlowAnswerIsNone: the other system has so long for all of its answer.
func TestSlowAnswerIsNone(t *testing.T) {
	for name, before := range map[string]string{"no header": "", "half a body": `{"result":`} {
		done := make(chan struct{})
		w := newWorld(t, func(to http.ResponseWriter, r *http.Request) {
			if before != "" {
				_, _ = io.WriteString(to, before)
				to.(http.Flusher).Flush()
			}
			<-done
		})
		if w.patience != 2*time.Second {
			t.Error(w.patience)
		}
		w.patience = 20 * time.Millisecond
		_, err := w.try(t)
		close(done)
		if !errors.Is(err, account.ErrElsewhere) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, account.ErrUndecided) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDeadSystemIsLeftAlone: after some failures in a row it is not asked for a while, and what is not
// asked counts as a guess all the same; then one question tries it.
func TestDeadSystemIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alive := false
		w := &world{}
		w.Hook = New(Options{URL: "https://old.example.org/", Secret: secret(t), Now: time.Now, Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			w.asked.Add(1)
			if !alive {
				return nil, errors.New("dead")
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"result":"wrong"}`))}, nil
		})}, Counted: func(r string) { w.said = append(w.said, r) }, Failed: func(error) {}, Left: func(err error) { w.left = append(w.left, err) }})
		for i := range 2 * trips {
			_, err := w.try(t)
			if !errors.Is(err, account.ErrElsewhere) || errors.Is(err, account.ErrUndecided) || w.Answers() == (i >= trips-1) {
				t.Errorf("%d: %v, answers: %v", i, err, w.Answers())
			}
		}
		if w.asked.Load() != trips || len(w.left) != 1 || w.left[0] == nil || w.said[2*trips-1] != unasked {
			t.Errorf("asked %d times, left alone: %v, results: %v", w.asked.Load(), w.left, w.said)
		}
		alive = true
		time.Sleep(pause + time.Second)
		for range 3 {
			if _, err := w.try(t); err != nil {
				t.Error(err)
			}
		}
		if !w.Answers() || len(w.left) != 2 || w.left[1] != nil {
			t.Errorf("left alone: %v", w.left)
		}
		time.Sleep(2 * pause)
		for i := range 8 * trips { // every second question fails
			alive = i%2 == 0
			_, _ = w.try(t)
		}
		if w.Answers() {
			t.Error("one that fails half of the time is asked on")
		}
	})
}

// TestFiveFailuresInARowAreFiveHoweverSlow: with few logins no five fail within one window of the breaker, and a question that
// hangs may begin in one and end in the next.
func TestFiveFailuresInARowAreFiveHoweverSlow(t *testing.T) {
	for name, c := range map[string]struct{ hangs, between time.Duration }{
		"hangs": {2 * time.Second, 0}, "hangs and rests": {2 * time.Second, 2 * time.Second}, "refuses": {0, 1500 * time.Millisecond}, "refuses by the minute": {0, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{}
			w.Hook = New(Options{URL: "https://old.example.org/", Secret: secret(t), Now: time.Now, Client: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				time.Sleep(c.hangs)
				return nil, errors.New("dead")
			})}, Counted: func(string) {}, Failed: func(error) {}, Left: func(err error) { w.left = append(w.left, err) }})
			for i := range trips {
				if !w.Answers() {
					t.Errorf("%s: it is left alone after %d failures", name, i)
				}
				_, _ = w.try(t)
				if i < trips-1 {
					time.Sleep(c.between)
				}
			}
			if w.Answers() || len(w.left) != 1 {
				t.Errorf("%s: after %d failures in a row it is asked on; told: %v", name, trips, w.left)
			}
		})
	}
}

// TestOnlyASystemThatDoesNotWorkIsLeftAlone: an answer that is none says nothing of the next question. It may be one
// that a stranger has brought about, by what was typed.
func TestOnlyASystemThatDoesNotWorkIsLeftAlone(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		alone  bool
	}{
		"400": {status(400), false}, "404": {status(404), false}, "429": {status(429), false}, "garbage": {says("<html>"), false}, "another name": {says(`{"result":"right","username":"bob"}`), false},
		"huge": {says(strings.Repeat(" ", mostBytes+1)), false},
		"500":  {status(500), true}, "503": {status(503), true}, "cut off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true},
	} {
		w := newWorld(t, c.answer)
		for range 4 * trips {
			if _, err := w.try(t); !errors.Is(err, account.ErrElsewhere) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if w.Answers() == c.alone {
			t.Errorf("%s: it is left alone: %v", name, !c.alone)
		}
	}
}

// TestNoErrorRepeatsWhatIsReceived: a system that repeats the question, in whatever part of an answer, brings no
// password into a log.
func TestNoErrorRepeatsWhatIsReceived(t *testing.T) {
	const secret = "secret-password"
	for name, raw := range map[string]string{
		"header": "HTTP/1.1 200 OK\r\n" + secret + " here\r\n\r\n", "status": secret + "\r\n\r\n", "code": "HTTP/1.1 " + secret + "\r\n\r\n",
		"place": "HTTP/1.1 307 X\r\nLocation: http://[" + secret + "\r\nContent-Length: 0\r\n\r\n", "length": "HTTP/1.1 200 OK\r\nContent-Length: " + secret + "\r\n\r\n",
		"coding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + secret + "\r\n\r\n", "type": "HTTP/1.1 200 OK\r\nContent-Type: " + secret + "\r\nContent-Length: 0\r\n\r\n",
		"chunk": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + secret + "\r\n", "nothing": "",
	} {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, raw)
			_ = conn.Close()
		}()
		var why error
		h := New(Options{URL: "http://" + listener.Addr().String(), Now: time.Now, Counted: func(string) {}, Failed: func(err error) { why = err }, Left: func(error) {}})
		_, err = h.Ask(t.Context(), stranger, account.Question{Username: "ada"})
		if err == nil || why == nil || strings.Contains(fmt.Sprint(err, why), secret) {
			t.Errorf("%s: %v; %v", name, err, why)
		}
		_ = listener.Close()
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestWhoLeavesSaysNothing: a client that hangs up does not make the system one that fails.
func TestWhoLeavesSaysNothing(t *testing.T) {
	began, done := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(http.ResponseWriter, *http.Request) { began <- struct{}{}; <-done })
	defer close(done)
	for range 2 * trips {
		ctx, leave := context.WithCancel(t.Context())
		go func() { <-began; leave() }()
		if _, err := w.Ask(ctx, stranger, account.Question{Username: "ada"}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if !w.Answers() || len(w.wrong) > 0 || len(w.said) != 2*trips || w.said[0] != cancelled {
		t.Errorf("left alone: %v, %v, results %v", w.left, w.wrong, w.said)
	}
}

// TestFloodReachesTheSystemAsSoManyAtOnce: a network has a quarter of the places.
func TestFloodReachesTheSystemAsSoManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, top := 0, 0
		var mu sync.Mutex
		w := &world{}
		w.Hook = New(Options{URL: "https://old.example.org/", Secret: secret(t), Now: time.Now, Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			now++
			top = max(top, now)
			mu.Unlock()
			time.Sleep(50 * time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"result":"unknown"}`))}, nil
		})}, Counted: func(string) {}, Failed: func(error) {}, Left: func(error) {}})
		flood := func(networks int, ask func(account.Asker) error) (refused int) {
			var all sync.WaitGroup
			for i := range networks {
				for range 100 {
					all.Go(func() {
						err := ask(account.Asker{Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 0}), 24)})
						mu.Lock()
						defer mu.Unlock()
						if err != nil {
							refused++
						}
						if err != nil && (!errors.Is(err, account.ErrElsewhere) || errors.Is(err, account.ErrUndecided)) {
							t.Error(err)
						}
					})
				}
			}
			all.Wait()
			return refused
		}
		ask := func(by account.Asker) error {
			_, err := w.Ask(t.Context(), by, account.Question{Username: "ada"})
			return err
		}
		for networks, want := range map[int]int{1: mostOfNetwork, 10: most} {
			top = 0
			if refused := flood(networks, ask); top != want || refused != networks*100-want {
				t.Errorf("%d networks: %d at once, %d refused; want %d", networks, top, refused, want)
			}
		}
		if len(w.places.taken) != 0 || w.places.all != 0 {
			t.Errorf("taken: %v", w.places.taken)
		}
	})
}

// TestAnswers are those that the documentation names.
func TestAnswers(t *testing.T) {
	for text, want := range map[string]account.Said{
		`{"result":"wrong"}`:   {},
		`{"result":"unknown"}`: {},
		`{"result":"right"}`:   {Right: true},
		`{"result":"right","username":"ADA","external_id":"7","role":"user","disabled":true}`: {Right: true, ExternalID: "7", Disabled: true},
		`{"result":"wrong","role":"admin"}`:                                                   {},
	} {
		if got, err := parse([]byte(text), "ada"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		`{}`, `[]`, `"right"`, `{"result":"Right"}`, `{"Result":"right"}`, `{"result":"wrong","result":"right"}`, `{"result":"right","admin":true}`,
		`{"result":"right","role":"User"}`, `{"result":"right","username":"!"}`, `{"result":"right","external_id":" 7"}`, `{"result":"right","disabled":"yes"}`,
		`null`, `{"result":null}`, `{"result":"right","disabled":null}`, `{"result":"right","role":null}`, `{"result":"right","external_id":null}`, `{"result":"right","username":null}`, `{"result":"wrong","disabled":null}`,
		`{"result":true}`, "{\"result\":\"right\",\"external_id\":\"\xff\"}", `{"result":"right"} x`,
	} {
		if got, err := parse([]byte(text), "ada"); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// FuzzParse: nothing but a well-formed "right" opens an account, an error repeats nothing, and
// an external ID is one that the table takes.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"result":"right","external_id":"7"}`))
	f.Add([]byte(`{"result":"right","role":"admin"}`))
	f.Add([]byte(`{"result":"wrong","result":"right"}`))
	f.Add([]byte(`{"result":"right","username":"ADA","role":"user","disabled":true,"external_id":null}`))
	f.Add([]byte(`{"result":"right","username":"ADA","role":"user","disabled":true,"external_id":"7"}`))
	f.Add([]byte(`{"Result":"right"}`))
	f.Add([]byte(`{"result":"right","external_id":"\ud800"}`))
	f.Add([]byte(`{"result":"unknown","username":"eve","external_id":"\u0000"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		said, err := parse(text, "ada")
		var loose map[string]any
		switch {
		case err != nil && (said != account.Said{}):
			t.Errorf("%+v beside %v", said, err)
		case err != nil || !said.Right:
		case json.Unmarshal(text, &loose) != nil || loose["result"] != "right" || loose["role"] != nil && loose["role"] != "user" && loose["role"] != "" || account.CheckExternalID(said.ExternalID) != nil:
			t.Errorf("%q opens an account: %+v", text, said)
		}
	})
}
