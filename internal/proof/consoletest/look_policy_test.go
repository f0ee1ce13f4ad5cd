package consoletest

import "github.com/flakepass/flakepass/internal/proof/e2e"

// policyLooks are the page about limits, and what goes back to an earlier version.
var policyLooks = []look{
	{name: "limits", get: func(b *browser) { b.open("/console/limits") }},
	{name: "limits-preview", get: func(b *browser) {
		b.fill("#login_address_1_count", "240")
		b.fill("#login_place_1_count", "4")
		b.press(`.buttons button[value="preview"]`)
	}},
	{name: "limits-wrong", get: wrongLimits},
	{name: "limits-conflict", get: func(b *browser) {
		b.open("/console/limits")
		evaluate[bool](b, `(document.querySelector("[name=version]").value = "1", true)`)
		b.fill("#register_1_count", "10")
		b.press(`.buttons button[value="save"]`)
	}},
	{name: "limits-asks", old: true, get: func(b *browser) {
		b.open("/console/limits")
		b.fill("#login_address_1_count", "240")
		b.fill("#note", "A school behind one address")
		b.press(`.buttons button[value="save"]`)
	}},
	{name: "limits-saved", get: func(b *browser) {
		b.fill("#confirm_password", e2e.Passphrase)
		b.press(`.buttons button[value="save"]`)
		b.sees("Saved.")
	}},
	{name: "expiry-back", get: func(b *browser) { // as going back to a version leads there
		b.open("/console/expiry")
		b.fill("#idle", "4d")
		evaluate[bool](b, `([["back_to", "1"], ["with_limits", "yes"]].every(([name, value]) => {
			const field = Object.assign(document.createElement("input"), {type: "hidden", name, value});
			return !!document.getElementById("dial").appendChild(field);
		}))`)
		b.press(`button[value="save"]:not([hidden])`)
		b.sees("Also restore the limits of version 1", "Confirm this change")
	}},
}

func wrongLimits(b *browser) {
	b.open("/console/limits")
	b.fill("#login_account_1_count", "500")
	b.fill("#introspect_1_period", "soon")
	b.fill("#login_place_2_count", "4")
	b.press(`.buttons button[value="preview"]`)
}
