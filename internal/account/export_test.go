package account

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
