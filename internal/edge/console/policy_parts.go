package console

// What the pages about expiry and about limits share is in policy.html. A part of
// a page is given the texts with what it shows.

// changesPart is what differs.
type changesPart struct {
	T       *texts
	Changes []change
}

func changes(t *texts, all []change) changesPart { return changesPart{t, all} }

// A notePart is the field for the reason of a change.
type notePart struct {
	T             *texts
	Note, Problem string
}

// policyNote is that of either page.
func policyNote(page interface{ note() (*texts, string) }, problem string) notePart {
	t, note := page.note()
	return notePart{t, note, problem}
}

func (d dialView) note() (t *texts, note string)   { return d.T, d.In.Note }
func (v limitsView) note() (t *texts, note string) { return v.T, v.In.Note }

// limitPart is one limit on its page.
type limitPart struct {
	limitField
	T *texts
}

func limitOn(t *texts, f limitField) limitPart { return limitPart{f, t} }
