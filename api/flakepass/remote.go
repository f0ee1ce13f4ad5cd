package flakepass

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/flakepass/flakepass/api/internal/baseurl"
)

// A Remote is a [Verifier] for services that have neither flakepass' database
// nor its Redis: it asks a flakepass server over HTTP, and remembers the answers
// without making the revocation bound longer.
//
//	remote, err := flakepass.NewRemote(flakepass.RemoteOptions{
//		URL: "https://auth.internal",
//		Key: func(context.Context) (flakepass.ServiceKey, error) { return mine, nil },
//	})
//	...
//	go remote.Run(ctx)
//	defer remote.Close()
//	guard := &flakepass.Guard{Verifier: remote}
//
// # How stale an answer may be
//
// After a logout has been acknowledged, a Remote refuses the token within B, the
// revocation bound of the server that it asks (FLAKEPASS_REVOCATION_BOUND); that
// counts up to the moment in which Verify is called. The time that a question,
// an answer or a message takes on its way is counted against B, not added to it.
// Normally it is the milliseconds that a message takes.
//
// Two things make a remembered answer good enough. One is its own age: it is
// younger than MaxStale, and the server's knowledge on which it relies younger
// than B. The other is the stream of revocations, which [Remote.Run] follows:
// every end of a login since the answer is known here up to less than B ago. With
// the stream an answer lasts about a minute, and what is in use is renewed ahead
// of time. Without it (Run is not running, or a proxy cuts or holds back the
// stream) answers last for MaxStale, and nothing else changes.
//
// No clock of the server is compared with one of this machine for that. Ages are
// sent as ages, and counted from before the question was sent. The clocks of the
// two machines may show anything, and run at rates that differ by 0.05 %.
//
// # When flakepass cannot be reached
//
// What is remembered stays good for as long as B lets it. Then Verify fails with
// an error that is no [*Refusal], so that a [Guard] answers 503 and no app
// throws its token away. The same holds when flakepass refuses the credential of
// this service itself: that is [ErrCredential], the log says so, and Failed is
// called.
//
// # Uses
//
// To ask about a token counts as a use of its login. Uses of what is remembered
// are reported to the server later, many at once and as often as the policy wants to
// know of them. So a login that is used through a Remote does not go idle, and
// one that is not used does. If a login is about to go idle by what is remembered, Verify asks the
// server. A passive request ([PassiveHeader],
// [Guard.Passive]) is no use, here as on the server.
//
// # What is kept
//
// The SHA-256 of a token, and never the token itself once it has been answered.
type Remote struct {
	o       RemoteOptions
	calls   *http.Client
	clock   remoteClock
	known   knowledge
	cache   remoteCache
	pending pending
	uses    uses
	owning  chan struct{} // has a token for each open question for the credential

	within  func() (context.Context, context.CancelFunc) // of one call
	closing func(func()) (forget func() bool)            // what to do then
	cancel  context.CancelFunc
	closed  atomic.Bool
	running sync.WaitGroup
	health  health
}

// RemoteOptions says whom a [Remote] asks, and how much it remembers.
type RemoteOptions struct {
	// URL is where flakepass answers, such as https://auth.internal. Required.
	URL string
	// Key is asked for the key of this service before every call: one with the scope
	// verify. It should answer from memory. If it fails, or does not answer within Timeout,
	// the call fails. From the moment in
	// which it returns another key, that one is used: a key is replaced without a gap by
	// making the new one first, and revoking the old one last.
	Key func(context.Context) (ServiceKey, error)
	// Credential stands in the place of Key for a service that has no key: it is asked for
	// the token of this service's own login; its account has the role service or admin.
	// Exactly one of the two is required.
	Credential func(context.Context) (Token, error)
	// Client sends the calls: whatever is to be known of TLS and proxies is in its
	// Transport. Its Timeout is not used. nil means a plain client that keeps its
	// connections.
	Client *http.Client
	// Entries is how many logins are remembered at most, at about 400 bytes each.
	// 0 means 65,536.
	Entries int
	// MaxStale is for how long an answer is repeated that is not known to be good
	// by the stream of revocations. It makes nothing longer than the bound. 0 means
	// a second; below 0, such an answer is not repeated at all.
	MaxStale time.Duration
	// Timeout limits one call. 0 means 2 seconds.
	Timeout time.Duration
	// Failed, if set, receives each call that failed, of the stream's too. It must
	// not block. The error holds no secret.
	Failed func(error)
	// Log receives when flakepass cannot be asked, and when it can be again. nil:
	// none.
	Log *slog.Logger
}

// ErrCredential means that flakepass refuses the credential of this service
// itself. It says nothing about the token that was asked about.
var ErrCredential = errors.New("flakepass: the server refuses this service's own credential; give it a service key with the scope verify, or the token of a login with the role service")

var (
	errRemoteClosed = errors.New("flakepass: the Remote is closed")
	errRemoteStale  = errors.New("flakepass: the answer took longer than it may be believed")
	errRemoteBusy   = errors.New("flakepass: too many questions are waiting to be asked")
)

var _ Verifier = (*Remote)(nil)

// NewRemote returns a Remote. It connects to nothing yet; the error says what is
// wrong with o.
func NewRemote(o RemoteOptions) (*Remote, error) {
	u, err := baseurl.Parse("flakepass: RemoteOptions.URL", o.URL)
	switch {
	case err != nil:
		return nil, err
	case (o.Credential == nil) == (o.Key == nil):
		return nil, errors.New("flakepass: either RemoteOptions.Key or RemoteOptions.Credential must say with what this service asks")
	case o.Entries < 0 || o.Timeout < 0:
		return nil, errors.New("flakepass: RemoteOptions.Entries and Timeout must not be below 0")
	}
	o.URL = u.JoinPath("/v1").String()
	o.Entries = cmp.Or(o.Entries, 1<<16)
	o.MaxStale = cmp.Or(o.MaxStale, time.Second)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	r := &Remote{o: o, calls: clientOf(o.Client, o.Timeout), clock: newRemoteClock(), owning: make(chan struct{}, maxOwning)}
	r.known.init()
	r.cache.init(o.Entries)
	r.pending.asked = make(map[asked]*question)
	base, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.within = func() (context.Context, context.CancelFunc) { return context.WithTimeout(base, o.Timeout) }
	r.closing = func(do func()) func() bool { return context.AfterFunc(base, do) }
	return r, nil
}

// clientOf is a client of our own with the transport of c: one that follows no
// redirect, for that would take the credential along, and that has no limit on a
// stream.
func clientOf(c *http.Client, timeout time.Duration) *http.Client {
	own := &http.Client{}
	if c != nil {
		own.Transport, own.Jar = c.Transport, c.Jar
	}
	if own.Transport == nil {
		if t, ok := http.DefaultTransport.(*http.Transport); ok {
			t = t.Clone()
			t.MaxIdleConnsPerHost = 2 * maxCalls
			// One connection of HTTP/2 takes all calls, also after calls without an answer. The system would
			// take a quarter of an hour to find that it is dead.
			t.HTTP2 = &http.HTTP2Config{SendPingTimeout: max(timeout, time.Second), PingTimeout: max(timeout, time.Second)}
			own.Transport = t
		}
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return own
}

// A key is what a token is known by.
type key struct {
	id  ID
	sum [sha256.Size]byte
}

func keyOf(t Token) key {
	text := t.Reveal()
	//nolint:gosec // read only, and a copy of the text costs an allocation on every request
	return key{t.ID(), sha256.Sum256(unsafe.Slice(unsafe.StringData(text), len(text)))}
}

// Verify says who holds t. The error is a [*Refusal] if there is no holder; any other
// means that it could not be found out. What is remembered costs no I/O and no
// allocation; whatever else many ask about at the same time goes to the server
// in one call. Verify waits for that call as long as ctx lets it, and for twice
// [RemoteOptions].Timeout at most.
func (r *Remote) Verify(ctx context.Context, t Token) (Identity, error) {
	switch {
	case r.closed.Load():
		return Identity{}, errRemoteClosed // what is remembered hears of no logout any more
	case t.IsZero():
		return Identity{}, ErrMissing
	}
	now, mono := r.clock.now()
	k := keyOf(t)
	if err := r.known.over(k.id); err != nil {
		return Identity{}, err
	}
	if e := r.cache.get(k.id); e != nil && subtle.ConstantTimeCompare(e.key.sum[:], k.sum[:]) == 1 {
		switch who, renew, err := r.believe(ctx, e, now, mono); {
		case err == nil:
			if renew {
				_, _ = r.join(ctx, t, &k) // waits for nothing: what is remembered answers on, for as long as it may
			}
			return who, nil
		case err != errUnsure: //nolint:errorlint // our own, and on every request
			r.cache.drop(e)
			return Identity{}, err
		}
	}
	return r.ask(ctx, t, &k, now)
}

// Run follows the stream of revocations and reports uses to the server, until ctx
// ends or the Remote is closed. Call it once, in a goroutine of its own.
func (r *Remote) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.closing(cancel)()
	var both sync.WaitGroup
	both.Go(func() { r.follow(ctx) })
	both.Go(func() { r.reportUses(ctx) })
	both.Wait()
}

// Close ends all calls and waits for them. A later Verify gets an error that
// is no [*Refusal].
func (r *Remote) Close() {
	r.pending.mu.Lock()
	r.closed.Store(true)
	r.pending.mu.Unlock()
	r.cancel()
	r.running.Wait()
	r.calls.CloseIdleConnections()
}
