package main

// slots are protections of several sessions a user: the limit holds, what ends a user ends
// every slot, and an end in one slot is no other's.
func slots() []Mutant {
	const (
		store  = "internal/store/sqlstore"
		memory = "internal/store/memstore"
		domain = "internal/domain/session"
		sweep  = "internal/domain/sweep"
		api    = "internal/edge/httpapi"
	)
	slot := func(name, file, old, change, in, test string) Mutant {
		return Mutant{Name: "slots: " + name, File: file, Old: old, New: change, Package: in, Test: test}
	}
	return []Mutant{
		slot("one session more than allowed", domain+"/open.go", "max(len(stay)-most, 0)", "max(len(stay)-most-1, 0)", domain, "^TestRoom"),
		slot("the most recently used goes", domain+"/open.go", "a.Seen.Compare(b.Seen)", "b.Seen.Compare(a.Seen)", domain, "^TestRoom"),
		slot("a login of the same device stays", domain+"/open.go", " && !s.Device.same(on)", "", domain, "^TestRoom"),
		slot("an end is of every slot", memory+"/tombstones.go", "return place{user, uint64(slot)}", "return place{user, 0 * uint64(slot)}", memory, "^TestEndOfOneSlot"),
		slot("followers hear of one end a user", "internal/store/broadcast/broadcast.go", "at := place{e.UserID, e.Slot}", "at := place{e.UserID, 0}",
			"internal/store/broadcast", "^TestEndsOfEachSlot"),
		slot("the slot of an end is lost in Redis", "internal/store/redisstore/codec.go", "s.Slot, rest = session.Slot(rest[len(rest)-1])", "s.Slot, rest = session.Slot(1)",
			"internal/store/redisstore", "^TestDecodeIsTheInverse"),
		slot("everybody asks for further slots", store+"/slots.go", "if db.further.Load() {\n\t\treturn []string{", "if db != nil {\n\t\treturn []string{", store, "^TestOneSessionAUser.*/^SQLite$"),
		slot("polls leave further slots out", store+"/news.go", "if s.DB.further.Load() { // the rules", "if s.DB == nil { // the rules", store, "^TestSessionsLiveSideBySide$/^SQLite$"),
		slot("an instance that has not heard of slots finds none", store+"/sessions.go", "!asked && db.further.Load()", "!asked && db == nil", store, "^TestSlotsAreUsed.*/^SQLite$"),
		slot("an instance that has not heard of slots drops uses", store+"/touch.go", "\tif len(asked) != len(s.DB.tables()) {", "\tif s.DB == nil {", store, "^TestSlotsAreUsed.*/^SQLite$"),
		slot("a change of an account ends slot 0 alone", store+"/accounts.go", "err != nil || row.Slots == 0 {\n\t\t\t\t\treturn err", "err != nil || row.Slots >= 0 {\n\t\t\t\t\treturn err",
			store, "^TestWhatEndsAUser.*/another_password/^SQLite$"),
		slot("a disabled user keeps further slots", store+"/slots.go", "\t\trow.DisabledAt.Valid = false // the change that ends them may have disabled the user\n", "",
			store, "^TestWhatEndsAUser.*/disabled/^SQLite$"),
		slot("what ended before is not stamped anew", store+"/accounts.go", "return ended, s.stamp(tx, rows[1:])", "return ended, nil", store, "^TestWhatEndsAUser.*/another_password/^SQLite$"),
		slot("all but one ends that one, too", store+"/slots.go", " || now.ID == keep ", " ", store, "^TestOthersEnd$/^SQLite$"),
		slot("the end of a class ends others", store+"/slots.go", " || !now.Of(e.Class) ", " ", store, "^TestClassEnds$/^SQLite$"),
		slot("the end of a class ends the one login of a user", store+"/enduser.go", " || !now.Of(e.Class):", ":", store, "^TestClassEndsTheOneLogin$/^SQLite$"),
		slot("the floor of all is that of slot 0", store+"/settings.go", "for _, table := range s.DB.tables() {", "for _, table := range []string{usersTable} {", store, "^TestSlotsAreUsed.*/^SQLite$"),
		slot("a login in a further slot has no rights", store+"/authorize.go", "err == nil && db.further.Load() && ", "err == nil && db == nil && ", store, "^TestActorInAnySlot$/^SQLite$"),
		slot("a proof in a further slot is of any password", store+"/rules.go", "case row.PasswordVersion != version: //", "case row.PasswordVersion < 0: //", store, "^TestActorInAnySlot$/^SQLite$"),
		slot("a lost end is written into slot 0", store+"/repair.go", "if end.Slot != 0 {", "if end.Slot > 99 {", store, "^TestLostEndsOfSlots.*/^SQLite$"),
		slot("a Remote takes an end for one of every slot", "api/flakepass/remote_events.go", "endEvent{place{w.UserID, w.Slot}", "endEvent{place{w.UserID, 0 * w.Slot}", "internal/proof/remote", "^TestRemoteKnowsTheSlot"),
		slot("a Remote believes what was said under another policy", "api/flakepass/remote_known.go", " || e.asOf <= instant(k.doubt.Load())", "", "internal/proof/remote", "^TestRemoteDoubts"),
		slot("an older Remote repeats answers of further slots", "internal/edge/httpapi/verifications.go", "wire.Alive && !knowsSlots && ", "wire.Alive && !knowsSlots && c == nil && ", "internal/proof/remote", "^TestOlderRemote"),
		slot("an older Remote hears of ends as if of every slot", "internal/edge/httpapi/revocations.go", "e.deaf != nil && e.deaf()", "e.deaf != nil && e.deaf() && e.buf == nil", "internal/proof/remote", "^TestFollowerThatKnowsNoSlots"),
		slot("the stream takes every end for one of slot 0", "internal/edge/httpapi/revocations.go", "if end.Slot == 0 {", "if end.Slot < 99 {", "internal/proof/remote", "^TestRemoteKnowsTheSlot"),
		slot("memory believes what it knew before a lower limit", memory+"/sessions.go", "d != nil && !t.after(s, *d)", "d != nil && t.after(s, *d) && false", memory, "^TestDoubted"),
		slot("Redis is believed right after a lower limit", "internal/store/redisstore/sessions.go", "session.Age(now, *d) < t.life+t.skew", "session.Age(now, *d) < 0", "internal/store/redisstore", "^TestDoubtedValues"),
		slot("who starts believes what Redis held before", "internal/server/run/tiers.go", "time.Since(rule.Current().LoweredAt) < 24*time.Hour", "false", "internal/server/run", "^TestInstanceThatStartsAfter"),
		slot("a lower limit that was missed counts as none", "internal/domain/policy/policy.go", " || p.LoweredIn > known.Version", "", "internal/domain/policy", "^TestLowerLimitIsTold"),
		slot("the search is over while logins are under way", store+"/reduce.go", "slowLogin = time.Minute", "slowLogin = -time.Hour", store, "^TestLowerLimit.*/^SQLite$"),
		slot("a search that began too soon counts", store+"/reduce.go", "from.Done = true; !from.Whole {", "from.Done = true; from.Version == 0 {", store, "^TestWalkThatBeganSoon.*/^SQLite$"),
		slot("a search that fails keeps what is over", sweep+"/part.go", " || p.cursor.Stage >= stages {", " {", sweep, "^TestSearchThatTakesTooLong"),
		slot("a search is a slow database", sweep+"/reduce.go", "err := p.pause(ctx, pause); err != nil", "err := p.rest(ctx, ended, time.Since(start)); err != nil", sweep, "^TestSearchIsNoSlow"),
		slot("one user stops the search", store+"/reduce.go", "case ctx.Err() == nil && (ofRow(err) ||", "case ctx == nil && (ofRow(err) ||", store, "^TestWalkPassesByAUserWhoCannot.*/^SQLite$"),
		slot("who was left out has no more than are allowed", store+"/reduce.go", "walk.Whole = idworker.ID(user), false", "walk.Whole = idworker.ID(user), walk.Whole", store, "^TestWalkPassesByAUserWhoCannot.*/^SQLite$"),
		slot("a step of the search has no end", store+"/reduce.go", "if i > 0 && time", "if i < 0 && time", store, "^TestReduceReturns.*/^SQLite$"),
		slot("a read does not count the sessions of a user", store+"/sessions.go", "&& !ended && row.excess() {", "&& !ended && row.excess() && row.Slot > 99 {", store, "^TestLowerLimit.*/^SQLite$"),
		slot("settling does not count the sessions of a user", store+"/settle.go", "s.withinLimit(ctx, id); err != nil {", "s.withinLimit(ctx, 0); err != nil {", store, "^TestLowerLimit.*/^SQLite$"),
		slot("what a lower limit ends is not written", store+"/reduce.go", "for i := range ends {", "for i := range ends[:0] {", store, "^TestLowerLimit.*/^SQLite$"),
		slot("the search goes on where another limit stopped it", store+"/reduce.go", "case rule.Version != from.Version:", "case from.Version == 0:", store, "^TestWalkOfALowerLimit.*/^SQLite$"),
		slot("the preview counts what is idle twice", store+"/excess.go", "if !after.Lives(", "if false && !after.Lives(", store, "^TestPreviewOfALower.*/^SQLite$"),
		slot("a policy forgets that there may be further slots", store+"/policies.go", `"slots = "+s.DB.d.max+"(slots, ?), `, `"slots = "+s.DB.d.max+"(0, ?), `, store, "^TestLowerLimit.*/^SQLite$"),
		slot("a class has no number of its own", domain+"/open.go", "on[of] > max(rule.MostOn(of), 1)", "on[of] > rule.MaxSessions", store, "^TestSessionsOfAClass.*/^SQLite$"),
		slot("a lower limit of a class waits for the next login", store+"/rows.go", "|| r.Held > 1 && r.ReducedTo > r.Allowed", "", store, "^TestLowerLimitOfAClass.*/^SQLite$"),
		slot("the list of all logins shows more than are allowed", store+"/logins.go", "err != nil || !pending {", "err != nil || !pending || true {", store, "^TestListsShowNoMoreThanAreAllowed/^SQLite$"),
		slot("the list of a user shows more logins than are allowed", store+"/people.go", "err == nil && many {", "err == nil && many && false {", store, "^TestListsShowNoMoreThanAreAllowed/^SQLite$"),
		slot("a raise forgets the lower limit of a class", store+"/policies.go", "case next.LimitsClasses():", "case false:", store, "^TestLowerLimitOfAClassOutlivesARaise/^SQLite$"),
		slot("the sweep knows no limit of a class", store+"/reduce.go", "if rule.LimitsClasses() {", "if false {", store, "^TestLowerLimitOfAClass.*/^SQLite$"),
		slot("a refusal asks no policy", store+"/policies.go", "if next.Refuse {", "if false {", store, "^TestLoginAboveTheLimit.*/^SQLite$"),
		slot("a ticket opens two logins", store+"/room.go", "case o.Place.Last != 0 && o.Place.Last != last:", "case false:", store, "^TestLoginAboveTheLimit.*/^SQLite$"),
		slot("a refusal ends the oldest", domain+"/open.go", "full = rule.Refuse && ", "full = false && ", store, "^TestLoginAboveTheLimit.*/^SQLite$"),
		slot("a ticket of the password alone opens a login", "internal/domain/login/login.go", "proven != (h.Last != 0) {", "!proven && h.Last != 0 {", "internal/domain/login", "^TestTicketOfARefusal"),
		slot("a ticket outlives a code", "internal/domain/secondfactor/ticket.go", "case f.uses() != h.Uses:\n\t\treturn fmt.Errorf(\"secondfactor: unused", "case f.uses() != h.Uses && h.Last == 0:\n\t\treturn fmt.Errorf(\"secondfactor: unused", "internal/domain/secondfactor", "^TestTicketOfBothProofs"),
		slot("a part of a policy is swept by another", store+"/rules.go", "if m.Version != rule.Version {", "if false {", store, "^TestSweepOfAPart.*/^SQLite$"),
		slot("a sweep knows no classes", store+"/stale.go", "is(classOf, p.Class, p.Classes)", "_ = classOf", store, "^TestSweepClearsEachPart.*/^SQLite$"),
		slot("a sweep looks at a part from its beginning", "internal/domain/sweep/part.go", "p.parts.to[m.Part.Scope] = m", "_ = m", store, "^TestSweepClearsEachPart.*/^SQLite$"),
		slot("the default times are those of all", "internal/domain/policy/override.go", "if i := e.OldestIssued(now); i.Before(issued) {", "if i := e.OldestIssued(now); false && i.Before(issued) {", "internal/domain/policy", "^TestTightest|^TestWhatAScope"),
		slot("a Remote knows one time for all", "api/flakepass/remote_known.go", "if p.scopes != nil {", "if false {", "internal/proof/remote", "^TestRemoteGoesByTheTimes"),
		slot("an older Remote refuses by the base of the policy", api+"/verifications.go", "if e.AbsoluteBase.Before(r.AbsoluteBase.Time) {", "if false {", "internal/proof/remote", "^TestRemoteGoesByTheTimes"),
		slot("a session of before the first further slot outlives a change", store+"/accounts.go", "d.forShare + \") = 0\"", "d.forShare + \") >= 0\"", store, "^TestFirstSecondSession.*/^SQLite$"),
		slot("what a lower limit has ended may be chosen", store+"/begin.go", "if errors.Is(err, errBeyond) {", "if false {", store, "^TestEachChoice.*/^SQLite$"),
		slot("a choice makes no room", store+"/room.go", "\t\treturn full\n\t})", "\t\treturn full && one.ID == 0\n\t})", store, "^TestEachChoice.*/^SQLite$"),
		slot("a ticket renews itself", "internal/domain/secondfactor/ticket.go", "if h.Until.IsZero() {", "if true {", "internal/domain/login", "^TestTicketOfARefusal"),
		slot("a Remote repeats answers by an older policy", "api/flakepass/remote_call.go", "\tif repeat {", "\tif true {", "internal/proof/remote", "^TestRemoteRepeatsNoAnswer"),
		slot("each change looks for users with too many", store+"/policies.go", "CASE WHEN reduced_to > max_sessions THEN ? ELSE ? END", "CASE WHEN 0 < max_sessions THEN ? ELSE ? END", store, "^TestChangeOfNoNumber.*/^SQLite$"),
		slot("all consoles are one device", "internal/edge/console/cookie.go", "\"flakepass console\", id)", "\"flakepass console\", id[:0])", "internal/edge/console", "^TestEachBrowser"),
		slot("no device is new", store+"/begin.go", "NewDevice: !o.Place.Known && ", "NewDevice: false && ", store, "^TestNewDevice.*/^SQLite$"),
		slot("a credential says nothing of a device", store+"/begin.go", "NewDevice: !o.Place.Known && ", "NewDevice: ", store, "^TestNewDevice.*/^SQLite$"),
		slot("a slot forgets its device with its session", store+"/room.go", "max(r.TokenID.Int64, r.EndedTokenID.Int64)", "r.TokenID.Int64", store, "^TestNewDevice.*/^SQLite$"),
		slot("the sweep leaves further slots", store+"/stale.go", "for _, table := range s.DB.tables() {", "for _, table := range []string{usersTable} {", store, "^TestSlotsAreUsed.*/^SQLite$"),
	}
}
