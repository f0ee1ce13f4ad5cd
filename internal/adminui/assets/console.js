// Shows times in the zone and the manner of the viewer. The exact time in UTC
// stays in the title, and in the page without scripts.

const lang = document.documentElement.lang;
const full = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" });
const clock = new Intl.DateTimeFormat(lang, { timeStyle: "short" });

export const localize = (root) => {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.textContent = (time.dataset.style === "clock" ? clock : full).format(at);
  }
};

localize(document);
