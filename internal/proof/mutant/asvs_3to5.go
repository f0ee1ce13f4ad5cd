package main

import "slices"

// asvs3 is the web frontend, which is the console.
func asvs3() []asvsBreak {
	const headers = asvsAPI + "/middleware.go"
	return slices.Concat(
		breaks("3.2.1", "a browser guesses what an answer is", headers, "\th[\"X-Content-Type-Options\"] = nosniff\n", "\t_ = nosniff\n", asvsAttack, "TestEveryAnswerIsHardened"),
		breaks("3.2.1", "a problem has the type that a page had", "api/problem/problem.go", "\th[\"Content-Type\"] = media\n", "\t_ = media\n", "api/problem", "TestHeadersAreThese"),
		breaks("3.2.2", "pages are written as they are", asvsUI+"/request.go", pageMade, rawPages, asvsUI, "TestNameCannotBreakOut"),
		breaks("3.2.2", "a script may make markup", asvsUI+"/assets.go", "; require-trusted-types-for 'script'; trusted-types 'none'", "", asvsUI, "TestEveryAnswerIsHardened"),
		breaks("3.3.2", "other sites send the cookie along", asvsUI+"/cookie.go", "http.SameSiteStrictMode", "http.SameSiteNoneMode", asvsUI, "TestCookieIsLocked"),
		breaks("3.3.2", "other sites send the language along", asvsUI+"/texts.go", "http.SameSiteLaxMode", "http.SameSiteNoneMode", asvsUI, "TestChosenLanguageStays"),
		breaks("3.3.4", "scripts can read the cookie", asvsUI+"/cookie.go", "HttpOnly: true, ", "", asvsUI, "TestCookieIsLocked"),
		breaks("3.3.4", "the token is in the address", asvsUI+"/login.go", `url.Values{"next": {next}, "kept": {""}}`, `url.Values{"next": {next}, "kept": {begun.Token.Reveal()}}`,
			asvsUI, "TestTokenComesBySetCookieAlone"),
		breaks("3.3.4", "a page takes the token from a header", asvsUI+"/cookie.go",
			"\t\treturn flakepass.Token{}, flakepass.ErrMissing\n", "\t\tif h := r.Header.Get(\"Authorization\"); len(h) > 7 {\n\t\t\treturn flakepass.ParseToken(h[7:])\n\t\t}\n\t\treturn flakepass.Token{}, flakepass.ErrMissing\n",
			asvsUI, "TestPagesTakeNoHeader"),
		breaks("3.4.2", "every origin may read", headers, "\th[\"Referrer-Policy\"] = noReferrer\n", "\th[\"Referrer-Policy\"] = noReferrer\n\tif o := c.Request.Header[\"Origin\"]; o != nil {\n\t\th[\"Access-Control-Allow-Origin\"] = o\n\t}\n",
			asvsAttack, "TestEveryAnswerIsHardened"),
		breaks("3.4.3", "an answer of the API has no policy", headers, "\th[\"Content-Security-Policy\"] = noPage\n", "\t_ = noPage\n", asvsAttack, "TestEveryAnswerIsHardened"),
		breaks("3.4.4", "a browser guesses what an answer is", headers, "\th[\"X-Content-Type-Options\"] = nosniff\n", "\t_ = nosniff\n", asvsAttack, "TestEveryAnswerIsHardened"),
		breaks("3.4.5", "a page shows other sites where its reader was", asvsUI+"/assets.go", "h.Set(\"Referrer-Policy\", \"same-origin\")", "h.Set(\"Referrer-Policy\", \"unsafe-url\")",
			asvsAttack, "TestEveryAnswerIsHardened"),
		breaks("3.4.6", "an answer of the API may be framed", headers, "default-src 'none'; frame-ancestors 'none'", "default-src 'none'", asvsAttack, "TestEveryAnswerIsHardened"),
		breaks("3.5.1", "forms of other sites count", asvsUI+"/access.go", "if err := u.origin.Check(q.r); err != nil {", "if err := u.origin.Check(q.r); err != nil && false {",
			asvsUI, "TestOtherSitesCannotAct"),
		breaks("3.5.1", "forms of other sites count", asvsUI+"/access.go", "if err := u.origin.Check(q.r); err != nil {", "if err := u.origin.Check(q.r); err != nil && false {",
			asvsAttack, "TestOtherSitesDoNothingInTheConsole"),
		breaks("3.5.1", "another site sends the form of the first admin", asvsUI+"/form.go", "err != nil && !hidden {", "err != nil && !hidden && q.r.Method == http.MethodGet {", asvsUI, "TestOtherSitesCannotSendTheForm"),
		breaks("3.5.2", "a form of another site counts", asvsUI+"/access.go", "if err := u.origin.Check(q.r); err != nil {", "if err := u.origin.Check(q.r); err != nil && q.r.Header.Get(\"Origin\") == \"\" {",
			asvsUI, "TestOtherSitesCannotAct"),
		breaks("3.5.2", "JSON may be sent as text", asvsAPI+"/body.go", "if err != nil || got != kind ||", "if err != nil || got != kind && got != \"text/plain\" ||", asvsAttack, "TestBodiesOfTwoReadingsChangeNothing"),
		breaks("3.5.2", "a form may be sent as any type", asvsUI+"/form.go", "err != nil || t != \"application/x-www-form-urlencoded\" {", "err != nil && t != \"\" {", asvsUI, "TestFormIsReadStrictly"),
		breaks("3.5.3", "a link logs out", asvsUI+"/console.go", "u.at(mux, logoutPath, nil, u.form(u.logout))", "u.at(mux, logoutPath, func(q *request) { u.logout(q, nil) }, u.form(u.logout))",
			asvsUI, "TestOtherSitesCannotAct"),
		breaks("3.5.3", "a link logs out of the API", asvsAPI+"/httpapi.go", "\tmine := v1.Group(", "\tv1.GET(\"/logout\", s.do(s.logout))\n\tmine := v1.Group(", asvsAPI, "TestRoutesAreTheContract"),
		breaks("3.7.1", "a page has a plug-in", asvsUI+"/pages/login.html", `<form method="post" action="/console/login">`, `<object data="/console/assets/mark.swf"></object><form method="post" action="/console/login">`,
			asvsUI, "TestPagesKeepTheirOwnPolicy"),
		breaks("3.7.2", "a path is no page of the console", asvsUI+"/cookie.go", "if !strings.HasPrefix(to.Path, homePath) || clean", "if clean", asvsUI, "FuzzSafePath"),
		breaks("3.7.2", "a login leads where the form says", asvsUI+"/login.go", `typed(form, "username"), safePath(form.Get("next"))`, `typed(form, "username"), form.Get("next")`, asvsUI, "TestLoginLeadsToTheConsoleOnly"),
	)
}

// asvs4to5 is the API, and files.
func asvs4to5() []asvsBreak {
	return slices.Concat(
		breaks("4.1.1", "a problem is not said to be one", "api/problem/problem.go", `media := mediaType`, `media := oauthMediaType`, "api/problem", "TestHeadersAreThese"),
		breaks("4.1.1", "every answer is said to be a page", asvsAPI+"/middleware.go", "\th[\"Referrer-Policy\"] = noReferrer\n", "\th[\"Referrer-Policy\"] = noReferrer\n\th[\"Content-Type\"] = []string{\"text/html\"}\n",
			asvsAPI, "TestOperatorsRequestsReachTheirVerb"),
		breaks("4.1.3", "every peer is believed", "internal/edge/clientaddr/clientaddr.go", "if !within(trusted, peer) {", "if false {", asvsAttack, "TestAClientChoosesNoAddress"),
		breaks("4.1.3", "the first entry counts", "internal/edge/clientaddr/clientaddr.go", "if at = next; !within(trusted, at) {", "if at = next; false {", "internal/edge/clientaddr", "FuzzAppendedAddressCounts"),
		breaks("4.1.3", "the API believes a forwarded identity", asvsAPI+"/httpapi.go", "Undecided: s.undecided}",
			"Undecided: s.undecided, Forwarded: &flakepass.Forwarded{From: []netip.Prefix{netip.MustParsePrefix(\"127.0.0.0/8\")}}}", asvsAttack, "TestHeadersMakeNoOtherUser"),
		breaks("4.1.3", "the proxy hands on a role where every client may go", "docs/proxies/nginx.conf", "            proxy_set_header X-Auth-Role \"\";\n", "",
			"internal/proof/proxies", "TestSpoofedIdentityDoesNotGetThroughTheProxy"),
		breaks("4.1.3", "the proxy hands on the address that a client says", "docs/proxies/nginx.conf",
			"            # flakepass. Every location replaces it: a client's value is not forwarded.\n            proxy_set_header X-Forwarded-For $remote_addr;\n",
			"            proxy_set_header X-Forwarded-For $http_x_forwarded_for;\n", "internal/proof/proxies", "TestAClientChoosesNoAddressOnRecord"),
		breaks("4.1.3", "a location that no test knows", "docs/proxies/nginx.conf", "        location /open/ {\n", "        location /news/ {\n            proxy_pass http://service;\n        }\n        location /open/ {\n",
			"internal/proof/proxies", "TestEveryLocationHasARow"),
		breaks("4.1.3", "the proxy of flakepass hands on the address that a client says", "docs/deploy/nginx.conf", "X-Forwarded-For $remote_addr;", "X-Forwarded-For $http_x_forwarded_for;",
			"internal/proof/proxies", "TestAClientChoosesNoAddressOfARefusal"),
		breaks("4.1.4", "a route has one more method", asvsAPI+"/httpapi.go", "\tmine := v1.Group(", "\tv1.PUT(\"/logout\", s.do(s.logout))\n\tmine := v1.Group(", asvsAttack, "TestOnlyTheMethodsOfTheContractAreAnswered"),
		breaks("4.2.4", "the name of a request may have any character", asvsAPI+"/middleware.go", "\t\tdefault:\n\t\t\treturn false\n", "\t\tcase c == 0:\n\t\t\treturn false\n", asvsAPI, "FuzzRequestID"),
		breaks("4.2.5", "the name of a request may be as long as a header", asvsAPI+"/middleware.go", "len(id) > 64", "len(id) > 64<<10", asvsAPI, "FuzzRequestID"),
		breaks("5.4.1, 5.4.2", "the name of a download has a part of the request", asvsUI+"/export.go",
			"`attachment; filename=\"flakepass-`+name+`\"`", "`attachment; filename=\"`+q.r.URL.Query().Get(\"action\")+name+`\"`", asvsUI, "TestExportHasEverythingOnce"),
	)
}
