package main

import (
	"fmt"
	"testing"
	"time"
)

// TestCodeIsGoodForFiveTriesAndFiveMinutes, and for its own number only.
func TestCodeIsGoodForFiveTriesAndFiveMinutes(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := newCodes(func() time.Time { return now })
	text, ok := c.make("+8613800138000")
	if !ok || len(text) != 6 {
		t.Fatalf("%q, %v", text, ok)
	}
	if _, again := c.make("+8613800138000"); again {
		t.Error("two codes at once")
	}
	wrong := fmt.Sprintf("%06d", (int(text[5]-'0')+1)%10)
	for _, other := range []string{"", wrong, text[:5]} {
		if _, ok := c.check("+8613800138000", other); ok && other != text {
			t.Errorf("%q is taken", other)
		}
	}
	if _, ok := c.check("+8613800138001", text); ok {
		t.Error("the code of another number is taken")
	}
	first, ok := c.check("+8613800138000", text)
	now = now.Add(time.Minute)
	if again, too := c.check("+8613800138000", text); !ok || !too || !again.Equal(first) {
		t.Errorf("%v %v, %v %v; want the same time twice", first, ok, again, too)
	}
	if _, ok := c.check("+8613800138000", text); ok {
		t.Error("a sixth try")
	}
	text, _ = c.make("+8613800138000")
	now = now.Add(codeLife + time.Second)
	if _, ok := c.check("+8613800138000", text); ok {
		t.Error("after five minutes")
	}
	if c.make("+8613800138002"); len(c.sent) != 1 {
		t.Errorf("%d codes are kept", len(c.sent))
	}
}

// TestGuessesOfANumberAreCountedForADay: new codes give no new guesses, and who asks for one does not
// take the code away that was sent before.
func TestGuessesOfANumberAreCountedForADay(t *testing.T) {
	now, tries := time.Unix(1_800_000_000, 0), 0
	c := newCodes(func() time.Time { return now })
	const phone = "+8613800138000"
	first, _ := c.make(phone)
	now = now.Add(codePause)
	if again, ok := c.make(phone); !ok || again != first {
		t.Errorf("the code is replaced while it lives: %v", ok)
	}
	for range 24 * 60 * 2 {
		if now = now.Add(codePause); now.After(time.Unix(1_800_000_000, 0).Add(23 * time.Hour)) {
			break
		}
		if _, ok := c.make(phone); ok {
			for range codeTries {
				tries++
				c.check(phone, "x")
			}
		}
	}
	if tries > 2*dayTries {
		t.Errorf("%d guesses in a day", tries)
	}
	now = now.Add(25 * time.Hour)
	text, _ := c.make(phone)
	if _, ok := c.check(phone, text); !ok {
		t.Error("on the next day")
	}
}
