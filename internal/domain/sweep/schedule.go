package sweep

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// maxSchedule is how long the text of a schedule may be, in bytes.
const maxSchedule = 128

// ParseSchedule reads a cron expression of five fields, a descriptor such as
// @hourly, or @every with a duration of at least a second. Times are UTC. It
// refuses what cron's own parser takes and then does something else with:
// time zones (which can crash it), intervals below a second, and dates that
// never come.
func ParseSchedule(spec string) (schedule cron.Schedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			schedule, err = nil, fmt.Errorf("sweep: schedule %q is not a cron expression", spec)
		}
	}()
	if len(spec) > maxSchedule || strings.Contains(spec, "TZ=") {
		return nil, fmt.Errorf("sweep: schedule %.*q: write it in UTC, without TZ=, in at most %d characters", maxSchedule, spec, maxSchedule)
	}
	schedule, err = cron.ParseStandard(spec)
	if err != nil {
		return nil, fmt.Errorf("sweep: schedule %q: %w", spec, err)
	}
	if every, ok := strings.CutPrefix(strings.TrimSpace(spec), "@every "); ok {
		// cron makes a second of whatever is shorter.
		if d, err := time.ParseDuration(strings.TrimSpace(every)); err == nil && d < time.Second {
			return nil, fmt.Errorf("sweep: schedule %q: at least one second must lie between two sweeps", spec)
		}
	}
	if schedule.Next(time.Now().UTC()).IsZero() {
		return nil, fmt.Errorf("sweep: schedule %q never comes", spec)
	}
	return schedule, nil
}
