package main

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"maps"
	"math/big"
	"sync"
	"time"
)

const (
	codeLife  = 5 * time.Minute
	codeTries = 5
	codePause = 30 * time.Second // between two messages to one number
	// dayTries is how often a code of one number may be wrong in a day, however many codes there
	// were: a guess of all succeeds once in 50,000 days. A stranger can use them up; who minds that more
	// counts by device or address as well, as flakepass does.
	dayTries = 20
	day      = 24 * time.Hour
)

// codes are those that were sent. A real back end keeps them where all its instances find them,
// and also limits how many each address and each country asks for: an SMS costs money.
type codes struct {
	now    func() time.Time
	mu     sync.Mutex
	sent   map[string]*code   // by phone number
	missed map[string]*misses // by phone number
}

type code struct {
	text     string
	at, last time.Time // when it was first sent, and when it was sent again
	tries    int
	proven   time.Time // when it was first right
}

// misses are the wrong codes of a number in a day.
type misses struct {
	since time.Time
	count int
}

func newCodes(now func() time.Time) *codes {
	return &codes{now: now, sent: map[string]*code{}, missed: map[string]*misses{}}
}

// make makes a code of six digits for a number; false if one was sent just now, or too many were
// wrong. One that lives and has tries left is sent again, so that nobody takes it away by asking.
func (c *codes) make(phone string) (string, bool) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	maps.DeleteFunc(c.sent, func(_ string, old *code) bool { return now.Sub(old.at) > codeLife })
	maps.DeleteFunc(c.missed, func(_ string, old *misses) bool { return now.Sub(old.since) > day })
	old := c.sent[phone]
	if old != nil && now.Sub(old.last) < codePause || c.over(phone) {
		return "", false
	}
	if old == nil || old.tries >= codeTries {
		old = &code{text: fmt.Sprintf("%06d", n), at: now}
		c.sent[phone] = old
	}
	old.last = now
	return old.text, true
}

// over reports whether too many codes of a number were wrong.
func (c *codes) over(phone string) bool {
	m := c.missed[phone]
	return m != nil && m.count >= dayTries && c.now().Sub(m.since) <= day
}

// check reports whether that is the code of a number, and when it was first shown. A right code
// goes on being right for as long as it lives: the answer of a login may be lost. Every try counts.
func (c *codes) check(phone, text string) (proven time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := c.sent[phone]
	if sent == nil || c.now().Sub(sent.at) > codeLife || sent.tries >= codeTries || c.over(phone) {
		return time.Time{}, false
	}
	sent.tries++
	if subtle.ConstantTimeCompare([]byte(sent.text), []byte(text)) != 1 {
		if m := c.missed[phone]; m == nil || c.now().Sub(m.since) > day {
			c.missed[phone] = &misses{since: c.now()}
		}
		c.missed[phone].count++
		return time.Time{}, false
	}
	if sent.proven.IsZero() {
		sent.proven = c.now()
	}
	return sent.proven, true
}
