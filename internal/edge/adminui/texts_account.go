package adminui

// accountTexts is what the page about the reader's own account says, and the
// second step of a login.
type accountTexts struct {
	Title, Must                                    string
	Factor, Has, HasNot, Enrol, Remove             string
	Scan, QR, ByHand, FirstCode, Confirm           string
	RecoveryTitle, RecoveryLead, RecoveryKept      string
	Renew, RenewHint, LeftF, LeftOne, LeftNone     string
	Password, PasswordLead, NewPassword, NewBeside string
	ChangePassword, ShortBeside                    string
	Code, CodeHint, CodeLead, CodeWrong            string
	CodeNeeded, TicketOver, ResetNeeded            string
	TooShortToRemove, Off, Already, None           string
	RemoveTheirs, RemoveHint                       string
}

func englishAccount() accountTexts {
	return accountTexts{
		Title: "Your account",
		Must:  "Admins of this server need a second factor. Add one to go on.",

		Factor: "Second factor", Enrol: "Add a second factor", Remove: "Remove the second factor",
		Has:    "A login needs a code of your authenticator app beside the passphrase.",
		HasNot: "With a second factor a login needs a code of an authenticator app on your phone beside the passphrase, so a stolen passphrase is of no use alone.",

		Scan: "Read this with your authenticator app. It is shown once.", QR: "QR code with the secret, which is below as text",
		ByHand: "Or type this into the app, as a key for time-based codes:", FirstCode: "The six digits that the app shows now.", Confirm: "Confirm",

		RecoveryTitle: "Your recovery codes",
		RecoveryLead:  "Each stands for the app once. Keep them where you keep nothing else of this account: on paper, or in a password manager. They are not shown again.",
		RecoveryKept:  "I have kept them",

		Renew: "New recovery codes", RenewHint: "New recovery codes take the place of all that you have.",
		LeftF: "You have %d recovery codes.", LeftOne: "You have one recovery code left.", LeftNone: "You have no recovery codes left.",

		Password: "Passphrase", PasswordLead: "Ends your login. Log in with the new one.", NewPassword: "New passphrase",
		NewBeside: "At least 8 characters, since you have a second factor.", ChangePassword: "Change the passphrase",
		ShortBeside: "Passphrase must have at least 8 characters; a sentence of a few words is easiest.",

		Code: "Code", CodeHint: "Six digits of your authenticator app, or a recovery code.", CodeLead: "This account has a second factor.",
		CodeWrong:  "The code is not valid. Each works once and for about a minute: type the next one.",
		CodeNeeded: "A code of your second factor is needed.", TicketOver: "That took too long. Log in once more.",
		ResetNeeded: "The passphrase is right, and too short for an account without a second factor. Ask another admin to set a new one.",

		TooShortToRemove: "Your passphrase is too short to stand alone. Change it to one of at least 15 characters first.",
		Off:              "Nobody can add a second factor on this server: FLAKEPASS_SECOND_FACTOR_KEY is not set.",
		Already:          "You have a second factor already.", None: "There is no second factor. Begin with adding one.",
		RemoveTheirs: "Remove the second factor of this user",
		RemoveHint:   "For somebody who has lost it. Ends the login. A passphrase of fewer than 15 characters opens nothing from then on: the user needs a new one.",
	}
}

func chineseAccount() accountTexts {
	return accountTexts{
		Title: "您的账户",
		Must:  "此服务器的管理员需要第二因素。请先添加，然后继续。",

		Factor: "第二因素", Enrol: "添加第二因素", Remove: "移除第二因素",
		Has:    "登录时除密码短语外，还需要身份验证器应用的验证码。",
		HasNot: "添加第二因素后，登录时除密码短语外还需要手机上身份验证器应用的验证码，仅凭被盗的密码短语无法登录。",

		Scan: "请用身份验证器应用扫描。只显示一次。", QR: "含密钥的二维码，密钥文本见下方",
		ByHand: "或在应用中手动输入此密钥（基于时间的验证码）：", FirstCode: "应用当前显示的六位数字。", Confirm: "确认",

		RecoveryTitle: "您的恢复码",
		RecoveryLead:  "每个恢复码可代替应用使用一次。请写在纸上或存入密码管理器，不要与此账户的其他资料放在一起。它们不会再次显示。",
		RecoveryKept:  "我已保存",

		Renew: "生成新的恢复码", RenewHint: "新的恢复码会取代您现有的全部恢复码。",
		LeftF: "您还有 %d 个恢复码。", LeftOne: "您只剩一个恢复码。", LeftNone: "您已没有恢复码。",

		Password: "密码短语", PasswordLead: "会结束您的登录。请用新的密码短语重新登录。", NewPassword: "新密码短语",
		NewBeside: "您有第二因素，因此至少 8 个字符。", ChangePassword: "更改密码短语",
		ShortBeside: "密码短语至少 8 个字符；用几个词组成一句话最简单。",

		Code: "验证码", CodeHint: "身份验证器应用的六位数字，或一个恢复码。", CodeLead: "此账户有第二因素。",
		CodeWrong:  "验证码无效。每个验证码只能使用一次，约一分钟内有效：请输入下一个。",
		CodeNeeded: "需要第二因素的验证码。", TicketOver: "时间过长。请重新登录。",
		ResetNeeded: "密码短语正确，但对没有第二因素的账户来说太短。请让其他管理员设置新的密码短语。",

		TooShortToRemove: "您的密码短语太短，不能单独使用。请先改为至少 15 个字符的密码短语。",
		Off:              "此服务器无法添加第二因素：未设置 FLAKEPASS_SECOND_FACTOR_KEY。",
		Already:          "您已有第二因素。", None: "没有第二因素。请先添加。",
		RemoveTheirs: "移除此用户的第二因素",
		RemoveHint:   "用于用户丢失第二因素的情况。会结束其登录。此后少于 15 个字符的密码短语无法登录，该用户需要新的密码短语。",
	}
}
