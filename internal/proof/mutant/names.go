package main

// names are protections of the names of users: that one is of one user, that its guesses
// are counted, and that an old one is not shown beyond the bound.
func names() []Mutant {
	const (
		store  = "internal/store/sqlstore"
		names  = store + "/names.go"
		memory = "internal/store/memstore"
		redis  = "internal/store/redisstore"
		remote = "internal/proof/remote"
		api    = "internal/edge/httpapi"
	)
	name := func(what, file, old, change, in, test string) Mutant {
		return Mutant{Name: "names: " + what, File: file, Old: old, New: change, Package: in, Test: test}
	}
	return []Mutant{
		name("a username is not kept among the aliases", names, "if account.CouldBeAlias(u.Username) {", "if account.IsPhone(u.Username) {", store, "^TestNamesAreOfOneUser/^SQLite$"),
		name("an alias that is the username is none", names, "\t\tif kinds[alias] = kindMail; account.IsPhone(alias) {", "\t\tif alias == u.Username {\n\t\t\tcontinue\n\t\t}\n\t\tif kinds[alias] = kindMail; account.IsPhone(alias) {", store, "^TestAliasThatIsTheUsernameIsKept/^SQLite$"),
		name("a username is found as an alias", "internal/domain/operator/names.go", "q.Alias != \"\" && !slices.Contains(user.Aliases, name)", "q.Alias == \"-\" && !slices.Contains(user.Aliases, name)", store, "^TestAliasThatIsTheUsernameIsKept/^SQLite$"),
		name("an imported username is not kept among the aliases", store+"/imports.go", `if err == nil && naming != "" {`, `if err == nil && naming == "-" {`, store, "^TestNamesAreOfOneUser/^SQLite$"),
		name("an alias is a username that an earlier release has made", names, "if len(others) > 0 {", "if len(others) > 1 {", store, "^TestNamesAreOfOneUser/^SQLite$"),
		name("a key changes the names of an admin", "internal/domain/operator/names.go", "if by.Key != 0 && before.Role != account.RoleUser {", "if by.Key != 0 && before.Disabled() {", store, "^TestKeyRenamesPeopleOnly/^SQLite$"),
		name("a key of any scope changes names", names, "return u.DB.authorizeKey(tx, by, need, servicekey.WriteUsers)", "return u.DB.authorizeKey(tx, by, need, servicekey.Verify)", store, "^TestKeyRenamesPeopleOnly/^SQLite$"),
		name("the token of a service reads users", api+"/names.go", "v1.Group(\"/users\", s.admitKey(", "v1.Group(\"/users\", s.admitService(", api, "^TestEveryRouteIsForWhom"),
		name("each name of an account has guesses of its own", "internal/domain/account/service.go", "\tif f.User.ID == 0 {\n\t\treturn f.Name\n\t}\n\treturn f.User.CountedAs()", "\treturn f.Name", "internal/domain/account", "^TestFindCounts"),
		name("the next holder of a name takes its devices over", "internal/domain/account/user.go", "if u.CountedByID {", "if u.CountedByID && u.Username == \"\" {", store, "^TestRenameKeepsTheBudget/^SQLite$"),
		name("a rename is not stamped", names, "renamed_at = \"+u.DB.d.max+\"(COALESCE(renamed_at, 0) + 1, \"+u.DB.d.now+\"), \"+", "\"+", store, "^TestPollBringsRenames/^SQLite$"),
		name("memory goes on with the old name", memory+"/sessions.go", "renamed && !t.after(s, at) {", "renamed && at.IsZero() {", memory, "^TestRenamedAreRead"),
		name("memory keeps an ended login with its name", memory+"/sessions.go", "\t\treturn age < t.life\n", "\t\treturn age < t.life || true\n", store, "^TestMemoryBringsNoName.*/^SQLite$"),
		name("an end that is known is undecided while nobody can be asked", memory+"/sessions.go", "if known && !s.Alive()", "if known && false && !s.Alive()", memory, "^TestEndIsReadAgain"),
		name("too many renames are forgotten", memory+"/changes.go", "\t\tt.Doubt()\n\t}\n\tfor i", "\t}\n\tfor i", memory, "^TestRenamedAreRead"),
		name("Redis goes on with the old name", redis+"/sessions.go", "renamed && session.Age(now, at) < t.life+t.Skew {", "renamed && at.IsZero() {", redis, "^TestRenamedValues"),
		name("a Remote goes on with the old name", "api/flakepass/remote_cache.go", " || r.known.oldName(e) {", " {", remote, "^TestRenameIsKnown"),
		name("followers hear of no rename", "internal/store/broadcast/broadcast.go", "for _, r := range news.Renames {", "for _, r := range news.Renames[:0] {", remote, "^TestRenameIsKnown"),
		name("a query that is no text is read", api+"/page.go", "if !utf8.ValidString(name + ", "if !utf8.ValidString(url.QueryEscape(name)) && \"\" != (name + ", api, "^TestQueryThatCannotBeReadIsRefused"),
		name("a deleted user is renamed", names, "WHERE id = ? AND \"+notDeleted+u.DB.d.forRead", "WHERE id = ?\"+u.DB.d.forRead", store, "^TestDeletedUserHasNoNames/^SQLite$"),
		name("a deleted user is found", "internal/domain/operator/names.go", "(user.Deleted || q.Username", "(user.Deleted && q.Username", store, "^TestDeletedUserHasNoNames/^SQLite$"),
		name("a repeated rename is not told", "internal/domain/operator/names.go", "c.Username != nil && before.Username == after.Username {", "c.Username != nil && by.Key == 1 {", store, "^TestRepeatedRenameIsStampedAnew/^SQLite$"),
		name("an imported account is counted by its name", "internal/domain/operator/imports.go", "n.user.CountedByID = in.ExternalID, true", "n.user.CountedByID = in.ExternalID, false", store, "^TestNextHolderTakesNoDeviceOver/^SQLite$"),
		name("an alias is added to an old list", "internal/domain/operator/names.go", "append(rest, c.AddAliases...)", "append(rest[:0], c.AddAliases...)", store, "^TestAliasesOfTwoAreKept/^SQLite$"),
		name("a token alone renames", "internal/domain/operator/needs.go", "changeNames:      audit.NeedsProof", "changeNames:      audit.NeedsAdmin", "internal/domain/operator", "^TestNamesNeedAProof"),
	}
}
