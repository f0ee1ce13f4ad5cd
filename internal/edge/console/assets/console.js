// Shows times in the zone and the manner of the viewer. The exact time in UTC
// stays in the title, and in the page without scripts.

const lang = document.documentElement.lang;
const full = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" });
const clock = new Intl.DateTimeFormat(lang, { timeStyle: "short" });

const localize = (root) => {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.textContent = (time.dataset.style === "clock" ? clock : full).format(at);
  }
};

localize(document);
document.addEventListener("fresh", (event) => localize(event.target));

// A second press while the first is on its way sends nothing.
addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "yes";
  setTimeout(() => delete form.dataset.sent, 10000); // it was stopped, perhaps
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// What was done just now is not told again by a reload.
const here = new URL(location.href);
if (here.searchParams.has("done")) {
  here.searchParams.delete("done");
  history.replaceState(history.state, "", here);
}
