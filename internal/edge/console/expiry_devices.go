package console

import (
	"net/url"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// devicesInput is what a person typed about devices and roles. A page of an earlier version
// does not ask: what is in force stays then.
type devicesInput struct {
	Asked                    bool
	Over, Classes, Overrides string
}

// Refuse reports whether a login above the number is refused.
func (in devicesInput) Refuse() bool { return in.Over == wire.Refuse }

func readDevices(form url.Values) devicesInput {
	return devicesInput{
		Asked: form.Has("overrides"), Over: form.Get("over_limit"),
		Classes: typed(form, "classes"), Overrides: strings.ReplaceAll(typed(form, "overrides"), "\r\n", "\n"), // RFC 9110 has CRLF in a form
	}
}

func devicesOf(p *policy.Policy) devicesInput {
	over := wire.ReplaceOldest
	if p.Refuse {
		over = wire.Refuse
	}
	return devicesInput{true, over, strings.Join(p.DeviceClasses(), ", "), overrideLines(p)}
}

// overrideLines are the overrides of a policy, one a line.
func overrideLines(p *policy.Policy) string {
	return strings.Join(render.All(p.Overrides, (*policy.Override).String), "\n")
}

// into sets of p what was typed, and returns what is wrong with it, by field.
func (in *devicesInput) into(p *policy.Policy, t *texts, inForce *policy.Policy) map[string]string {
	problems := map[string]string{}
	if !in.Asked {
		p.Refuse, p.Classes, p.Overrides = inForce.Refuse, inForce.Classes, inForce.Overrides
		return problems
	}
	var ok bool
	if p.Refuse, ok = policy.ParseOverLimit(in.Over); !ok {
		problems["over_limit"] = t.Text("field.over_limit.unknown_value")
	}
	p.Classes = strings.FieldsFunc(in.Classes, func(r rune) bool { return strings.ContainsRune(" ,，、\n", r) })
	if slices.Equal(p.Classes, policy.DefaultClasses()) {
		p.Classes = nil
	}
	for i, line := range strings.Split(in.Overrides, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		o, err := policy.ParseOverride(line)
		switch {
		case err == nil:
			p.Overrides = append(p.Overrides, o)
		case problems["overrides"] == "":
			problems["overrides"] = t.Text("expiry.override_unreadable", i+1)
		}
	}
	return problems
}

// devices are what two policies say of devices and roles, beside each other.
func (t *texts) devices(a, b *policy.Policy) []change {
	over := func(p *policy.Policy) string {
		switch {
		case p.Schedule == "": // there was no policy
			return ""
		case p.Refuse:
			return t.Text("expiry.refuse")
		}
		return t.Text("expiry.replace")
	}
	classes := func(p *policy.Policy) string {
		if p.Schedule == "" {
			return ""
		}
		return strings.Join(p.DeviceClasses(), ", ")
	}
	return []change{
		{t.Text("expiry.over_limit"), over(a), over(b)},
		{t.Text("expiry.classes"), classes(a), classes(b)},
		{t.Text("expiry.overrides"), strings.ReplaceAll(overrideLines(a), "\n", "; "), strings.ReplaceAll(overrideLines(b), "\n", "; ")},
	}
}
