package adminui

// openLinksTexts is what the page of a user says about the one-time links that the
// user has given out.
type openLinksTexts struct {
	Title, Lead, None, For, Until, WithdrawAll string
}

func englishOpenLinks() openLinksTexts {
	return openLinksTexts{
		Title: "Open links given out by this person",
		Lead:  "One-time links that still work. Who has one sets the passphrase of the user whom it is for.",
		None:  "No link that this person has given out works now.",
		For:   "For", Until: "Works until", WithdrawAll: "Withdraw all of these links",
	}
}

func chineseOpenLinks() openLinksTexts {
	return openLinksTexts{
		Title: "此人提供的未使用链接",
		Lead:  "仍然有效的一次性链接。持有者可以设置链接所属用户的密码短语。",
		None:  "此人提供的链接目前均已失效。",
		For:   "所属用户", Until: "有效期至", WithdrawAll: "撤回所有这些链接",
	}
}
