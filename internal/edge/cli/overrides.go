package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// An overrideText is an override as a person writes it.
type overrideText struct{ of policy.Override }

func (o *overrideText) UnmarshalText(text []byte) (err error) {
	o.of, err = policy.ParseOverride(string(text))
	return err
}

func overridesOf(texts []overrideText) []policy.Override {
	all := make([]policy.Override, len(texts))
	for i := range texts {
		all[i] = texts[i].of
	}
	return all
}

// overrideTexts are the overrides of a policy as overrideText reads them.
func overrideTexts(p *wire.Policy) []string {
	var all []string
	for _, o := range policy.FromOverrides(p.Overrides) {
		all = append(all, o.String())
	}
	return all
}

// showSessions shows what a policy says of sessions and devices beside their number, where it
// is not what a new deployment says.
func showSessions(w io.Writer, p *wire.Policy) {
	if p.OverLimit == wire.Refuse {
		_, _ = fmt.Fprintln(w, "over the limit\trefuse")
	}
	if p.DeviceClasses != nil && !slices.Equal(p.DeviceClasses, policy.DefaultClasses()) {
		_, _ = fmt.Fprintf(w, "device classes\t%s\n", printable(strings.Join(p.DeviceClasses, ",")))
	}
	for _, o := range overrideTexts(p) {
		_, _ = fmt.Fprintf(w, "override\t%s\n", printable(o))
	}
}

// sessionsDiffer is what two policies say otherwise of it.
func sessionsDiffer(now, was *wire.Policy) (all []string) {
	if now.OverLimit != was.OverLimit {
		all = append(all, "over the limit "+printable(now.OverLimit)+", was "+printable(was.OverLimit))
	}
	if !slices.Equal(now.DeviceClasses, was.DeviceClasses) {
		all = append(all, "device classes "+printable(strings.Join(now.DeviceClasses, ","))+", were "+printable(strings.Join(was.DeviceClasses, ",")))
	}
	after, before := overrideTexts(now), overrideTexts(was)
	for _, o := range after {
		if !slices.Contains(before, o) {
			all = append(all, "override "+printable(o))
		}
	}
	for _, o := range before {
		if !slices.Contains(after, o) {
			all = append(all, "no longer override "+printable(o))
		}
	}
	return all
}
