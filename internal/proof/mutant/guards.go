package main

// guards are protections of the services that use package flakepass: which requests
// pass, and which forwarded identities are accepted.
func guards() []Mutant {
	guard := func(name, file, old, change, test string) Mutant {
		return Mutant{Name: "guard: " + name, File: file, Old: old, New: change, Package: "api/flakepass", Test: test}
	}
	passive := func(name, old, change string) Mutant {
		return Mutant{Name: "guard: " + name, File: "internal/domain/session/service.go", Old: old, New: change, Package: "internal/domain/session", Test: "^TestPassive"}
	}
	return []Mutant{
		passive("a passive request is a use", "} else if !used.IsZero() && now.Sub(", "} else if now.Sub("),
		passive("a passive request is a use in the last seconds", "s.unsure(&got, &rule, issued, now, !used.IsZero())", "s.unsure(&got, &rule, issued, now, true)"),
		guard("no word of passive requests to the verifier", "api/flakepass/guard.go", "if g.passive || passive(r.Header) {", "if g.passive {", "^TestPassive"),
		guard("a route for no role is for all", "api/flakepass/guard.go", "append([]string{}, roles...)", "append([]string(nil), roles...)", "^TestOnly"),
		guard("roles are not checked", "api/flakepass/guard.go", "g.roles != nil && !slices.Contains(g.roles, who.Role)", "g.roles != nil && len(g.roles) == 0 && !slices.Contains(g.roles, who.Role)", "^TestOnly"),
		guard("optional is more than the roles", "api/flakepass/guard.go", "if anonymous && g.optional && g.roles == nil {", "if anonymous && g.optional {", "^TestOnly"),
		guard("optional lets a refused token through", "api/flakepass/guard.go", "if anonymous && g.optional && g.roles == nil {", "if (anonymous || err != nil) && g.optional && g.roles == nil {", "^TestOptional"),
		guard("a dead connection is used again", "api/flakepass/remote.go", "t.HTTP2 = &http.HTTP2Config{", "_ = &http.HTTP2Config{", "^TestDeadConnectionIsReplaced$"),
		guard("times below zero", "api/flakepass/identity.go", "max(0, at.Sub(now))", "at.Sub(now)", "^TestAnswersSay"),
		guard("times rounded up", "api/flakepass/identity.go", "max(0, at.Sub(now)) / time.Second", "(max(0, at.Sub(now)) + time.Second - 1) / time.Second", "^TestAnswersSay"),
		guard("every address is believed", "api/flakepass/forwarded.go", "if err != nil || !slices.ContainsFunc(f.From,", "if err != nil && !slices.ContainsFunc(f.From,", "^TestForwarded"),
		guard("without a condition every sender is believed", "api/flakepass/forwarded.go", "if len(f.From) == 0 && len(f.Keys) == 0 {", "if false {", "^TestForwarded"),
		guard("a signature does not matter", "api/flakepass/forwardkey.go", "case !good:", "case !good && len(keys) == 0:", "^TestForwarded|^TestSignature"),
		guard("a signature is good for ever", "api/flakepass/forwardkey.go", "case age > ForwardWindow || age < -ForwardWindow:", "case false:", "^TestSignature"),
		guard("a signature has several spellings", "api/flakepass/forwardkey.go", " || len(sum) != base64.RawURLEncoding.EncodedLen(len(got)) {", " {", "^FuzzForwarded$"),
		guard("the method is not signed", "api/flakepass/forwardkey.go", "at, method, path} {", "at, path} {", "^TestSignature"),
		guard("the path is not signed", "api/flakepass/forwardkey.go", "at, method, path} {", "at, method, path[:0]} {", "^TestSignature"),
		guard("the parts of what is signed run together", "api/flakepass/forwardkey.go", "[]byte(part + \"\\n\")", "[]byte(part)", "^TestSignature"),
		guard("an identity without a part", "api/flakepass/forwarded.go", "if c.value(i) == \"\" {", "if false {", "^TestForwardedIsWhole"),
		guard("the first of two", "api/flakepass/forwarded.go", "if len(values) > 1 {", "if false {", "^TestForwardedIsWhole"),
		guard("other spellings stay", "api/flakepass/forwarded.go", "if canonical != \"\" && (!believed || name != canonical || name == signatureHeader) {",
			"if canonical != \"\" && name == canonical && (!believed || name == signatureHeader) {", "^TestForwardedTakesOut"),
		guard("dots are no hyphens", "api/flakepass/forwarded.go", "if alphanumeric(a) {", "if alphanumeric(a) || a == '.' {", "^TestForwardedTakesOut"),
		guard("a second guard misses the signature", "api/flakepass/forwarded.go", "ok && len(c[i]) == 0 {", "ok && len(c[i]) != 0 {", "^TestGuardBehindAGuardBelievesTheSameProxy$"),
		guard("a second guard believes what the first has left", "api/flakepass/forwarded.go", "\tif len(f.Keys) > 0 {\n", "\tif _, again := r.Context().Value(signatureKey{}).(*string); len(f.Keys) > 0 && !again {\n",
			"^TestGuardBehindAGuardBelievesNothingElse$"),
		{
			Name: "guard: a dead connection of the client is used again", File: "api/client/client.go",
			Old: "t.HTTP2 = &http.HTTP2Config{", New: "_ = &http.HTTP2Config{", Package: "api/flakepass", Test: "^TestDeadConnectionIsReplaced$",
		}, {
			Name: "guard: the credential of a device names a request", File: "internal/edge/httpapi/middleware.go", Old: " || len(id) >= ratelimit.DeviceCredentialLen && strings.Contains(id, \"fpd_\")", New: " && len(id) < ratelimit.DeviceCredentialLen",
			Package: "internal/edge/httpapi", Test: "^TestNoTokenNamesARequest$",
		},
		{
			Name: "guard: a login that is over has time left", File: "api/flakepass/refusal.go", Old: "\t\tdelete(w.Header(), ExpiresInHeader)", New: "\t\t_ = ExpiresInHeader",
			Package: "internal/edge/httpapi", Test: "^TestRefusedLoginHasNoTimeLeft$",
		},
		guard("what is not believed stays", "api/flakepass/forwarded.go", "\tif err != nil {\n\t\tstrip(r.Header, false)\n", "\tif err != nil {\n", "^TestForwarded"),
		guard("a forwarded identity that is not believed is a 401", "api/flakepass/forwarded.go",
			"return Identity{}, false, fmt.Errorf(\"%w: %w\", ErrForwarded, err)", "return Identity{}, true, ErrMissing", "^TestForwarded"),
	}
}
