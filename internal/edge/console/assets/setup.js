// Says whether the passphrase is long enough while it is typed, and lets the
// person look at it. The page does without; the server decides.

const input = document.getElementById("password");
const status = document.getElementById("length");
const reveal = document.getElementById("reveal");

// In code points of the composed form, as the server counts.
const length = (text) => [...text.normalize("NFC")].length;

const tell = () => {
  const n = length(input.value);
  const text = n === 0 ? "" : n < input.minLength ? status.dataset.short : status.dataset.enough;
  if (status.textContent !== text) {
    status.textContent = text; // only on a change: it is read aloud
    status.classList.toggle("good", n >= input.minLength);
  }
};

const show = (visible) => {
  input.type = visible ? "text" : "password";
  reveal.textContent = visible ? reveal.dataset.hide : reveal.dataset.show;
};

input.addEventListener("input", tell);
reveal.addEventListener("click", () => show(input.type === "password"));
// A browser keeps what was typed into a text field, so it is none when sent.
input.form.addEventListener("submit", () => show(false));
reveal.hidden = false;
tell();

// Where the passphrase is set with a one-time code, the code is in the fragment
// of the link, which no server is sent. It is put into the form, and taken out of
// the address bar and the history; without scripts it is typed.
const token = document.getElementById("token");
const field = document.getElementById("token-field");

const take = () => {
  const given = location.hash.slice(1);
  if (!given.startsWith("fpr_")) return;
  token.value = given;
  field.hidden = true; // nothing to type there
  history.replaceState(null, "", location.pathname);
};

if (token) {
  take();
  addEventListener("hashchange", take); // another link, opened in the same place
  field.hidden = token.value !== "";
  (field.hidden ? input : token).focus();
}
