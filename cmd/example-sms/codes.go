package main

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"math/big"
	"sync"
	"time"
)

const (
	codeLife  = 5 * time.Minute
	codeTries = 5
	codePause = 30 * time.Second // between two codes for one number
)

// codes are those that were sent. A real back end keeps them where all its instances find them,
// and also limits how many each address and each country asks for: an SMS costs money.
type codes struct {
	now  func() time.Time
	mu   sync.Mutex
	sent map[string]*code // by phone number
}

type code struct {
	text   string
	at     time.Time
	tries  int
	proven time.Time // when it was first right
}

func newCodes(now func() time.Time) *codes { return &codes{now: now, sent: map[string]*code{}} }

// make makes a code of six digits for a number, in the place of an earlier one; false if there
// was one just now. With five tries for each code a guess succeeds once in 200,000 codes.
func (c *codes) make(phone string) (string, bool) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for number, old := range c.sent { // what is over
		if now.Sub(old.at) > codeLife {
			delete(c.sent, number)
		}
	}
	if old := c.sent[phone]; old != nil && now.Sub(old.at) < codePause {
		return "", false
	}
	made := &code{text: fmt.Sprintf("%06d", n), at: now}
	c.sent[phone] = made
	return made.text, true
}

// check reports whether that is the code of a number, and when it was first shown. A right code
// goes on being right for as long as it lives: the answer of a login may be lost. Every try counts.
func (c *codes) check(phone, text string) (proven time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := c.sent[phone]
	if sent == nil || c.now().Sub(sent.at) > codeLife || sent.tries >= codeTries {
		return time.Time{}, false
	}
	sent.tries++
	if subtle.ConstantTimeCompare([]byte(sent.text), []byte(text)) != 1 {
		return time.Time{}, false
	}
	if sent.proven.IsZero() {
		sent.proven = c.now()
	}
	return sent.proven, true
}
