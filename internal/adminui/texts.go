package adminui

import "net/http"

// texts is everything that the pages say, in one language. The messages of
// account.FieldError go after the name of their field: "Passphrase must have
// at least 15 characters …".
type texts struct {
	Lang    string // BCP 47
	Product string

	SetupTitle, SetupLead         string
	Username, UsernameHint        string
	Passphrase, PassphraseHint    string
	Submit                        string
	ProblemTitle, ProblemPrefix   string
	Taken, Busy, Failed           string
	Show, Hide, Short, LongEnough string // for the script

	DoneTitle, DoneLead, DoneLogin, DoneType, DoneMore string
	YourPassphrase                                     string
	AddAdmin                                           string // a command

	Unknown, Used, Expired, Unavailable message
	NotFound, Method, CrossOrigin       message
	BadRequest, TooLarge, MediaType     message
	Broken                              string
}

// A message is a page that has only something to say.
type message struct {
	Title   string
	Lines   []string
	Command string // to type in a shell; may be empty
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

const addAdmin = "flakepass user add NAME --role admin"

func english() *texts {
	const (
		newLink = "For a new link, restart the server: while there is no admin it prints one at every start. " +
			"Or create the admin on the server's command line:"
		goBack = "Nothing was created. Go back, and send the form as the page shows it."
	)
	return &texts{
		Lang:    "en",
		Product: "flakepass",

		SetupTitle:     "Create the first admin",
		SetupLead:      "This server has no admin yet. Create the account of whoever runs it.",
		Username:       "Username",
		UsernameHint:   "3 to 64 characters: letters, digits and . _ - @ +",
		Passphrase:     "Passphrase",
		PassphraseHint: "At least 15 characters. A sentence of a few words is easiest, or let a password manager make one.",
		Submit:         "Create admin",
		ProblemTitle:   "The account is not created yet",
		ProblemPrefix:  "Error: ",
		Taken:          "Username is taken by an account that is no admin. Choose another.",
		Busy:           "The server is busy. Enter the passphrase again in a moment.",
		Failed:         "The server could not store the account. Its log says why. Enter the passphrase again to retry.",
		Show:           "Show",
		Hide:           "Hide",
		Short:          "Too short so far.",
		LongEnough:     "Long enough.",

		DoneTitle:      "The admin exists",
		DoneLead:       "You can log in with this name and the passphrase you have chosen:",
		DoneLogin:      "To get a login token, type this in a shell:",
		DoneType:       "Then type this line with your passphrase in it, press Enter, and end the input with Ctrl-D. So the passphrase stays out of the history of the shell. A \" or \\ in it needs a \\ before it.",
		DoneMore:       "The link you followed no longer works. More admins are created on the server's command line:",
		YourPassphrase: "YOUR PASSPHRASE",
		AddAdmin:       addAdmin,

		Unknown: message{"This link is not valid",
			[]string{"It may be incomplete, or the server has been started again since it was printed; only the last link works.", newLink}, addAdmin},
		Used: message{"There is an admin already",
			[]string{"The link has done its work. If you have just created the admin, log in with that name and passphrase.",
				"If somebody else did, and should not have, stop the server. More admins are created on the server's command line:"}, addAdmin},
		Expired:     message{"This link has expired", []string{"It worked for one hour.", newLink}, addAdmin},
		Unavailable: message{"Cannot tell right now", []string{"The server cannot reach its database; its log says why. The link still works: reload this page in a moment."}, ""},
		NotFound:    message{"There is no such page", []string{"The first admin is created by the link that the server prints at its start."}, ""},
		Method:      message{"This page cannot do that", []string{"It can be opened, and its form can be sent."}, ""},
		CrossOrigin: message{"The form came from another site", []string{"Nothing was created. Open the link that the server printed, and send the form from there."}, ""},
		BadRequest:  message{"The form is not readable", []string{goBack}, ""},
		TooLarge:    message{"The form is too large", []string{goBack}, ""},
		MediaType:   message{"The form is of a wrong type", []string{goBack}, ""},
		Broken:      "This page is broken. The log of the server says why.",
	}
}
