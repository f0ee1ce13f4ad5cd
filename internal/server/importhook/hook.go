// Package importhook asks another system whether a password is right, for people who have
// none here: an [account.Elsewhere] over HTTP.
//
// Each request is signed as Standard Webhooks 1.0 says, so that the other system knows who
// asks, and has one answer: see [parse]. Whatever else comes back is no answer.
package importhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// Limits of one question.
const (
	// patience is the time for a question and its answer.
	patience = 2 * time.Second
	// mostBytes is the longest answer.
	mostBytes = 64 << 10
	// most is how many questions are under way at once, and mostOfNetwork how many of them from one
	// network: a flood of names that nobody has reaches the other system as so many, and
	// leaves places to others.
	most, mostOfNetwork = 32, 8
	// pause is how long an other system that does not answer is left alone before one question tries it.
	pause = 5 * time.Second
	// trips is after how many failures in a row that is. One that fails now and then is left
	// alone if half of at least 4 times as many questions within pause fail.
	trips = 5
)

// The results of a question, for a metric. Unasked is one that was not sent: the other system
// is left alone, or too many are under way. Cancelled is one whose client left.
const right, wrong, failed, unasked, cancelled = "right", "wrong", "failed", "unasked", "cancelled"

// Results are the words for what comes of a question.
func Results() []string { return []string{right, wrong, failed, unasked, cancelled} }

// Options are what a [Hook] is made of.
type Options struct {
	URL    string // https, or http on this machine
	Secret []byte // of the signatures
	// Now is the clock of the signatures. Counted is called with the result of each question,
	// Failed with why one had no answer, Left when the other system is left alone
	// because of err, and when it answers again (nil). None of them may block.
	Now     func() time.Time
	Counted func(result string)
	Failed  func(err error)
	Left    func(err error)
	Client  *http.Client // nil means one of its own
}

// A Hook asks one other system. Make it with [New].
type Hook struct {
	Options
	patience time.Duration
	places   places
	breaker  *gobreaker.CircuitBreaker[account.Said]
}

var _ account.Elsewhere = (*Hook)(nil)

// New returns a hook. It connects to nothing.
func New(o Options) *Hook {
	h := &Hook{Options: o, patience: patience, places: places{taken: make(map[netip.Prefix]int)}}
	if h.Client == nil {
		// Of its own: no proxy of the environment sees the passwords, and no request waits for a connection of another one.
		// A connection that is begun outlives the question that began it, so it has bounds of its own.
		h.Client = &http.Client{Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: patience}).DialContext, TLSHandshakeTimeout: patience, MaxConnsPerHost: most,
			MaxIdleConnsPerHost: most, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: mostBytes, ForceAttemptHTTP2: true,
			// One connection of HTTP/2 takes all questions, also after one without an answer. The system would take a quarter of an
			// hour to find that it is dead.
			HTTP2: &http.HTTP2Config{SendPingTimeout: patience, PingTimeout: patience},
		}}
	}
	h.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var last error
	inRow := uint32(0) // failures; the breaker's own count of them is that of the window
	h.breaker = gobreaker.NewCircuitBreaker[account.Said](gobreaker.Settings{
		// With a window that moves by the second no result is dropped because its question began in an earlier one.
		Timeout: pause, Interval: pause, BucketPeriod: time.Second,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return inRow >= trips || c.Requests >= 4*trips && c.TotalFailures*2 >= c.Requests
		},
		// Who leaves says nothing about the other system.
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
		IsSuccessful: func(err error) bool { // under the lock of the breaker, as all of these
			if broken(err) {
				last = err
				inRow++
				return false
			}
			inRow = 0
			return true
		},
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch {
			case from == gobreaker.StateClosed:
				h.Left(last)
			case to == gobreaker.StateClosed:
				h.Left(nil)
			}
		},
	})
	return h
}

// Answers is false while the other system is left alone.
func (h *Hook) Answers() bool { return h.breaker.State() == gobreaker.StateClosed }

// Ask is [account.Elsewhere.Ask].
func (h *Hook) Ask(ctx context.Context, by account.Asker, q account.Question) (account.Said, error) {
	leave, err := h.places.take(by.Network)
	if err != nil {
		h.Counted(unasked)
		return account.Said{}, err
	}
	defer leave()
	said, err := h.breaker.Execute(func() (account.Said, error) { return h.ask(ctx, q) })
	switch {
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		h.Counted(unasked)
		return said, fmt.Errorf("importhook: %w: it does not answer lately", account.ErrElsewhere)
	case errors.Is(err, context.Canceled):
		h.Counted(cancelled)
		return said, fmt.Errorf("importhook: %w", err)
	case err != nil:
		h.Counted(failed)
		h.Failed(err)
		return said, fmt.Errorf("importhook: %w: %w", account.ErrElsewhere, err)
	case said.Right:
		h.Counted(right)
	default:
		h.Counted(wrong)
	}
	return said, nil
}

// A body is what is sent. Nothing but the request may see it.
type body struct {
	Username   string `json:"username"`
	ExternalID string `json:"external_id,omitempty"`
	Password   string `json:"password"`
	RequestID  string `json:"request_id"`
	Time       string `json:"time"`
}

func (h *Hook) ask(ctx context.Context, q account.Question) (account.Said, error) {
	ctx, cancel := context.WithTimeout(ctx, h.patience)
	defer cancel()
	now, id := h.Now().UTC(), "msg_"+rand.Text()
	text, err := json.Marshal(body{q.Username, q.ExternalID, q.Reveal(), id, now.Format(time.RFC3339)})
	if err != nil {
		return account.Said{}, errors.New("the question cannot be written")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(text))
	if err != nil {
		return account.Said{}, errors.New("the URL cannot be used")
	}
	seconds := strconv.FormatInt(now.Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "flakepass")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", seconds)
	r.Header.Set("Webhook-Signature", sign(h.Secret, id, seconds, text))
	answer, err := h.Client.Do(r)
	if err != nil {
		return account.Said{}, failedBy(err)
	}
	defer func() { _ = answer.Body.Close() }()
	return read(answer, q.Username)
}

// read reads the whole answer, so that the connection is used again.
func read(answer *http.Response, username string) (account.Said, error) {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostBytes+1))
	switch {
	case err != nil:
		return account.Said{}, failedBy(err)
	case answer.StatusCode >= http.StatusInternalServerError:
		return account.Said{}, &failure{what: fmt.Sprintf("it answers with status %d", answer.StatusCode)}
	case answer.StatusCode != http.StatusOK:
		return account.Said{}, fmt.Errorf("it answers with status %d", answer.StatusCode)
	case kind != "application/json":
		return account.Said{}, errors.New("its answer is not application/json")
	case len(text) > mostBytes:
		return account.Said{}, fmt.Errorf("its answer has more than %d bytes", mostBytes)
	}
	return parse(text, username)
}

// sign is the signature of Standard Webhooks 1.0: HMAC-SHA256 over ID, time and body.
func sign(secret []byte, id, seconds string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(id + "." + seconds + "."))
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
