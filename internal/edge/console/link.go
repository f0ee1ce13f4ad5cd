package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/domain/hidden"
)

const setupPath = "/console/setup"

// LinkLife is how long a link works.
const LinkLife = time.Hour

// SetupPath returns the path, with the code, of a new link to the page that makes the first
// admin. It returns "" when there is an admin already. The link works once and for
// [LinkLife]; one returned earlier stops working. It is a secret for the operator's eyes:
// print it, do not log it. The error is that of HasAdmin; the earlier link is as it was.
func (u *UI) SetupPath(ctx context.Context) (string, error) {
	has, err := u.HasAdmin(ctx)
	if err != nil {
		return "", fmt.Errorf("console: setup link: %w", err)
	}
	if has {
		return "", nil
	}
	c := newCode(rand.Text()) // 130 bits
	u.link.issue(c, u.Now())
	return setupPath + "?code=" + c.Reveal(), nil
}

// A code is the secret part of a link. It cannot print itself.
type code struct{ hidden.Text }

func newCode(s string) code { return code{hidden.Of(s)} }

type linkState int

const (
	linkUnknown linkState = iota // of no link that was given out last
	linkLive
	linkExpired
	linkUsed
)

// A link is the one that was given out last, dead or alive: a dead one is kept
// so that the page can say why it is dead. The zero link is none: no code
// is known to have its hash.
type link struct {
	mu      sync.Mutex
	sum     [sha256.Size]byte // of the code; of 130 random bits a plain hash gives nothing away
	expires time.Time
	used    bool
}

func (l *link) issue(c code, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sum, l.expires, l.used = sha256.Sum256([]byte(c.Reveal())), now.Add(LinkLife), false
}

// state says what a code is good for. Only a client that knows the code learns
// anything but linkUnknown.
func (l *link) state(c code, now time.Time) linkState {
	sum := sha256.Sum256([]byte(c.Reveal()))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case subtle.ConstantTimeCompare(sum[:], l.sum[:]) != 1:
		return linkUnknown
	case l.used:
		return linkUsed
	case !now.Before(l.expires):
		return linkExpired
	}
	return linkLive
}

// spend ends the link, whichever it is: there is an admin now, and no code
// should make another, even if that admin goes away again.
func (l *link) spend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = true
}
