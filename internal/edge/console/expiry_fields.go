package console

// stops are where the range of a length of time comes to rest.
const stops = "5m 10m 15m 30m 1h 2h 4h 8h 12h 1d 2d 3d 5d 7d 10d 14d 21d 30d 45d 60d 90d 120d 180d 270d 365d 400d"

// A spanField is one of the fields of the page about expiry.
type spanField struct {
	Name, Label, Hint, Value, Problem, Stops string
}

// Spans are the fields, in the order of the page.
func (d dialView) Spans() []spanField {
	t := d.T
	return []spanField{
		{"idle", t.Text("expiry.idle"), t.Text("expiry.idle_hint") + " " + t.Text("expiry.format"), d.In.Idle, d.Problems["idle"], stops},
		{"absolute", t.Text("expiry.absolute"), t.Text("expiry.absolute_hint"), d.In.Absolute, d.Problems["absolute"], stops},
		{"touch", t.Text("expiry.touch"), t.Text("expiry.touch_hint"), d.In.Touch, d.Problems["touch"], ""},
		{"schedule", t.Text("expiry.sweep"), t.Text("expiry.sweep_hint"), d.In.Schedule, d.Problems["schedule"], ""},
	}
}
