package adminui

// keyTexts is said to whoever has a second factor that cannot be checked.
type keyTexts struct {
	Sealed string // its key is not here; recovery codes need none
}

func englishKeys() keyTexts {
	const mend = "Whoever runs the server sets FLAKEPASS_SECOND_FACTOR_KEY to the key with which the factor was added, and starts it again; " +
		"or removes the factor on its command line: flakepass user second-factor remove NAME."
	return keyTexts{
		Sealed: "The code cannot be checked: the key with which this second factor was added is not in FLAKEPASS_SECOND_FACTOR_KEY. A recovery code works all the same. " + mend,
	}
}

func chineseKeys() keyTexts {
	const mend = "请服务器运维者将 FLAKEPASS_SECOND_FACTOR_KEY 设为添加该因素时所用的密钥并重新启动；或在服务器的命令行上移除该因素：flakepass user second-factor remove NAME。"
	return keyTexts{
		Sealed: "无法校验验证码：FLAKEPASS_SECOND_FACTOR_KEY 中没有添加此第二因素时所用的密钥。恢复码仍可使用。" + mend,
	}
}
