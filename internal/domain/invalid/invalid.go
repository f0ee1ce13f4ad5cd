// Package invalid says what is wrong with an input, field by field.
package invalid

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Field says what is wrong with one field, for a program by its code and for a
// person by its message. Neither repeats the value: it may be a password, or a
// password typed into the wrong field.
type Field struct {
	Field   string // its name in the API
	Code    string // part of the HTTP contract: clients may switch on it
	Message string
	// Bound and Name are the number or the name that the message has, for a sentence in another
	// language; 0 and empty if there is none.
	Bound int
	Name  string
}

// An Error lists everything that is wrong with an input, so that a person corrects
// it once.
type Error struct {
	Fields []Field
	// Sentences says that each message is a sentence of its own. Else it goes after
	// the name of its field: "must have at least …".
	Sentences bool
}

// Of is what is wrong with one field.
func Of(field, code, message string) *Error {
	return &Error{Fields: []Field{{Field: field, Code: code, Message: message}}}
}

// Add says that one more field is wrong.
func (e *Error) Add(field, code, message string) {
	e.Fields = append(e.Fields, Field{Field: field, Code: code, Message: message})
}

// Take adds the fields of err, if it has any.
func (e *Error) Take(err error) {
	if other, ok := errors.AsType[*Error](err); ok {
		e.Fields = append(e.Fields, other.Fields...)
	}
}

// OrNil is e as an error, or nil if nothing is wrong.
func (e *Error) OrNil() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// Error is the list in one line, for people, without any value.
func (e *Error) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Message
		if !e.Sentences {
			parts[i] = f.Field + " " + f.Message
		}
	}
	return strings.Join(parts, "; ")
}

// Blank reports whether nothing of a text shows. A text that must be given has a character
// that does; an accent shows on another character only.
func Blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !Unseen(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.M, r) })
}

// Unseen reports a character that leaves no mark: two texts that differ only there would look
// the same. A space within is none.
func Unseen(r rune) bool {
	const blankBraille = '\u2800'
	return !unicode.IsGraphic(r) || r == utf8.RuneError || r == blankBraille ||
		unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
