package console

import "github.com/flakepass/flakepass/internal/domain/account"

// A passphraseField is where somebody chooses a passphrase; passphrase.html shows
// it. What was typed is not in it, so it cannot come back.
type passphraseField struct {
	T           *texts
	ID, Name    string
	Label, Hint string // Hint may be empty
	Problems    []string
	Least       int  // characters, for the browser to hold to; 0: the server alone says
	Optional    bool // the form can do without
	Live        bool // setup.js tells of its length, and shows it; its ID is password
	Focus       bool
}

func (v setupView) Passphrase() passphraseField {
	return passphraseField{
		T: v.T, ID: "password", Name: "password", Label: v.T.Text("setup.passphrase"), Hint: v.T.Text("setup.passphrase_hint"),
		Problems: v.PasswordProblems, Least: account.MinPasswordLength, Live: true, Focus: v.FocusPassword(),
	}
}

func (v passwordView) Passphrase() passphraseField {
	return passphraseField{
		T: v.T, ID: "password", Name: "password", Label: v.T.Text("reset.new"), Hint: v.T.Text("setup.passphrase_hint"),
		Problems: v.PasswordProblems, Least: account.MinPasswordLength, Live: true,
	}
}

func (v passwordView) Again() passphraseField {
	return passphraseField{T: v.T, ID: "password-again", Name: "password_again", Label: v.T.Text("reset.again"), Least: account.MinPasswordLength}
}

// Passphrase is that of a new user. Where a link can be given instead, a browser
// that held to the length would hold the form up for a field that is not shown.
func (v usersView) Passphrase() passphraseField {
	f := passphraseField{
		T: v.T, ID: "password", Name: "password", Label: v.T.Text("setup.passphrase"), Hint: v.T.Text("setup.passphrase_hint"),
		Optional: v.Links,
	}
	if !f.Optional {
		f.Least = account.MinPasswordLength
	}
	return f
}

// Passphrase is the new one. Beside a second factor fewer characters are enough.
func (v accountView) Passphrase() passphraseField {
	f := passphraseField{
		T: v.T, ID: "new_password", Name: "new_password", Label: v.T.Text("account.new_password"), Hint: v.T.Text("setup.passphrase_hint"),
	}
	if v.Factor {
		f.Hint = v.T.Text("account.new_beside")
	}
	if v.At == doPassword {
		f.Problems = v.Problems
	}
	return f
}
