package simulation

// A rule is one of docs/model.md that can be taken out here, to see what it is
// for.
type rule string

const (
	stampAlways   rule = "StampAlways"
	promptOrAgain rule = "PromptOrAgain"
	asOf          rule = "AsOf"
	rowLeads      rule = "RowLeads"
	rowTells      rule = "RowTells"
	writeNear     rule = "WriteNear"
	nearWrite     rule = "the write of WriteNear"
	lockedNo      rule = "LockedNo"
	provenAge     rule = "ProvenAge"
	oneRead       rule = "OneRead"
	fence         rule = "Fence"
	sweepFence    rule = "SweepFence"
	askLogout     rule = "AskLogout"
	everySlot     rule = "what ends a user ends every slot"
	slotNews      rule = "polls bring the ends of further slots"
	countReads    rule = "a read counts the sessions of the user"
	countSweeps   rule = "the sweep looks for users with too many sessions"
	doubtLower    rule = "what was read before a lower limit is not believed"
	ownSlot       rule = "an end is of one slot"
	countClasses  rule = "while a lower limit is carried out, a read counts by class"
	pendingClass  rule = "a lower limit of a class outlives a change that raises the limit of all"
	listReduces   rule = "a list shows no more sessions of a user than are allowed"
	longestScope  rule = "a token is too old by the scope that lasts longest"
	keptScopes    rule = "a scope that no policy names any more keeps its bases"
	stampOrFail   rule = "what could not be stamped is not acknowledged"
)

// rules are all of them but one.
type rules struct{ without rule }

func (r rules) has(one rule) bool { return r.without != one }
