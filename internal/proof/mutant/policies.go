package main

// policies are protections of a change of the policy: what is over stays over,
// a preview is what happens, and a change names the version that it replaces.
func policies() []Mutant {
	policy := func(name, file, old, change, folder, test string) Mutant {
		return Mutant{Name: "policy: " + name, File: file, Old: old, New: change, Package: folder, Test: test}
	}
	const store, api = "internal/store/sqlstore", "internal/edge/httpapi"
	// What fails is not kept: the next mutant would be held to it. One is found
	// after thirty random histories, give or take as many.
	revives := func(name, file, old, change string) Mutant {
		m := policy(name, file, old, change, store, "^TestNothingThatIsOverReturns$/^SQLite$")
		m.Args = []string{"-rapid.nofailfile", "-rapid.checks=300"}
		return m
	}
	return []Mutant{
		revives("an edit keeps no idle base", store+"/policies.go",
			"next = inForce.Succeed(next, fromMillis(row.Now))", "next = inForce.Succeed(next, fromMillis(row.Now))\n\tnext.IdleBase = inForce.IdleBase"),
		revives("an edit keeps no absolute base", store+"/policies.go",
			"next = inForce.Succeed(next, fromMillis(row.Now))", "next = inForce.Succeed(next, fromMillis(row.Now))\n\tnext.AbsoluteBase = inForce.AbsoluteBase"),
		revives("a base falls", "internal/domain/policy/policy.go",
			"return later(e.IdleBase, now.Add(-e.Idle))", "return now.Add(-e.Idle)"),
		revives("a class begins anew", "internal/domain/policy/override.go",
			"e, was := p.resolve(class, role), old.For(class, role)", "e, was := p.resolve(class, role), old.base()"),
		revives("a class is forgotten with its override", "internal/domain/policy/override.go",
			"a.OldestSeen(now).Equal(b.OldestSeen(now)) && a.OldestIssued(now).Equal(b.OldestIssued(now))", "true"),
		policy("an instance that does not poll asks for none", "internal/store/layer/freshpolicy.go",
			"if basis.Version > r.Policy.Current().Version {\n\t\tif err", "if basis.Version < 0 {\n\t\tif err", "internal/server/run", "^TestInstanceThatDoesNotPoll"),
		policy("a preview counts no idle login", store+"/effect.go",
			"Count: expire.Count + idle.Count", "Count: expire.Count", store, "^TestEffectToldIsWhatHappens$/^SQLite$"),
		policy("a preview takes the idle for living", store+"/effect.go",
			"issuedSince.Count-idle.Count", "issuedSince.Count", store, "^TestEffectToldIsWhatHappens$/^SQLite$"),
		policy("a count of rows takes its time", store+"/count.go",
			"if time.Since(began) > s.DB.hurry {", "if false {", store, "^TestEffectIsEstimatedWhereRowsAreSlow$/^SQLite$"),
		policy("a drastic change needs no confirmation", "internal/domain/operator/policies.go",
			"case effect.Drastic() && !c.Confirmed:", "case false:", "internal/domain/operator", "^TestDrasticChange"),
		policy("a weak tag replaces", api+"/admin_policy.go",
			"if !t.weak && t.opaque == opaque {", "if t.opaque == opaque {", api, "^TestConditions|^TestWhatIsReplaced"),
		policy("a change need not say what it replaces", api+"/admin_policy_change.go",
			"\t\treturn inForce, change, errNoCondition\n", "\t\tmatch.any = true\n", api, "^TestWhatIsReplaced"),
		policy("every user is an operator", api+"/caller.go",
			"if !slices.Contains(roles, account.Role(who.Role)) {", "if false && slices.Contains(roles, account.Role(who.Role)) {", api, "^TestOnlyAdmins"),
	}
}
