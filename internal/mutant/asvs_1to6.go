package main

// asvs1to6 is what the lines of V1 to V6 rest on.
func asvs1to6() asvsTable {
	return asvsTable{
		First: 5, Last: 5,
		Static: map[string]string{},
		Breaks: []asvsBreak{
			// V5 Files
			{
				"5.4.1, 5.4.2", "the name of a download has a part of the request", "internal/adminui/export.go",
				"`attachment; filename=\"flakepass-`+name+`\"`", "`attachment; filename=\"`+v.r.URL.Query().Get(\"action\")+name+`\"`",
				"internal/adminui", "TestExportHasEverythingOnce", "",
			},
		},
	}
}
