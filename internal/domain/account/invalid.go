package account

import "strings"

// The codes of a [FieldError]. They are part of the HTTP contract: clients may
// switch on them.
const (
	CodeRequired          = "required"
	CodeTooShort          = "too_short"
	CodeTooLong           = "too_long"
	CodeTooCommon         = "too_common"
	CodeBreached          = "breached"
	CodeContainsUsername  = "contains_username"
	CodeInvalidCharacters = "invalid_characters"
	CodeMixedScripts      = "mixed_scripts"
	CodeConfusable        = "confusable"
	CodeUnknown           = "unknown_value"
)

// A FieldError says what is wrong with one field, for a program by its code
// and for a person by its message. Neither repeats the value: it may be a
// password, or a password typed into the wrong field.
type FieldError struct {
	Field   string // username, password or role
	Code    string // one of the constants above
	Message string // goes after the name of the field: "must have at least …"
}

// An InvalidError lists everything that is wrong with an input, so that a
// person corrects it once.
type InvalidError struct{ Fields []FieldError }

// Error is the list in one line, without any value.
func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Field + " " + f.Message
	}
	return "account: invalid: " + strings.Join(parts, "; ")
}

func invalid(field, code, message string) *InvalidError {
	return &InvalidError{Fields: []FieldError{{Field: field, Code: code, Message: message}}}
}
