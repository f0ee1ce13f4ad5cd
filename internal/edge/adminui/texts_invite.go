package adminui

// inviteTexts is what the form for a new user says of how a passphrase comes to be.
type inviteTexts struct {
	How, ByPassword, ByLink, ByLinkHint string
}

func englishInvite() inviteTexts {
	return inviteTexts{
		How: "How the passphrase is set", ByPassword: "Set one here", ByLink: "Give a one-time link instead",
		ByLinkHint: "With the link the user sets it, once; you do not learn it. The link is shown next, and only then.",
	}
}

func chineseInvite() inviteTexts {
	return inviteTexts{
		How: "如何设置密码短语", ByPassword: "在此设置", ByLink: "改为提供一次性链接",
		ByLinkHint: "用户凭链接自行设置（仅限一次），您不会知道它。链接将在下一页显示，且仅显示一次。",
	}
}
