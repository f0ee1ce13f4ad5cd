package console

// uncheckable logs that somebody with the right passphrase cannot be let in, for
// the key of the second factor is not here. That is the operator's to mend.
func (v *visit) uncheckable(what string, err error) {
	v.u.Log.ErrorContext(v.r.Context(), "console: a second factor cannot be checked; set FLAKEPASS_SECOND_FACTOR_KEY to the key with which it was added",
		"at", what, "err", err, "request_id", v.w.Header().Get(requestIDHeader))
}
