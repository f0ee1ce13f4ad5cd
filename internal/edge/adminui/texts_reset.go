package adminui

// resetTexts is what is said about one-time links to set a password.
type resetTexts struct {
	Give, GiveHint, Life, Withdraw        string // on the page of a user
	GivenTitle, GivenLeadF, Link, Token   string // the link, once
	Copy, Copied, ByHandF, Back           string
	Title, Lead, TokenHint, New, Again    string // the page of who has one
	Submit, ProblemTitle, Differ, Invalid string
	Disabled, Failed, DoneTitle, DoneText string
}

func resetEnglish() resetTexts {
	return resetTexts{
		Give:     "Give a one-time link",
		GiveHint: "With it the user sets a new passphrase, once; you do not learn it. Until then nothing changes. A new link takes the place of the one before.",
		Life:     "Works for", Withdraw: "Withdraw the link",
		GivenTitle: "One-time link",
		GivenLeadF: "Hand this to %s and to nobody else: whoever has it sets the passphrase. It is shown only now, and works once, until",
		Link:       "Link", Token: "One-time code", Copy: "Copy", Copied: "Copied.",
		ByHandF: "If the link cannot be opened: the page is %s, and asks for this code.", Back: "Back to the user",
		Title: "Set a new passphrase", Lead: "You were given a link with a one-time code. With it you choose the passphrase that you log in with from now on.",
		TokenHint: "Begins with fpr_, and came with the link.", New: "New passphrase", Again: "The same once more",
		Submit: "Set the passphrase", ProblemTitle: "The passphrase is not set yet",
		Differ:    "The two passphrases are not the same. Enter both again.",
		Invalid:   "This one-time code does not work: it is used, withdrawn, expired or incomplete. Ask your administrator for a new link.",
		Disabled:  "This account is disabled. Ask your administrator; the link works once the account is enabled.",
		Failed:    "The server could not set the passphrase. Its log says why. Enter it again in a moment.",
		DoneTitle: "The passphrase is set",
		DoneText:  "Log in with it from now on. If you were logged in anywhere, that login is over.",
	}
}

func resetChinese() resetTexts {
	return resetTexts{
		Give:     "提供一次性链接",
		GiveHint: "用户凭此链接自行设置新的密码短语（仅限一次），您不会知道它。在此之前一切不变。新链接会取代之前的链接。",
		Life:     "有效时间", Withdraw: "撤回链接",
		GivenTitle: "一次性链接",
		GivenLeadF: "请只交给 %s 本人：持有者即可设置密码短语。链接只在此刻显示，只能使用一次，有效期至",
		Link:       "链接", Token: "一次性代码", Copy: "复制", Copied: "已复制。",
		ByHandF: "如果无法打开链接：请访问 %s 页面，并输入此代码。", Back: "返回该用户",
		Title: "设置新的密码短语", Lead: "您收到了带有一次性代码的链接。凭此您可以选择今后登录所用的密码短语。",
		TokenHint: "以 fpr_ 开头，随链接一同提供。", New: "新的密码短语", Again: "再输入一次",
		Submit: "设置密码短语", ProblemTitle: "密码短语尚未设置",
		Differ:    "两次输入的密码短语不一致，请重新输入。",
		Invalid:   "此一次性代码无效：已被使用、已撤回、已过期或不完整。请向管理员索取新链接。",
		Disabled:  "此账户已被停用。请联系管理员；账户启用后该链接即可使用。",
		Failed:    "服务器无法设置密码短语，原因见其日志。请稍后重新输入。",
		DoneTitle: "密码短语已设置",
		DoneText:  "今后请用它登录。如果您曾在别处登录，该登录已结束。",
	}
}
