// Takes the one-time code from the fragment of the link, which no server is
// sent, puts it into the form, and takes it out of the address bar and the
// history. The page does without; the code is typed then.

const token = document.getElementById("token");
const field = document.getElementById("token-field");
const given = decodeURIComponent(location.hash.slice(1));

if (given.startsWith("fpr_")) {
  token.value = given;
  history.replaceState(null, "", location.pathname);
}
if (token.value !== "") {
  field.hidden = true; // nothing to type there
  document.getElementById("password").focus();
} else {
  token.focus();
}
