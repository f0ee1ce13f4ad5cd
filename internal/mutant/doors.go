package main

// doors are protections of those who ask: who is let through, and who is
// believed.
func doors() []Mutant {
	door := func(name, file, old, change, test string) Mutant {
		return Mutant{Name: "door: " + name, File: file, Old: old, New: change, Package: ".", Test: test}
	}
	passive := func(name, old, change string) Mutant {
		return Mutant{Name: "door: " + name, File: "internal/session/service.go", Old: old, New: change, Package: "internal/session", Test: "^TestPassive"}
	}
	return []Mutant{
		passive("a passive request is a use", "} else if !used.IsZero() && now.Sub(", "} else if now.Sub("),
		passive("a passive request is a use in the last seconds", "s.unsure(&got, rule, issued, now, !used.IsZero())", "s.unsure(&got, rule, issued, now, true)"),
		door("no word of passive requests to the verifier", "guard.go", "if g.passive || passive(r.Header) {", "if g.passive {", "^TestPassive"),
		door("a route for nobody is for everybody", "guard.go", "append([]string{}, roles...)", "append([]string(nil), roles...)", "^TestOnly"),
		door("roles are not checked", "guard.go", "g.roles != nil && !slices.Contains(g.roles, who.Role)", "g.roles != nil && len(g.roles) == 0 && !slices.Contains(g.roles, who.Role)", "^TestOnly"),
		door("optional is more than the roles", "guard.go", "if anonymous && g.optional && g.roles == nil {", "if anonymous && g.optional {", "^TestOnly"),
		door("optional lets a refused token through", "guard.go", "if anonymous && g.optional && g.roles == nil {", "if (anonymous || err != nil) && g.optional && g.roles == nil {", "^TestOptional"),
		door("times below zero", "times.go", "max(0, at.Sub(now))", "at.Sub(now)", "^TestAnswersSay"),
		door("times rounded up", "times.go", "max(0, at.Sub(now)) / time.Second", "(max(0, at.Sub(now)) + time.Second - 1) / time.Second", "^TestAnswersSay"),
		door("every address is believed", "forwarded.go", "if err != nil || !within(f.From, peer.Addr().Unmap()) {", "if err != nil && !within(f.From, peer.Addr().Unmap()) {", "^TestForwarded"),
		door("without a condition everybody is believed", "forwarded.go", "if len(f.From) == 0 && len(f.Keys) == 0 {", "if false {", "^TestForwarded"),
		door("a signature does not matter", "forwardkey.go", "case !good:", "case !good && len(keys) == 0:", "^TestForwarded|^TestSignature"),
		door("a signature is good for ever", "forwardkey.go", "case age > ForwardWindow || age < -ForwardWindow:", "case false:", "^TestSignature"),
		door("the method is not signed", "forwardkey.go", "at, method, path} {", "at, path} {", "^TestSignature"),
		door("the path is not signed", "forwardkey.go", "at, method, path} {", "at, method, path[:0]} {", "^TestSignature"),
		door("the parts of what is signed run together", "forwardkey.go", "[]byte(part + \"\\n\")", "[]byte(part)", "^TestSignature"),
		door("an identity without a part", "forwarded.go", "if c.value(i) == \"\" {", "if false {", "^TestForwardedIsWhole"),
		door("the first of two", "forwarded.go", "if len(values) > 1 {", "if false {", "^TestForwardedIsWhole"),
		door("other spellings stay", "forwarded.go", "if canonical != \"\" && (!believed || name != canonical || name == signatureHeader) {",
			"if canonical != \"\" && name == canonical && (!believed || name == signatureHeader) {", "^TestForwardedTakesOut"),
		door("dots are no hyphens", "forwarded.go", "if alphanumeric(a) {", "if alphanumeric(a) || a == '.' {", "^TestForwardedTakesOut"),
		door("what is not believed stays", "forwarded.go", "\tif err != nil {\n\t\tstrip(r.Header, false)\n", "\tif err != nil {\n", "^TestForwarded"),
		door("a forwarded identity that is not believed is a 401", "forwarded.go",
			"return Identity{}, false, fmt.Errorf(\"%w: %w\", ErrForwarded, err)", "return Identity{}, true, ErrMissing", "^TestForwarded"),
	}
}
