// Gives each length of time a range to drag, and shows what the typed values
// would do while they change. The page does the same with its Preview button.

const form = document.getElementById("dial");
const units = { d: 86400, h: 3600, m: 60, s: 1 };

const seconds = (text) => {
  let sum = 0;
  for (const [, n, unit] of text.toLowerCase().matchAll(/(\d+)\s*([dhms])/g)) sum += n * units[unit];
  return sum;
};

let timer = 0;
let running = null;

const preview = () => {
  timer = 0;
  running?.abort();
  const request = new XMLHttpRequest();
  running = request;
  const body = new URLSearchParams(new FormData(form));
  body.set("do", "preview");
  body.delete("confirm_password");
  body.delete("confirm_code");
  request.open("POST", form.action);
  // A document that came so runs no script, and no text becomes markup here.
  request.responseType = "document";
  request.onload = () => {
    const fresh = request.response?.getElementById("effect");
    if (!fresh) {
      if (request.responseURL !== form.action) location.reload(); // the login is over
      return; // else the server cannot tell; what was typed stays
    }
    const open = document.querySelector("#effect details")?.open;
    const next = document.importNode(fresh, true);
    const details = next.querySelector("details");
    if (details && open) details.open = true;
    document.getElementById("effect").replaceWith(next);
    form.querySelector('[value="save"]').hidden = false;
    form.querySelector(".first").value = "preview";
    next.dispatchEvent(new Event("fresh", { bubbles: true })); // console.js writes its times
  };
  request.onloadend = () => {
    if (running === request && !timer) form.removeAttribute("aria-busy");
  };
  form.setAttribute("aria-busy", "true"); // the end of the one before has removed it
  request.send(body);
};

const later = () => {
  form.setAttribute("aria-busy", "true"); // what is shown is not of what is typed
  clearTimeout(timer);
  timer = setTimeout(preview, 200);
};

for (const range of form.querySelectorAll('input[type="range"]')) {
  const text = document.getElementById(range.dataset.for);
  const stops = range.dataset.stops.split(" ");
  const follow = () => {
    const want = Math.log(Math.max(seconds(text.value), 1));
    const off = stops.map((stop) => Math.abs(Math.log(seconds(stop)) - want));
    range.value = off.indexOf(Math.min(...off));
    range.setAttribute("aria-valuetext", text.value);
  };
  range.max = stops.length - 1;
  follow();
  range.hidden = false;
  range.addEventListener("input", () => {
    text.value = stops[range.value];
    range.setAttribute("aria-valuetext", text.value);
    later();
  });
  text.addEventListener("input", follow);
}

for (const name of ["idle", "absolute", "touch", "schedule"]) {
  form.elements[name].addEventListener("input", later);
}
