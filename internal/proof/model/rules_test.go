package model

// The lengths of the model, in ticks.
const (
	bound   = 1 // B: how long what was read last may be believed
	overlap = 1 // how far the window of a poll reaches back behind the poll before
	life    = 5 // how long after its read an "alive" may be repeated at most
	touch   = 3 // the touch interval: a use is written only if the row is as old
	settle  = 2*bound + 1
)

// Rules are what the program does. Each can be taken out, to see what it is for.
type Rules struct {
	// StampAlways: an act on a user that is acknowledged stamps the floor of the
	// user anew, also when no session lived any more.
	StampAlways bool
	// PromptOrAgain: a change that was committed later than the overlap of the feed
	// is stamped anew before it is acknowledged.
	PromptOrAgain bool
	// SweepFence: the sweep clears nothing while a policy change is in flight.
	SweepFence bool
	// RowLeads: a cache holds the time of use that the row has. A use that the row
	// has not taken yet is pending, and the row judges it when it is written.
	RowLeads bool
	// RowTells: an answer gives the idle end that follows from the row.
	RowTells bool
	// WriteNear: a use near the idle end is written before it is answered.
	WriteNear bool
	// ProvenAge: "too old" is said without a read only below what a poll has proven.
	ProvenAge bool
	// LockedNo: "over by the policy" comes from a read that waits for writers of the
	// row.
	LockedNo bool
	// Fence: a policy change in flight stops every conclusion that the policy before
	// it draws.
	Fence bool
	// OneRead: the row and the policy that judges it are read together.
	OneRead bool
	// AskLogout: a logout asks the database, whatever is known.
	AskLogout bool
	// Prove: each poll and each read proves that its server may decide.
	Prove bool
	// AsOf: the age of an "alive" is counted from before its read, not from its
	// arrival.
	AsOf bool
	// RemoteAge: a Remote counts the age of an answer from what the server relied on,
	// not from its arrival.
	RemoteAge bool
	// RemoteDrops: a Remote that receives a policy change forgets what it remembers.
	RemoteDrops bool
	// Doubt: who learns that users may have fewer sessions believes no "alive" of
	// before.
	Doubt bool
	// Reduce: a session that is too many is ended in the row, by the read that finds it,
	// before anybody says so.
	Reduce bool
}

// All are the rules of the program.
func All() Rules {
	return Rules{
		StampAlways: true, PromptOrAgain: true, SweepFence: true, RowLeads: true, RowTells: true, WriteNear: true,
		ProvenAge: true, LockedNo: true, Fence: true, OneRead: true, AskLogout: true, Prove: true, AsOf: true,
		RemoteAge: true, RemoteDrops: true, Doubt: true, Reduce: true,
	}
}

// A kind is what ends a session by the policy.
type kind uint8

const (
	byNothing kind = iota
	byIdle         // the time since the last use
	byAge          // the time since the login
	byLimit        // a newer session lives, and a user may have as many as "timeout" says
)

// A World says what may happen, and how often.
type World struct {
	Name  string
	Kind  kind
	End   uint8 // the last tick
	Long  uint8 // the timeout at the start
	Short uint8 // the one to which it changes, and back

	Acts   uint8 // ends that are asked for
	Sets   uint8 // policy changes
	Late   uint8 // commits that land late, or never
	Uses   uint8
	Faults uint8 // crashes of an instance, or moves to another server
	Slow   uint8 // reads that arrive late

	Sweep  bool
	Stale  bool // an instance may reach a server that is no longer the primary
	Remote bool
}
