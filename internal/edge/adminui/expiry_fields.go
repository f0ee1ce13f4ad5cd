package adminui

// stops are where the range of a length of time comes to rest.
const stops = "5m 10m 15m 30m 1h 2h 4h 8h 12h 1d 2d 3d 5d 7d 10d 14d 21d 30d 45d 60d 90d 120d 180d 270d 365d 400d"

// A spanField is one of the fields of the page about expiry.
type spanField struct {
	Name, Label, Hint, Value, Problem, Stops string
}

// Spans are the fields, in the order of the page.
func (d dialView) Spans() []spanField {
	t := &d.T.Dial
	return []spanField{
		{"idle", t.Idle, t.IdleHint + " " + t.Format, d.In.Idle, d.Problems["idle"], stops},
		{"absolute", t.Absolute, t.AbsoluteHint, d.In.Absolute, d.Problems["absolute"], stops},
		{"touch", t.Touch, t.TouchHint, d.In.Touch, d.Problems["touch"], ""},
		{"schedule", t.Sweep, t.SweepHint, d.In.Schedule, d.Problems["schedule"], ""},
	}
}
