package account

import "unicode/utf8"

// NormalizePrefix returns the form in which names that begin with s are kept,
// and whether there can be any. s is taken as a name is: a Greek sigma at its end
// for the last letter of a word, and a text that could not be one, such as one
// with a space, begins none.
func NormalizePrefix(s string) (prefix string, ok bool) {
	if s == "" || len(s) > 4*maxUsernameBytes || !utf8.ValidString(s) {
		return "", false
	}
	form, err := usernameForm(s)
	return form, err == nil
}
