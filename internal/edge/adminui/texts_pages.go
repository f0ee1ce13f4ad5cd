package adminui

// homeTexts is what the overview says.
type homeTexts struct {
	Title                                           string
	Live, LiveHint                                  string
	State, Ready, NotReady                          string
	Database, Redis, Worker, Horizon, Bound         string
	HorizonF, NoHorizon, UptimeF, NoRedis           string
	Answers, AnswersHint, Memory, Shared, FromRows  string
	NoAnswers                                       string
	Sweeps, SweepsHint, NoSweeps                    string
	Started, Took, Cleared, Outcome, Instance       string
	Activity, ActivityHint, Day, Week, Numbers      string
	Hour, NoActivity, TotalF, PeakF, DayAgo, Now    string
	WeekAgo                                         string
	Kinds                                           map[string]string
	FirstTitle, FirstExpiry, FirstDocs, FirstPeople string
	PartlyF                                         string
}

// dialTexts is what the page about expiry says.
type dialTexts struct {
	Title, Lead                                string
	Idle, IdleHint, Absolute, AbsoluteHint     string
	Touch, TouchHint, Sweep, SweepHint         string
	Note, NoteHint, Format                     string
	Preview, Save, SaveAnywayF                 string
	EffectTitle, NoChange, NobodyEnds          string
	EndsF, EndsOneF, SoonF, LiveF, ErrorF      string
	Live, Ends, Soon, Now, Typed               string
	CurveTitle, CurveHintF, Before, After      string
	CurveLeft, CurveShare                      string
	ConfirmTitle, ConfirmF                     string
	ConflictTitle, ConflictF, ConflictKept     string
	Opened, InForceF, Yours                    string
	History, Version, When, Who, Changes, Back string
	First, Reverted, NoteF, Older, InForce     string
	ProblemTitle                               string
	EveryF, NextF, CronF, Hourly, Daily        string
	UnreadableF, Problem                       string
	Summary                                    string
}

// logTexts is what the page about the record says.
type logTexts struct {
	Title, Lead                                 string
	Action, Any, Actor, Target, Since, Until    string
	IDHint, DateHint, Filter, Clear             string
	When, Who, What, Whom, Change, Reason, From string
	Older, Newest, CSV, NDJSON, ExportF, Empty  string
	EmptyFiltered, Nobody                       string
	Actions                                     map[string]string
	Stranger                                    string // who was refused, and is nobody that is known
	Doors                                       map[string]string
	BadDate, BadAction, BadCursor, ProblemTitle string
}

// peopleTexts is what the pages about users say.
type peopleTexts struct {
	Title, Search, Find, Name, Role, State, Created string
	Enabled, Disabled, None, NoneNamed, More        string
	New, Create, Reason, Taken                      string
	Account, Audit, Login, NoLogin                  string
	ChangeRole, EndsLogin, Disable, DisableHint     string
	Enable, EnableHint, LastAdmin                   string
	Roles                                           map[string]string
}

// loginsTexts is what the page about logins says.
type loginsTexts struct {
	Title, Lead, User, Began, Seen, LeftTitle, LeftF string
	End, Mine, None                                  string
	All, AllHint, Phrase, PhraseLabel, TypeF         string
}
