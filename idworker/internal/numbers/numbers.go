// Package numbers is how many numbers a Lender lends.
package numbers

import "fmt"

// Of is how many there are, by the field Numbers of a Lender: 0 means as many as 10 bits of
// worker can number.
func Of(field int) (int, error) {
	switch {
	case field < 0:
		return 0, fmt.Errorf("Numbers is %d; set at least 1, or leave it out", field) //nolint:staticcheck // the name of the field
	case field == 0:
		return 1024, nil
	default:
		return field, nil
	}
}
