package adminui

import "net/http"

// texts is everything that the pages say, in one language. A field that ends
// in F is a format of fmt. A test holds that every language has all of it.
type texts struct {
	Lang    string // BCP 47
	Name    string // of the language, in itself
	Product string

	Skip, Menu, Language, LogOut, Cancel, Enter string
	Overview, Users, LoginList                  string // in the menu
	Expiry, Audit                               string
	Units                                       [4]unit
	Marks                                       marks

	Login   loginTexts
	Confirm confirmTexts
	Setup   setupTexts
	Home    homeTexts
	Fleet   fleetTexts
	Dial    dialTexts
	Limits  limitTexts
	Log     logTexts
	People  peopleTexts
	Logins  loginsTexts
	Resets  resetTexts
	Account accountTexts
	Trouble troubleTexts

	LimitPage limitPageTexts
	Invite    inviteTexts
	Keys      keyTexts
	OpenLinks openLinksTexts

	Done   map[string]string // what was done just now
	Told   map[string]string // what other packages say, where this language is not theirs
	Fields map[string]string // what is wrong with a field, by its name and code

	Unknown, Used, Expired, Unavailable message
	Unproven                            message // of what needs a passphrase that was shown lately
	NotFound, Method, CrossOrigin       message
	BadRequest, TooLarge, MediaType     message
	Broken                              string
}

// A unit of time: day, hour, minute, second. Short is how it is typed.
type unit struct{ One, Many, Short string }

// marks are what stands between texts that the pages put together.
type marks struct{ Colon, Comma, Semicolon, Stop, List string }

type loginTexts struct {
	Title, Lead, Submit, Username, Passphrase    string
	Opening, LimitedF                            string
	Wrong, Role, Disabled, Busy, Failed, Problem string
	Why                                          map[string]string // by the code of a refusal
}

type confirmTexts struct {
	Label, Hint, Wrong, Needed string
}

type setupTexts struct {
	Title, Lead                   string
	Username, UsernameHint        string
	Passphrase, PassphraseHint    string
	Submit                        string
	ProblemTitle, ProblemPrefix   string
	Taken, Busy, Failed           string
	Show, Hide, Short, LongEnough string // for the script
}

// refused is the page for a form that could not be read.
func (t *texts) refused(status int) message {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return t.TooLarge
	case http.StatusUnsupportedMediaType:
		return t.MediaType
	}
	return t.BadRequest
}

// field is a sentence about what is wrong with a field. Where a language has
// none of its own for that code, it is the one of the domain, which goes after
// the name of the field.
func (t *texts) field(name, code, message string) string {
	if s, ok := t.Fields[name+"."+code]; ok {
		return s
	}
	if s, ok := t.Fields[name]; ok {
		return s + " " + message + "."
	}
	return message + "."
}

const addAdmin = "flakepass user add NAME --role admin"
