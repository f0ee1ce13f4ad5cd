package flakepass

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/internal/pause"
	"github.com/flakepass/flakepass/api/wire"
)

const (
	// maxAnswer is how much of an answer is read, in bytes.
	maxAnswer = 1 << 20
	// maxQuestion is how large a question may be, in bytes: the server's limit.
	maxQuestion = 8 << 10
	// maxOwning is how many questions for the credential may be open at most, with those that
	// hang: more than there are calls.
	maxOwning = 4 * maxCalls
	// useSize is more than a use takes in a question.
	useSize = 128
)

// verifications asks about all questions in one call, and notes the answers in
// them. Nothing is changed by asking twice, so a call that failed on its way is
// tried once more.
func (r *Remote) verifications(questions []*question) error {
	ctx, cancel := r.within()
	defer cancel()
	reported := r.uses.take(min(maxUses, (maxQuestion-64-len(questions)*(TokenLen+3+passiveSize))/useSize))
	var err error
	again := true
	for try := 0; again && try < 2; try++ {
		if try > 0 && !pause.For(ctx, 10*time.Millisecond+rand.N(40*time.Millisecond)) { //nolint:gosec // jitter
			break
		}
		again, err = r.post(ctx, questions, reported)
	}
	if err != nil {
		r.uses.back(reported, again || errors.Is(err, errRemoteLimited) || errors.Is(err, errRemoteTooMany) && len(questions) > 1)
	}
	if len(questions) < 2 || !errors.Is(err, errRemoteTooMany) { // else fewer are asked at once
		r.health.note(ctx, r, err)
	}
	return err
}

// post sends one call. again says whether it may be worth another try.
func (r *Remote) post(ctx context.Context, questions []*question, reported []use) (again bool, err error) {
	sent, _ := r.clock.now()
	req, err := r.request(ctx, http.MethodPost, "/verifications", r.body(questions, reported, sent))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.calls.Do(req)
	if err != nil {
		return true, fmt.Errorf("flakepass: ask the server: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode != http.StatusOK:
		return resp.StatusCode >= http.StatusInternalServerError, statusError(resp)
	case err != nil:
		return true, fmt.Errorf("flakepass: read the server's answer: %w", err)
	}
	a, err := readAnswer(body, len(questions), len(reported))
	if err != nil {
		return false, err
	}
	_, arrived := r.clock.now()
	rule := ruleOf(a.Rule)
	r.known.clock.Store(&serverClock{a.Now.UnixMilli(), sent, arrived})
	r.known.bound(boundOf(a.Bound))
	r.learn(rule)
	// An instance that has not heard of the policy in force yet may answer by the one before,
	// which allowed more sessions: its answer holds for this request, and is not repeated.
	repeat := rule.version >= r.known.rule.Load().version
	for i, q := range questions {
		r.answer(q, &a.Verifications[i], sent, repeat)
	}
	r.acknowledge(reported, a.Used)
	return false, nil
}

// answer notes what was said of one token, to repeat it if it may be repeated.
func (r *Remote) answer(q *question, v *wire.Verification, sent instant, repeat bool) {
	switch {
	case v.State == wire.Refused:
		q.err = refusalOf(v.Code)
		if e := r.cache.get(q.key.id); e != nil && e.key == q.key {
			r.cache.drop(e)
		}
		return
	case v.State != wire.Alive || v.Identity.SessionID != q.key.id: // of another login it says nothing about this one
		q.err = errUndecided
		return
	}
	who, age := v.Identity, time.Duration(*v.AsOfAge)
	q.sent, q.asOf = sent, sent-instant(age+age/1000)
	e := &remembered{
		key: q.key, of: place{who.UserID, v.Slot}, username: who.Username, role: who.Role, device: who.DeviceClass, method: who.AuthMethod,
		sent: sent, asOf: q.asOf, until: sent, seen: who.LastSeenAt.UnixMilli(),
	}
	if !who.AuthTime.IsZero() {
		e.auth = who.AuthTime.UnixMilli()
	}
	if v.Believe != nil {
		e.until += instant(slower(min(time.Duration(*v.Believe), maxBelieve)))
	}
	act := who.Act.Admin()
	if repeat && act == 0 { // one who acts for a user is over by another rule than the policy's
		r.cache.put(e)
	}
	// After it was put, so that an end that is received from now on finds it.
	if why := r.known.find(e.of, e.key.id); why != nil {
		q.err = why
		return
	}
	q.who = e.identity(r.known.rule.Load().of(e.device, e.role), e.seen)
	if act != 0 {
		q.who.Act, q.who.ExpiresAt, q.who.IdleExpiresAt = act, who.ExpiresAt.Time, who.ExpiresAt.Time
	}
}

var (
	errRemoteLimited = errors.New("flakepass: this service asks about more tokens than the server's limit introspect allows; an operator can raise it")
	errRemoteTooMany = errors.New("flakepass: the server takes fewer questions in one call")
	errNoCredential  = errors.New("RemoteOptions.Key or Credential does not answer in time")
)

var errUndecided = errors.New("flakepass: the server cannot tell whether the token is good")

// body is the question in JSON. Tokens, IDs and proofs need no escaping.
func (r *Remote) body(questions []*question, reported []use, now instant) []byte {
	b := make([]byte, 0, 64+len(questions)*(TokenLen+3+passiveSize)+len(reported)*useSize)
	b = append(b, `{"tokens":[`...)
	for i, q := range questions {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), q.token.Reveal()...), '"')
	}
	b = append(b, `],"passive":[`...)
	first := true
	for i, q := range questions {
		switch {
		case !q.passive:
			continue
		case !first:
			b = append(b, ',')
		}
		b, first = strconv.AppendInt(b, int64(i), 10), false
	}
	b = append(b, `],"used":[`...)
	for i, u := range reported {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, `{"session_id":"`...), u.of.key.id.String()...)
		b = base64.RawURLEncoding.AppendEncode(append(b, `","proof":"`...), u.of.key.sum[:])
		b = strconv.AppendInt(append(b, `","ago_ms":`...), max(time.Duration(now-u.at).Milliseconds(), 0), 10)
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

// request is a request with this service's own credential.
func (r *Remote) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	mine, err := r.own(ctx)
	if err != nil {
		// Not wrapped: a refusal of this service is not one of the caller.
		return nil, fmt.Errorf("flakepass: no credential to ask the server with: %v", err) //nolint:errorlint // see above
	}
	if mine.Reveal() == "" {
		return nil, errors.New("flakepass: RemoteOptions.Key or Credential returned nothing")
	}
	var read io.Reader
	if body != nil {
		read = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.o.URL+path, read)
	if err != nil {
		return nil, fmt.Errorf("flakepass: ask the server: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+mine.Reveal())
	req.Header.Set(wire.SlotsHeader, "1") // no member of a question: an older server refuses those that it does not know
	return req, nil
}

// own is this service's own credential. Who is asked for it may hang, also after ctx has
// ended: then this call fails, and a later one asks again.
func (r *Remote) own(ctx context.Context) (interface{ Reveal() string }, error) {
	select {
	case r.owning <- struct{}{}:
	case <-ctx.Done():
		return nil, errNoCredential
	}
	type answer struct {
		mine interface{ Reveal() string }
		err  error
	}
	given := make(chan answer, 1)
	go func() {
		defer func() { <-r.owning }()
		var a answer
		if r.o.Key != nil {
			a.mine, a.err = r.o.Key(ctx)
		} else {
			a.mine, a.err = r.o.Credential(ctx)
		}
		given <- a
	}()
	select {
	case a := <-given:
		return a.mine, a.err
	case <-ctx.Done():
		return nil, errNoCredential
	}
}

func statusError(resp *http.Response) error {
	switch status := resp.StatusCode; status {
	case http.StatusUnauthorized, http.StatusForbidden:
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") { // a proxy knows nothing of the credential
			return fmt.Errorf("flakepass: status %d without a problem document: %w", status, errAnswer)
		}
		return ErrCredential
	case http.StatusTooManyRequests:
		return errRemoteLimited
	case http.StatusUnprocessableEntity:
		return errRemoteTooMany
	default:
		return fmt.Errorf("flakepass: the server answers with status %d", status)
	}
}

// passiveSize is how long the number of a passive question is at most, with its
// comma.
const passiveSize = 3

// maxUses is how many uses are reported in one call at most: the server's limit.
const maxUses = 64
