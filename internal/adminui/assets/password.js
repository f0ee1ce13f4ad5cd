// Takes the one-time code from the fragment of the link, which no server is
// sent, puts it into the form, and takes it out of the address bar and the
// history. The page does without; the code is typed then.

const token = document.getElementById("token");
const field = document.getElementById("token-field");

const take = () => {
  const given = location.hash.slice(1);
  if (!given.startsWith("fpr_")) return;
  token.value = given;
  field.hidden = true; // nothing to type there
  history.replaceState(null, "", location.pathname);
};

take();
addEventListener("hashchange", take); // another link, opened in the same place
field.hidden = token.value !== "";
(field.hidden ? document.getElementById("password") : token).focus();
