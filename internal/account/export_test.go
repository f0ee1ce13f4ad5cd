package account

import "github.com/alexedwards/argon2id"

// Observe calls before ahead of every hash that h computes, with the stored
// hash it is compared with, or "" when a new one is made. If compute is false
// nothing is computed, and nothing matches.
func (h *Hasher) Observe(compute bool, before func(phc string)) {
	create, compare := h.create, h.compare
	h.create = func(p string, params *argon2id.Params) (string, error) {
		before("")
		if !compute {
			return h.decoy.Reveal(), nil
		}
		return create(p, params)
	}
	h.compare = func(p, phc string) (bool, *argon2id.Params, error) {
		before(phc)
		if !compute {
			return false, nil, nil
		}
		return compare(p, phc)
	}
}

func (h *Hasher) DecoyHash() PHC { return h.decoy }

func (p Password) Text() string { return p.reveal() }

func CommonPasswordsFile() string { return commonPasswords }
