package audit

// The actions about second factors. The actor tells whether a user removed a
// factor or an admin did.
const (
	SecondFactorEnrolled Action = "user.second_factor_enrolled"
	SecondFactorRemoved  Action = "user.second_factor_removed"
	RecoveryCodeUsed     Action = "user.recovery_code_used"
	RecoveryCodesRenewed Action = "user.recovery_codes_renewed"
	SecondFactorsRekeyed Action = "second_factors.rekeyed" // stored secrets, under a newer key
)
