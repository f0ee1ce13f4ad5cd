package main

// deletions are protections of who was deleted: nothing of the account opens, nothing else is
// deleted, and no name is left after the purge.
func deletions() []Mutant {
	const (
		store  = "internal/store/sqlstore"
		life   = "internal/proof/lifecycletest"
		domain = "internal/domain/operator"
		self   = "internal/domain/login"
	)
	row := func(name, file, old, change, test string) Mutant {
		return Mutant{Name: "deletions: " + name, File: store + "/" + file, Old: old, New: change, Package: store, Test: test + ".*/^SQLite$"}
	}
	return []Mutant{
		row("a wrong ID deletes somebody", "deletions.go", "if row.Username != username {", "if row.Username == \"\" {", "^TestDeletedIsNotFound"),
		row("the password stays", "deletions.go", "password_hash = '', \" + noFactor", "\" + noFactor", "^TestDeletedIsNotFound"),
		row("an older release lets the user in", "deletions.go", "disabled_at = COALESCE(disabled_at, \" + now + \"), ", "updated_at = updated_at + (0 * \" + now + \"), ", "^TestDeletedIsNotFound"),
		row("links and keys stay", "deletions.go", "first:      func(tx *gorm.DB) error { return u.withdrawAll(tx, id) },", "", "^TestDeletedIsNotFound"),
		row("a change finds a deleted user", "accounts.go", "if row.DeletedAt.Valid && !c.deletes {", "if row.DeletedAt.Valid && false {", "^TestDeletedIsNotFound"),
		row("a key is made for a deleted service", "servicekeys.go", "WHERE id = ? AND \"+notDeleted+k.DB.d.forRead", "WHERE id = ?\"+k.DB.d.forRead", "^TestDeletedIsNotFound"),
		row("a deleted user is found", "users.go", "LEFT JOIN users u ON \"+where+\" AND \"+notDeleted", "LEFT JOIN users u ON \"+where", "^TestDeletedIsNotFound"),
		row("what was done before is answered to anybody", "deletions.go", "if err == nil && already {", "if err == nil && already && false {", "^TestDeletionAgain"),
		row("the last admin is deleted", "deletions.go", "\t\t\tlosesAdmin: serves(row.user()),\n\t\t\tfirst:", "\t\t\tfirst:", "^TestLastAdminIs"),
		row("a login of an older release cancels nothing", "deletions.go", " || row.last() != row.DeletionAskedLogin {", " {", "^TestLoginSinceAsking"),
		row("a lost race hides that the deletion is due", "hold.go", "tokenColumns+accountColumns", "tokenColumns+\", deleted_at, deletion_asked_at\"", "^TestDueDeletionIsNotCancelled"),
		row("a proof of before cancels", "deletions.go", ", imported_version = imported_version + 1, password_version = password_version + 1\"", "\"", "^TestLoginSinceAsking"),
		row("who asked does not come back with an imported password", "deletions.go", ", imported_version = imported_version + 1,", ",", "^TestAskedDeletionKeepsAn"),
		row("a login without an event cancels", "deletions.go", "if o.Cancels == nil {\n\t\treturn session.ErrDeletionAsked", "if o.Cancels == nil {\n\t\treturn nil", "^TestLoginCancels"),
		row("a purge comes at once", "purge.go", "WHERE id = ? AND deleted_at < ?\"+u.DB.d.forRead, int64(id), before.UnixMilli()", "WHERE id = ?\"+u.DB.d.forRead, int64(id)", "^TestPurgeIsNotEarly"),
		row("the record keeps the name of an actor", "purge.go", "SET actor = '', address = ''", "SET address = ''", "^TestPurgeLeaves"),
		row("values keep the name", "purge.go", "slices.Contains(personal, name)", "slices.Contains(personal[:0], name)", "^TestPurgeLeaves"),
		row("the ends of admins keep the name of whom they acted for", "purge.go", "n, err = u.forgetActs(ctx, &user, limit)", "n, err = 0, nil", "^TestPurgeLeaves"),
		row("the ends of admins lose the names of others", "purge.go", "name == \"username\" && of[\"user_id\"] == user.ID.String()", "name == \"username\" && of[\"user_id\"] != nil", "^TestPurgeLeaves"),
		{
			Name: "deletions: the ends of an admin name those for whom the admin acted", File: "internal/domain/session/record.go", Old: "\t\t\tlist[i].Username = \"\"\n\t\t} else", New: "\t\t} else",
			Package: "internal/domain/session", Test: "^TestEndOfAnAdminNames",
		},
		{
			Name: "deletions: an admin's export names those for whom the admin acted", File: "internal/edge/render/mydata.go", Old: "of[\"user_id\"] != me.String()", New: "of[\"user_id\"] == \"\"",
			Package: "internal/edge/render", Test: "^TestMyEventHasNoName",
		},
		row("the address of the own login stays", "purge.go", "address = \", address = ''\"", "address = \"\"", "^TestPurgeLeaves"),
		row("a former name stays", "purge.go", "names = append(names, hadName{renames[i].Target, from, renames[i].ID})", "_ = i", "^TestPurgeLeaves"),
		row("the next holder of a name is forgotten", "purge.go", "id >= ? AND id < ? OR", "(id >= ? OR id < ?) OR", "^TestPurgeLeaves"),
		row("a purge goes on after that of another instance", "purge.go", "\"SELECT id FROM users WHERE id = ?\"+u.DB.d.forShare", "\"SELECT COUNT(*) FROM users WHERE id = ?\"+u.DB.d.forShare", "^TestPurgeOfASecond"),
		row("what the operator of a shell did is taken for that of a user with that name", "purge.go", "(known || user.Role", "(known && false || user.Role", "^TestPurgeKeeps"),
		row("exports at once have no limit", "deletions.go", "len(done) == most", "len(done) > most", "^TestExportsAreCounted"),
		row("what an older release has enabled stays open", "deletions.go", "row.DeletedAt.Valid && row.DisabledAt.Valid && !row.HasPassword && !row.TokenID.Valid", "row.DeletedAt.Valid", "^TestDeletedAgain"),
		{
			Name: "deletions: a login that came and went is not noticed", File: store + "/accounts.go", Old: "COALESCE(ended_token_id, 0) = ? AND", New: "COALESCE(ended_token_id, 0) >= 0 * ? AND",
			Package: store, Test: "^TestLoginThatCameAndWent",
		},
		{
			Name: "deletions: what was asked for is decided of a row that has moved", File: store + "/accounts.go", Old: "row, c, err = db.hold(", New: "row, _, err = db.hold(",
			Package: store, Test: "^TestAskedDeletionKnows",
		},
		{
			Name: "deletions: an export has no longer than an answer", File: "internal/edge/httpapi/own.go", Old: "anew := func() { _ = limit.SetWriteDeadline(time.Now().Add(pageTime)) }", New: "anew := func() { _ = limit }",
			Package: "internal/edge/httpapi", Test: "^TestExportThatTakesLongerThanAnAnswerArrives$",
		},
		row("a table is left out of the purge", "purge.go", "{\"login_guards\", \"guard\"}, ", "", "^TestPurgeLeaves"),
		{
			Name: "deletions: sums have names, which no purge finds", File: "internal/domain/audit/counts.go", Old: "entry.Name = \"\"", New: "entry.Name += \"\"",
			Package: "internal/domain/audit", Test: "^TestWhatIsTooMuchIsSummedUp$",
		},
		{
			Name: "deletions: events about others name an issuer", File: "internal/domain/account/reset.go", Old: "if i.ID != 0 {", New: "if i.ID == 1 {",
			Package: self, Test: "^TestResetSetsThePasswordAndTellsOfTheEnd$",
		},
		{
			Name: "deletions: the retention may be nothing", File: domain + "/deletions.go", Old: "now.Add(-max(d.Keep, LeastRetention))", New: "now.Add(-d.Keep)",
			Package: store, Test: "^TestPurgeLeaves.*/^SQLite$",
		},
		{
			Name: "deletions: an import brings a deleted user back as present", File: domain + "/here.go", Old: "if d.k != nil && d.k.Deleted {", New: "if d.k != nil && d.k.Deleted && false {",
			Package: store, Test: "^TestDeletedIsNotFound.*/^SQLite$",
		},
		{
			Name: "rights: a token alone deletes a user", File: domain + "/needs.go", Old: "deleteUser:       audit.NeedsProof", New: "deleteUser:       audit.NeedsAdmin",
			Package: domain, Test: "^TestEachVerbAsksForItsRights$",
		},
		{
			Name: "rights: a token alone deletes the own account", File: self + "/deletion.go", Old: "audit.NeedsOwnProof, audit.DeletionAsked", New: "audit.NeedsLogin, audit.DeletionAsked",
			Package: "internal/proof/deploytest", Test: "^TestATokenAloneIsNotEnough$/^SQLite$",
		},
		{
			Name: "rights: a token alone exports a whole past", File: self + "/deletion.go", Old: "audit.NeedsOwnProof, audit.DataExported", New: "audit.NeedsLogin, audit.DataExported",
			Package: life, Test: "^TestPeopleLeave.*/^sqlite$",
		},
		{
			Name: "deletions: exports have no limit", File: self + "/deletion.go", Old: "if full != 0 {", New: "if full == 1 {",
			Package: life, Test: "^TestPeopleLeave.*/^sqlite$",
		},
		{
			Name: "deletions: an export lacks what was done to logins", File: self + "/deletion.go", Old: "{TargetName: user.Username, Since: since}", New: "{Target: user.ID, Since: since}",
			Package: life, Test: "^TestPeopleLeave.*/^sqlite$",
		},
		{
			Name: "deletions: an export has values that name others", File: "internal/edge/render/mydata.go", Old: "return !slices.Contains(own, name)", New: "return !slices.Contains(own, name) && false",
			Package: "internal/edge/render", Test: "^TestMyEventNamesNobodyElse$",
		},
		{
			Name: "deletions: an export has the reasons of operators", File: "internal/edge/render/mydata.go", Old: "if mine && (out.ByMe || e.Action.Coded()) {", New: "if mine {",
			Package: life, Test: "^TestPeopleLeave.*/^sqlite$",
		},
	}
}
