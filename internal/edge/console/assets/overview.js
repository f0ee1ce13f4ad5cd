// Fills in what was still being counted when the page came. Without scripts the
// page comes again by itself.

const waiting = () => document.querySelector('[data-fill][aria-busy="true"]');

const fill = (left) => {
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  // A document that came so runs no script, and no text becomes markup here.
  request.responseType = "document";
  request.onload = () => {
    for (const old of document.querySelectorAll("[data-fill]")) {
      const fresh = request.response?.getElementById(old.id);
      if (!fresh) {
        location.reload(); // the login is over, or the server cannot tell
        return;
      }
      const next = document.importNode(fresh, true);
      old.replaceWith(next);
      next.dispatchEvent(new Event("fresh", { bubbles: true }));
    }
    if (left > 1) later(left - 1);
  };
  request.onerror = () => later(left - 1);
  request.send();
};

const later = (left) => {
  if (left > 0 && waiting()) setTimeout(fill, 700, left);
};

later(15); // a count takes 5 seconds at most
