package zkworker

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/internal/durable"
)

var _ idworker.Lender = (*Keyed)(nil)

// What goes wrong with a reserve.
var (
	// ErrReserveUsed says that what ZooKeeper had set aside is used up, or was
	// nothing, and that ZooKeeper does not give more. The error beside it says
	// why. It goes away when ZooKeeper answers again.
	ErrReserveUsed = errors.New("zkworker: no reserve is left to go on without zookeeper")

	// ErrInUse says that another process holds the file of the reserve. Each
	// process needs a file of its own.
	ErrInUse = errors.New("zkworker: the file of the reserve is in use by another process")
)

const (
	defaultOffline = time.Hour

	// startPatience is how long a start that has a reserve waits for ZooKeeper.
	startPatience = 2 * time.Second

	// renewTimeout bounds a renewal that nobody waits for.
	renewTimeout = 5 * time.Second

	// maxAhead is how far the reserve may be used ahead of the clock before
	// another number is better. A killed process leaves a window of a few seconds.
	maxAhead = 5 * time.Second
)

// A Keyed lends one number, which a key remembers, and goes on lending it for
// a while when ZooKeeper is down, over restarts too. Whoever acquires takes the
// number from the last one who did. Set the fields before use; a Keyed must not
// be copied afterwards.
type Keyed struct {
	Client *Client

	// Root is as in [Lender]. Both may share one, and then share its numbers.
	Root string

	// Key names the process over its restarts, such as its "ip:port". Two that
	// have the same by mistake get different numbers.
	Key string

	// File is the path of the file that holds the reserve. It is made if absent,
	// with its folder, for its owner only. It belongs to this process and key
	// alone, on a local disk; a copy of it that is used elsewhere is the one
	// thing that can repeat an ID.
	File string

	// Offline is how much ID time is set aside: how long ZooKeeper may be down.
	// It is also how long the number stays unused if the file is lost. Zero
	// means an hour.
	Offline time.Duration

	// Holder, Numbers and Now are as in [Lender].
	Holder  string
	Numbers int
	Now     func() time.Time

	mu      sync.Mutex
	file    *durable.File // nil before the first use
	closed  bool
	kept    reserve
	owner   string // token of the grant that may be extended
	turn    chan struct{}
	cancel  context.CancelFunc // of the renewal that nobody waits for
	notYet  int64              // before that none is tried, after one that failed
	waiting sync.WaitGroup
}

// Acquire implements [idworker.Lender]. It asks ZooKeeper to confirm and fill
// up the reserve, and does without an answer if that is long enough. It is
// [ErrReserveUsed] if it is not, and [ErrInUse] if another process has the file.
func (k *Keyed) Acquire(ctx context.Context, window time.Duration) (idworker.Grant, error) {
	g, err := k.acquire(ctx, window)
	if err != nil {
		return idworker.Grant{}, fmt.Errorf("zkworker: acquire: %w", err)
	}
	return g, nil
}

func (k *Keyed) acquire(ctx context.Context, window time.Duration) (idworker.Grant, error) {
	if err := k.open(); err != nil {
		return idworker.Grant{}, err
	}
	unlock, err := k.lock(ctx)
	if err != nil {
		return idworker.Grant{}, err
	}
	defer unlock()

	enough, near := k.left(window)
	err = idworker.ErrLost
	if near {
		asking, cancel := ctx, context.CancelFunc(func() {})
		if enough {
			asking, cancel = context.WithTimeout(ctx, startPatience)
		}
		err = k.renew(asking, window)
		cancel()
	}
	if errors.Is(err, idworker.ErrLost) {
		err = k.replace(ctx, window)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	// What is left may have been given up meanwhile.
	if err != nil && max(milli(k.Now), k.kept.used)+window.Milliseconds() > k.kept.until {
		return idworker.Grant{}, reserveUsed(err)
	}
	return k.lend(window)
}

// left reports whether the reserve has room for a window, and whether that
// begins near the clock.
func (k *Keyed) left(window time.Duration) (enough, near bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	from := max(milli(k.Now), k.kept.used)
	return from+window.Milliseconds() <= k.kept.until, from <= milli(k.Now)+maxAhead.Milliseconds()
}

// lend gives the next piece of the reserve to a new owner. The caller holds
// k.mu.
func (k *Keyed) lend(window time.Duration) (idworker.Grant, error) {
	from := max(milli(k.Now), k.kept.used)
	to := k.kept
	to.used = from + window.Milliseconds()
	if to.used > to.until {
		return idworker.Grant{}, ErrReserveUsed
	}
	if err := k.write(to); err != nil {
		return idworker.Grant{}, err
	}
	k.owner = crand.Text()
	return idworker.Grant{
		Number: to.number, Token: k.owner, From: time.UnixMilli(from), Until: time.UnixMilli(to.used),
	}, nil
}

// Extend implements [idworker.Lender]. It lends from the reserve, without a
// question to ZooKeeper as long as there is enough. It is [ErrReserveUsed] if
// there is not and ZooKeeper does not answer.
func (k *Keyed) Extend(ctx context.Context, g idworker.Grant, until time.Time) (idworker.Grant, error) {
	fence := until.UnixMilli()
	if err := k.extend(ctx, g, fence); err != nil {
		return idworker.Grant{}, fmt.Errorf("zkworker: extend: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.owner != g.Token:
		return idworker.Grant{}, fmt.Errorf("zkworker: extend: %w", idworker.ErrLost)
	case fence > k.kept.until:
		return idworker.Grant{}, fmt.Errorf("zkworker: extend: %w", ErrReserveUsed)
	case fence > k.kept.used:
		to := k.kept
		to.used = fence
		if err := k.write(to); err != nil {
			return idworker.Grant{}, fmt.Errorf("zkworker: extend: %w", err)
		}
	}
	g.Until = time.UnixMilli(k.kept.used)
	return g, nil
}

// extend makes sure that the reserve reaches to the fence.
func (k *Keyed) extend(ctx context.Context, g idworker.Grant, fence int64) error {
	reaches, err := k.reaches(g, fence) //nolint:contextcheck // a renewal aside outlives the call
	if reaches || err != nil {
		return err
	}
	unlock, err := k.lock(ctx)
	if err != nil {
		return reserveUsed(err)
	}
	defer unlock()
	// Whoever had the turn may have done it.
	if reaches, err = k.reaches(g, fence); reaches || err != nil { //nolint:contextcheck // as above
		return err
	}
	k.mu.Lock()
	more := time.Duration(fence-max(milli(k.Now), k.kept.used)) * time.Millisecond
	k.mu.Unlock()
	if err := k.renew(ctx, more); err != nil {
		if errors.Is(err, idworker.ErrLost) {
			return err
		}
		return reserveUsed(err)
	}
	return nil
}

// reaches reports whether the reserve goes up to the fence, and sees to it that
// it is filled up in good time.
func (k *Keyed) reaches(g idworker.Grant, fence int64) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return false, ErrClosed
	case g.Token == "" || k.owner != g.Token:
		return false, idworker.ErrLost
	case fence > k.kept.until:
		return false, nil
	}
	now := milli(k.Now)
	if k.kept.until-now < k.offline().Milliseconds()*7/8 && now >= k.notYet {
		k.notYet = now + k.offline().Milliseconds()/64
		k.renewAside()
	}
	return true, nil
}

// Release implements [idworker.Lender]. The reserve stays in the file, for the
// next start.
func (k *Keyed) Release(_ context.Context, g idworker.Grant, used time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if g.Token == "" || k.owner != g.Token {
		return fmt.Errorf("zkworker: release: %w", idworker.ErrLost)
	}
	if back := max(ceilMilli(used), g.From.UnixMilli()); back < k.kept.used {
		to := k.kept
		to.used = back
		if err := k.write(to); err != nil {
			return fmt.Errorf("zkworker: release: %w", err)
		}
	}
	k.owner = ""
	return nil
}

// Close lets go of the file, as the end of the process would, and returns when
// no goroutine of its own is left. Nothing is handed back. The [Client] stays
// open.
func (k *Keyed) Close() error {
	k.mu.Lock()
	k.closed, k.owner = true, ""
	if k.cancel != nil {
		k.cancel()
	}
	k.mu.Unlock()
	k.waiting.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil {
		return nil
	}
	err := k.file.Close()
	k.file = nil
	return err
}

// open opens the file, once, and reads what is in it. A file that cannot be
// read, or is another key's, is as good as lost.
func (k *Keyed) open() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return ErrClosed
	case k.file != nil:
		return nil
	case k.Key == "":
		return errors.New("the key is empty")
	}
	if err := os.MkdirAll(filepath.Dir(k.File), 0o700); err != nil {
		return err
	}
	file, err := durable.Open(k.File)
	if errors.Is(err, durable.ErrBusy) {
		return fmt.Errorf("%w: %s", ErrInUse, k.File)
	}
	if err != nil {
		return err
	}
	first, second, err := file.Read(recordLen)
	if err == nil {
		err = durable.SyncDir(filepath.Dir(k.File)) // the file may be new
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	// What was acknowledged is in both copies; see durable.File.
	r, ok := parseReserve(first)
	other, both := parseReserve(second)
	switch {
	case !ok:
		r, ok = other, both
	case second != nil && !both:
		file.Damaged()
	}
	if second == nil || !ok || r.name != nameOf(k.Root, k.Key) {
		r = reserve{}
	}
	k.file, k.kept, k.turn = file, r, make(chan struct{}, 1)
	return nil
}

// write makes a reserve durable, and then the one that counts. The caller holds
// k.mu.
func (k *Keyed) write(r reserve) error {
	if k.file == nil {
		return ErrClosed
	}
	if r.number > maxNumber || r.used < 0 || r.until > maxFence {
		return fmt.Errorf("number %d until %d cannot be kept", r.number, r.until)
	}
	if err := k.file.Write(r.encode()); err != nil {
		return err
	}
	k.kept = r
	return nil
}

func (k *Keyed) tree() tree { return tree{client: k.Client, root: k.Root} }

func (k *Keyed) offline() time.Duration {
	if k.Offline == 0 {
		return defaultOffline
	}
	return k.Offline
}

// keyNode is where the number of the key is remembered.
func (k *Keyed) keyNode() string { return k.Root + "/keys/" + url.PathEscape(k.Key) }

func reserveUsed(err error) error {
	if errors.Is(err, idworker.ErrNoNumber) || errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrReserveUsed, err)
}
