package zkworker

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/internal/durable"
	"github.com/flakepass/flakepass/idworker/internal/lend"
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

	// renewTimeout bounds a renewal that no caller waits for.
	renewTimeout = 5 * time.Second

	// maxAhead is how far the reserve may be used ahead of the clock before
	// another number is better. A killed process leaves a window of a few seconds.
	maxAhead = 5 * time.Second
)

// A Keyed lends one number, which a key remembers, and goes on lending it for
// a while when ZooKeeper is down, over restarts too. A process that acquires takes the
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
	cancel  context.CancelFunc // of the renewal that no caller waits for
	notYet  int64              // before that none is tried, after one that failed
	session int64              // in which ZooKeeper has confirmed the reserve
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
	if _, err := lend.Numbers(k.Numbers); err != nil {
		return idworker.Grant{}, err
	}
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
	if err != nil && max(lend.Now(k.Now), k.kept.used)+window.Milliseconds() > k.kept.until {
		return idworker.Grant{}, reserveUsed(err)
	}
	return k.lend(window)
}

// left reports whether the reserve has room for a window, and whether that
// begins near the clock.
func (k *Keyed) left(window time.Duration) (enough, near bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	from := max(lend.Now(k.Now), k.kept.used)
	return from+window.Milliseconds() <= k.kept.until, from <= lend.Now(k.Now)+maxAhead.Milliseconds()
}

// lend gives the next piece of the reserve to a new owner. The caller holds
// k.mu.
func (k *Keyed) lend(window time.Duration) (idworker.Grant, error) {
	from := max(lend.Now(k.Now), k.kept.used)
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

func (k *Keyed) tree() tree { return tree{client: k.Client, root: k.Root} }

func (k *Keyed) offline() time.Duration { return cmp.Or(k.Offline, defaultOffline) }

// keyNode is where the number of the key is remembered.
func (k *Keyed) keyNode() string { return k.Root + "/keys/" + url.PathEscape(k.Key) }
