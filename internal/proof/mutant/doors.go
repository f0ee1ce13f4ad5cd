package main

// doors are protections of those who ask: who is let through, and who is
// believed.
func doors() []Mutant {
	door := func(name, file, old, change, test string) Mutant {
		return Mutant{Name: "door: " + name, File: file, Old: old, New: change, Package: "api/flakepass", Test: test}
	}
	passive := func(name, old, change string) Mutant {
		return Mutant{Name: "door: " + name, File: "internal/domain/session/service.go", Old: old, New: change, Package: "internal/domain/session", Test: "^TestPassive"}
	}
	return []Mutant{
		passive("a passive request is a use", "} else if !used.IsZero() && now.Sub(", "} else if now.Sub("),
		passive("a passive request is a use in the last seconds", "s.unsure(&got, rule, issued, now, !used.IsZero())", "s.unsure(&got, rule, issued, now, true)"),
		door("no word of passive requests to the verifier", "api/flakepass/guard.go", "if g.passive || passive(r.Header) {", "if g.passive {", "^TestPassive"),
		door("a route for nobody is for everybody", "api/flakepass/guard.go", "append([]string{}, roles...)", "append([]string(nil), roles...)", "^TestOnly"),
		door("roles are not checked", "api/flakepass/guard.go", "g.roles != nil && !slices.Contains(g.roles, who.Role)", "g.roles != nil && len(g.roles) == 0 && !slices.Contains(g.roles, who.Role)", "^TestOnly"),
		door("optional is more than the roles", "api/flakepass/guard.go", "if anonymous && g.optional && g.roles == nil {", "if anonymous && g.optional {", "^TestOnly"),
		door("optional lets a refused token through", "api/flakepass/guard.go", "if anonymous && g.optional && g.roles == nil {", "if (anonymous || err != nil) && g.optional && g.roles == nil {", "^TestOptional"),
		door("times below zero", "api/flakepass/times.go", "max(0, at.Sub(now))", "at.Sub(now)", "^TestAnswersSay"),
		door("times rounded up", "api/flakepass/times.go", "max(0, at.Sub(now)) / time.Second", "(max(0, at.Sub(now)) + time.Second - 1) / time.Second", "^TestAnswersSay"),
		door("every address is believed", "api/flakepass/forwarded.go", "if err != nil || !within(f.From, peer.Addr().Unmap()) {", "if err != nil && !within(f.From, peer.Addr().Unmap()) {", "^TestForwarded"),
		door("without a condition everybody is believed", "api/flakepass/forwarded.go", "if len(f.From) == 0 && len(f.Keys) == 0 {", "if false {", "^TestForwarded"),
		door("a signature does not matter", "api/flakepass/forwardkey.go", "case !good:", "case !good && len(keys) == 0:", "^TestForwarded|^TestSignature"),
		door("a signature is good for ever", "api/flakepass/forwardkey.go", "case age > ForwardWindow || age < -ForwardWindow:", "case false:", "^TestSignature"),
		door("the method is not signed", "api/flakepass/forwardkey.go", "at, method, path} {", "at, path} {", "^TestSignature"),
		door("the path is not signed", "api/flakepass/forwardkey.go", "at, method, path} {", "at, method, path[:0]} {", "^TestSignature"),
		door("the parts of what is signed run together", "api/flakepass/forwardkey.go", "[]byte(part + \"\\n\")", "[]byte(part)", "^TestSignature"),
		door("an identity without a part", "api/flakepass/forwarded.go", "if c.value(i) == \"\" {", "if false {", "^TestForwardedIsWhole"),
		door("the first of two", "api/flakepass/forwarded.go", "if len(values) > 1 {", "if false {", "^TestForwardedIsWhole"),
		door("other spellings stay", "api/flakepass/forwarded.go", "if canonical != \"\" && (!believed || name != canonical || name == signatureHeader) {",
			"if canonical != \"\" && name == canonical && (!believed || name == signatureHeader) {", "^TestForwardedTakesOut"),
		door("dots are no hyphens", "api/flakepass/forwarded.go", "if alphanumeric(a) {", "if alphanumeric(a) || a == '.' {", "^TestForwardedTakesOut"),
		door("what is not believed stays", "api/flakepass/forwarded.go", "\tif err != nil {\n\t\tstrip(r.Header, false)\n", "\tif err != nil {\n", "^TestForwarded"),
		door("a forwarded identity that is not believed is a 401", "api/flakepass/forwarded.go",
			"return Identity{}, false, fmt.Errorf(\"%w: %w\", ErrForwarded, err)", "return Identity{}, true, ErrMissing", "^TestForwarded"),
	}
}
