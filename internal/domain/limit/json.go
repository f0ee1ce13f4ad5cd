package limit

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/flakepass/flakepass/api/wire"
)

// Doc is l as JSON has it: in the API, in the database, in the record.
func (l *Limits) Doc() *wire.Limits {
	doc := func(r Rule) *wire.Limit { return &wire.Limit{Count: int64(r.Count), Period: wire.Seconds(r.Per)} }
	d := &wire.Limits{LoginPlace: []wire.Limit{}}
	for _, f := range singles {
		*f.doc(d) = doc(*f.rule(l))
	}
	for _, r := range l.LoginPlace[:l.Place()] {
		d.LoginPlace = append(d.LoginPlace, *doc(r))
	}
	return d
}

// FromDoc returns what d says, and everything that is wrong with it: what is
// missing, and what [Limits.Check] finds.
func FromDoc(d *wire.Limits) (Limits, []Wrong) {
	var l Limits
	var all []Wrong
	for _, f := range singles {
		from := *f.doc(d)
		if from == nil {
			all = append(all, Wrong{Field: f.name, Code: CodeRequired, Message: "must be given; what is to stay is sent as it is"})
			continue
		}
		*f.rule(&l) = ruleOf(*from)
	}
	switch {
	case d.LoginPlace == nil:
		all = append(all, Wrong{Field: "login_place", Code: CodeRequired, Message: "must be given; what is to stay is sent as it is"})
	case len(d.LoginPlace) > MaxPlace:
		all = append(all, Wrong{Field: "login_place", Code: CodeInvalid, Message: fmt.Sprintf("login_place must be a list of 1 to %d rules", MaxPlace), Kind: TooMany})
	}
	for i := range min(len(d.LoginPlace), MaxPlace) {
		l.LoginPlace[i] = ruleOf(d.LoginPlace[i])
	}
	for _, w := range l.check(len(d.LoginPlace)) {
		if !slices.ContainsFunc(all, func(before Wrong) bool { return before.Field == w.Field }) {
			all = append(all, w)
		}
	}
	return l, all
}

// ruleOf is r, with numbers beyond any limit cut to where nothing overflows.
func ruleOf(r wire.Limit) Rule {
	const most = math.MaxInt32
	return Rule{int(min(max(r.Count, -1), most)), min(max(time.Duration(r.Period), -time.Second), most*time.Second)}
}

// Encode is l as it is stored.
func Encode(l *Limits) ([]byte, error) {
	text, err := json.Marshal(l.Doc())
	if err != nil {
		return nil, fmt.Errorf("limit: encode: %w", err)
	}
	return text, nil
}

// Decode reads what [Encode] has written, also that of another version. A rule that is missing in
// the text is as in [Default]. A rule that this version does not know is left out. Decode fails if
// the text is no JSON, or if [Limits.Check] finds something wrong.
func Decode(text []byte) (Limits, error) {
	def := Default()
	d := def.Doc()
	if err := json.Unmarshal(text, d); err != nil {
		return Limits{}, fmt.Errorf("limit: decode: %w", err)
	}
	l, wrong := FromDoc(d)
	if len(wrong) > 0 {
		errs := make([]error, len(wrong))
		for i, w := range wrong {
			errs[i] = errors.New(w.Message)
		}
		return Limits{}, fmt.Errorf("limit: decode: %w", errors.Join(errs...))
	}
	return l, nil
}
