package adminui

import "maps"

// alsoCalled is names with more of them.
func alsoCalled(names, more map[string]string) map[string]string {
	all := maps.Clone(names)
	maps.Copy(all, more)
	return all
}

// What people do who are, or want to be, logged in.
var (
	securityEN = map[string]string{
		"login.began": "Logged in", "login.logged_out": "Logged out", "login.reauthenticated": "Password and code shown once more", "login.failed": "Login failed", "login.throttled": "Login held back",
		"login.new_place": "Login from a new place", "login.after_failures": "Login after many failures",
		"user.password_refused": "Current password or code wrong", "user.registration_throttled": "Registration held back", "user.registration_refused": "Registration refused",
		"token.reused": "Token used after its end", "token.expired": "Expired token used", "token.forged": "Token made up",
		"access.forbidden": "Not allowed", "access.ambiguous": "Two credentials at once",
		"cache.foreign_value":         "Foreign value in Redis",
		"user.recovery_codes_renewed": "Recovery codes renewed", "user.reset_refused": "One-time link refused",
		"second_factors.rekeyed": "Second factors under a new key",
	}
	securityZH = map[string]string{
		"login.began": "登录", "login.logged_out": "退出登录", "login.reauthenticated": "再次验证密码和验证码", "login.failed": "登录失败", "login.throttled": "登录受限",
		"login.new_place": "从新地点登录", "login.after_failures": "多次失败后登录",
		"user.password_refused": "当前密码或验证码错误", "user.registration_throttled": "注册受限", "user.registration_refused": "注册被拒绝",
		"token.reused": "使用已结束的令牌", "token.expired": "使用过期的令牌", "token.forged": "伪造令牌",
		"access.forbidden": "权限不足", "access.ambiguous": "同时使用两个凭据",
		"cache.foreign_value":         "Redis 中的外来数据",
		"user.recovery_codes_renewed": "更新恢复码", "user.reset_refused": "一次性链接被拒",
		"second_factors.rekeyed": "第二因素换用新密钥",
	}
)
