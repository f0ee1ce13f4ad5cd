package account

import (
	"errors"
	"fmt"
	"testing"
)

// CheapParams are costs of a few microseconds.
var CheapParams = Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1}

// NewCheapHasher is NewHasher without the minimum.
func NewCheapHasher(tb testing.TB, p Params, workers, queue int) *Hasher {
	tb.Helper()
	h, err := newHasher(Here{}, p, workers, queue)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// Observe calls before ahead of every hash that h computes, with the stored
// hash it is compared with, or "" when a new one is made. If compute is false
// nothing is computed, and nothing matches.
func (h *Hasher) Observe(compute bool, before func(phc string)) {
	h.engine = observed{h.engine, h.decoy, compute, before}
}

type observed struct {
	Engine
	decoy   PHC
	compute bool
	before  func(phc string)
}

func (o observed) Create(password string, p Params) (string, error) {
	o.before("")
	if !o.compute {
		return o.decoy.Reveal(), nil
	}
	return o.Engine.Create(password, p)
}

func (o observed) Compare(password, phc string) (bool, error) {
	o.before(phc)
	if !o.compute {
		return false, nil
	}
	return o.Engine.Compare(password, phc)
}

func (h *Hasher) DecoyHash() PHC { return h.decoy }

func (p Password) Text() string { return p.reveal() }

func CommonPasswordsFile() string { return commonPasswords }

// Waiting is how many hashes wait.
func (h *Hasher) Waiting() int {
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	return h.queue.classes[0].waiting + h.queue.classes[1].waiting
}

// Idle is an error unless all memory is free and no network is remembered.
func (h *Hasher) Idle() error {
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	for _, c := range h.queue.classes {
		if len(c.networks) > 0 || len(c.turns) > 0 {
			return errors.New("networks are remembered that have no waiter")
		}
	}
	if h.queue.free != h.size {
		return fmt.Errorf("%d KiB of %d are free", h.queue.free, h.size)
	}
	return nil
}
