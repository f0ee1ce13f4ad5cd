package main

// rights are protections of what is changed: whoever changes it still may, and has
// shown password and code where that is needed.
func rights() []Mutant {
	const store = "internal/gormstore"
	right := func(name, old, change, test string) Mutant {
		return Mutant{Name: "rights: " + name, File: store + "/authorize.go", Old: old, New: change, Package: store, Test: test}
	}
	return []Mutant{
		right("nobody is looked at", "case need == audit.NeedsNothing || by.Inside():", "case need != 0 || by.Inside():", "^TestEndedLogins"),
		right("the global floor ends no right", "rows[0].Row.GlobalFloor = floors[0]", "rows[0].Row.GlobalFloor = 0", "^TestEndedLogins"),
		right("a disabled account may act", "if s := r.Row.current(time.Time{}); !s.Alive() {", "if s := r.Row.current(time.Time{}); s.ID == 0 {", "^TestEndedLogins"),
		right("the role does not matter", "case need >= audit.NeedsAdmin && r.Row.Role != string(account.RoleAdmin),", "case false,", "^TestWhoMayWhat"),
		right("the proof of another login counts", "r.TokenProvedID == r.Row.TokenID && ", "", "^TestProofIs"),
		right("a proof is good for ever", "age <= audit.ProofLife && ", "", "^TestProofIs"),
		right("an event needs no permit", "e.Need > p.need ||", "false ||", "^TestNoEventWithout"),
		right("an event is by somebody else", "e.By.ID != p.by.ID || ", "", "^TestNoEventWithout"),
		{
			Name: "rights: a token alone gives out a link", File: "internal/admin/needs.go",
			Old: "startReset:       audit.NeedsProof", New: "startReset:       audit.NeedsAdmin", Package: "cmd/flakepass", Test: "^TestATokenAlone",
		},
	}
}
