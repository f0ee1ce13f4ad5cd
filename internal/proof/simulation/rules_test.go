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
	stampOrFail   rule = "what could not be stamped is not acknowledged"
)

// rules are all of them but one.
type rules struct{ without rule }

func (r rules) has(one rule) bool { return r.without != one }
