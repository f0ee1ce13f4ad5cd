package limit

// Ranges are what may be in force of each limit, in words.
func Ranges() map[string]string {
	all := map[string]string{}
	for name, b := range bounds {
		all[name] = b.why
	}
	return all
}
