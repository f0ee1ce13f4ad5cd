package account

// MinPasswordLength is the least length, in code points, of a password that is the
// only factor, for doors that tell people before they send one. [CheckPassword]
// holds to it.
const MinPasswordLength = minPassword
