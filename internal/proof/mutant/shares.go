package main

import "strings"

// shares are protections of those who share something with a client that wants all
// of it: turns for hashes, connections, streams, limits and room on record.
func shares() []Mutant {
	share := func(name, file, old, change, test string) Mutant {
		folder := file[:strings.LastIndexByte(file, '/')]
		return Mutant{Name: "shares: " + name, File: file, Old: old, New: change, Package: folder, Test: test}
	}
	const (
		queue, connections, counts = "internal/domain/account/queue.go", "internal/server/connlimit/connlimit.go", "internal/domain/audit/counts.go"
		streams                    = "internal/store/broadcast/broadcast.go"
	)
	return []Mutant{
		share("a network has turn after turn", queue, "c.turns = append(c.turns[1:], l)", "_ = l", "^TestNetworksTakeTurns$"),
		share("known askers wait behind strangers", queue, "\t\tq.turn = 1 - q.turn\n\t\tq.free", "\t\tq.free", "^TestKnownAskers"),
		share("who fills the queue keeps it", queue, "if waiting >= q.room && !q.makeRoom(by) {", "if waiting >= q.room {", "^TestFullQueueTakes"),
		share("strangers fill the half of known askers", queue, "from = &q.classes[1-own]", "from = &q.classes[own]", "^TestEachClass"),
		share("a network asks its waiters away", queue, "len(most.waiters) <= from.length(by.Network)+1", "len(most.waiters) <= 0", "^TestFullQueueTakes"),
		share("idle connections make no room", connections, "\tif c == nil {\n\t\treturn false\n\t}\n\tl.remove(c)\n",
			"\tif c == nil || c.limit == l {\n\t\treturn false\n\t}\n\tl.remove(c)\n", "^TestLongestIdle"),
		share("a network has all connections", connections, "len(p.conns) >= l.share &&", "len(p.conns) > l.most &&", "^TestPeerHas"),
		share("an account has all streams", streams, "case h.followers >= h.Most && !h.makeRoom(account):", "case h.followers >= h.Most:", "^TestOneAccount"),
		share("a question about many tokens counts once", "internal/edge/httpapi/verifications.go", "s.quota(c, len(tokens))", "s.quota(c, 1)", "^TestQuotaCounts"),
		share("a flood displaces events of other kinds", counts, "if len(r.kinds) >= MostKinds {", "if len(r.kinds) >= 0 {", "^TestFloodOfOneKind"),
		share("a flood displaces events about an admin", counts, "actionKey{s.Action, s.Admin}", "actionKey{s.Action, false}", "^TestFloodOfTheSameKind"),
		share("limits that cannot be read are replaced", "internal/domain/operator/policies.go", "if c.Next.LimitsErr != nil {", "if c.Next.LimitsErr != nil && c.Version < 0 {", "^TestLimitsThatCannotBeRead"),
	}
}
