package limit

import "strconv"

// Ranges are what may be in force of each limit, in words.
func Ranges() map[string]string {
	all := map[string]string{}
	for _, name := range Names() {
		all[name] = RangeOf(name).why
	}
	return all
}

// Starts is how each of [Ranges] has to begin, by the numbers that hold.
func Starts() map[string]string {
	all := map[string]string{}
	for _, name := range Names() {
		b := RangeOf(name)
		all[name] = strconv.Itoa(b.Fewest) + " to " + strconv.Itoa(b.Most) + " "
	}
	return all
}
